"""What the scripted provider answers: whole HTTP replies in OpenAI's Chat Completions format, and faults put into them.

Values only, encoded when made, so that a server can send thousands for little. Which reply answers which request is
the script's business, sending them the server's. May import: nothing of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import count, pairwise
from typing import Literal, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

Ending = Literal["whole", "cut", "reset", "stall"]
Arguments = Mapping[str, object] | str

_encode = msgspec.json.encode
_call_numbers = count(1)
_REASONS = {200: "OK", 404: "Not Found", 429: "Too Many Requests", 500: "Internal Server Error"}
DONE = b"data: [DONE]\n\n"


class Gate(Protocol):
    """What can be waited for, such as an `asyncio.Event`."""

    async def wait(self) -> object:
        """Return when the way is free."""


class Reply(Struct, frozen=True, kw_only=True, dict=True):
    """One HTTP answer. `frames` are sent one write each where something happens between them, else all at once."""

    status: int = 200
    content_type: str = "text/event-stream"
    headers: tuple[tuple[str, str], ...] = ()
    frames: tuple[bytes, ...] = ()
    plain: bytes | None = None
    """The body for a request that did not ask for a stream; None sends the frames all the same."""
    head: bool = True
    """Whether status and headers are sent at all."""
    ending: Ending = "whole"
    """`cut` closes the connection before the body's end, `reset` resets it, `stall` says nothing more."""
    gate: Gate | None = None
    """Waited for before the frame numbered `gate_at` (from 0) is sent."""
    gate_at: int = 0
    pause: float = 0.0
    """Seconds between two frames."""
    apart: bool = False
    """Whether each frame is written by itself."""

    @cached_property
    def headlines(self) -> bytes:
        """The status line and the headers of the reply as a stream."""
        return _headlines(self, self.content_type, "transfer-encoding: chunked")

    @cached_property
    def wire(self) -> bytes:
        """The whole reply as a stream, in one piece."""
        return b"".join((self.headlines, *(chunk(frame) for frame in self.frames), b"0\r\n\r\n"))

    @cached_property
    def plain_wire(self) -> bytes:
        """The whole reply to a request that did not ask for a stream."""
        body = self.plain or b""
        return _headlines(self, "application/json", f"content-length: {len(body)}") + body


def _headlines(reply: Reply, content_type: str, framing: str) -> bytes:
    lines = [
        f"HTTP/1.1 {reply.status} {_REASONS.get(reply.status, 'Status')}",
        f"content-type: {content_type}",
        framing,
    ]
    lines += [f"{name}: {value}" for name, value in reply.headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def chunk(data: bytes) -> bytes:
    """Frame a piece of a body for chunked transfer."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def frame(delta: object, *, finish: str | None = None) -> bytes:
    """One event of a stream, as OpenAI sends it."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _event({"choices": [choice], "usage": None})


def says(
    text: str,
    *,
    chunks: int = 1,
    reasoning: str = "",
    finish: str = "stop",
    usage: Mapping[str, object] | None = None,
) -> Reply:
    """Answer with text in so many pieces, thought about aloud first if `reasoning` is given."""
    deltas: list[object] = [{"reasoning_content": reasoning}] if reasoning else []
    deltas += [{"content": piece} for piece in split(text, chunks)]
    return _reply(deltas, {"content": text}, finish, usage)


def calls(
    *wanted: tuple[str, Arguments] | tuple[str, Arguments, str],
    text: str = "",
    pieces: int = 1,
    finish: str = "tool_calls",
    usage: Mapping[str, object] | None = None,
) -> Reply:
    """Ask for tools, each `(name, arguments)` or `(name, arguments, id)`; the arguments come in so many pieces."""
    deltas: list[object] = [{"content": text}] if text else []
    whole: list[object] = []
    for index, (name, arguments, *given) in enumerate(wanted):
        written = arguments if isinstance(arguments, str) else _encode(arguments).decode()
        call_id = given[0] if given else f"call_script_{next(_call_numbers)}"
        head = {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
        deltas.append({"tool_calls": [head]})
        deltas += [_arguments(index, piece) for piece in split(written, pieces)]
        whole.append({"id": call_id, "type": "function", "function": {"name": name, "arguments": written}})
    return _reply(deltas, {"content": text or None, "tool_calls": whole}, finish, usage)


def fails(
    status: int,
    message: str = "scripted failure",
    *,
    code: str | None = None,
    kind: str = "scripted_error",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    content_type: str = "application/json",
) -> Reply:
    """Refuse with a status, OpenAI's error object (or `body` as it is) and headers."""
    written = body if body is not None else _encode({"error": {"message": message, "type": kind, "code": code}})
    return Reply(
        status=status,
        content_type=content_type,
        headers=tuple((headers or {}).items()),
        frames=(written,) if written else (),
    )


def web_page(status: int = 503) -> Reply:
    """Refuse as a gateway does: with a page for people."""
    page = b"<!DOCTYPE html><html><head><title>Service unavailable</title></head><body><h1>Sorry</h1></body></html>"
    return fails(status, body=page, content_type="text/html; charset=utf-8")


def never_begins(ending: Ending = "stall") -> Reply:
    """Take the request and send no header: then fall silent, close or reset."""
    return Reply(head=False, ending=ending)


def breaks(reply: Reply, after: int, ending: Ending) -> Reply:
    """Send only the first `after` frames; then end cleanly (`whole`), close, reset or fall silent."""
    return replace(reply, frames=reply.frames[:after], ending=ending)


def waits(reply: Reply, before: int, gate: Gate) -> Reply:
    """Hold the frame numbered `before` (from 0), and all after it, until the gate opens."""
    return replace(reply, gate=gate, gate_at=before)


def paces(reply: Reply, seconds: float) -> Reply:
    """Let some time pass between two frames."""
    return replace(reply, pause=seconds)


def repeats(reply: Reply, number: int) -> Reply:
    """Send the frame numbered `number` twice."""
    return replace(reply, frames=(*reply.frames[: number + 1], *reply.frames[number:]))


def inserts(reply: Reply, before: int, data: bytes) -> Reply:
    """Send something else, such as garbage, a comment or an error, before the frame numbered `before`."""
    return replace(reply, frames=(*reply.frames[:before], data, *reply.frames[before:]))


def slices(reply: Reply, size: int) -> Reply:
    """Send the same bytes in writes of `size`, wherever that cuts letters, lines and events."""
    data = b"".join(reply.frames)
    return replace(reply, frames=tuple(data[at : at + size] for at in range(0, len(data), size)), apart=True)


def split(text: str, count: int) -> list[str]:
    """Cut text into `count` pieces of about the same length, or into its letters if it has fewer."""
    count = max(1, min(count, len(text)))
    cuts = [number * len(text) // count for number in range(count + 1)]
    return [text[start:end] for start, end in pairwise(cuts) if end > start]


def _arguments(index: int, piece: str) -> object:
    return {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _event(fields: Mapping[str, object]) -> bytes:
    head = {"id": "chatcmpl-script", "object": "chat.completion.chunk", "created": 0, "model": "script"}
    return b"data: %b\n\n" % _encode({**head, **fields})


def _reply(deltas: Sequence[object], message: object, finish: str, usage: Mapping[str, object] | None) -> Reply:
    spent = usage or {"prompt_tokens": 10, "completion_tokens": len(deltas), "total_tokens": 10 + len(deltas)}
    opening = frame({"role": "assistant", "content": ""})
    frames = (opening, *map(frame, deltas), frame({}, finish=finish), _event({"choices": [], "usage": spent}), DONE)
    choice = {"index": 0, "message": {"role": "assistant", **_fields(message)}, "finish_reason": finish}
    head = {"id": "chatcmpl-script", "object": "chat.completion", "created": 0, "model": "script"}
    return Reply(frames=frames, plain=_encode({**head, "choices": [choice], "usage": spent}))


def _fields(message: object) -> dict[str, object]:
    return dict(message) if isinstance(message, dict) else {}
