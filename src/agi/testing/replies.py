"""What the scripted provider answers, in no wire format yet: words, thoughts, calls, cost, refusals, and their faults.

Values only; how they are written is a format's business (`formats`), which reply answers which request the script's,
sending them the server's. May import: protocol.

The frames of a reply are counted alike in every format, so that faults hit the same place: number 0 opens the answer,
then comes one a piece, then why it ended, what it cost, and that it is over. A format that needs no frame of its own
at some place leaves it empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import count, pairwise
from typing import Literal, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agi.protocol.messages import Usage

Ending = Literal["whole", "cut", "reset", "stall"]
Arguments = Mapping[str, object] | str
Frames = tuple[bytes, ...]
Fault = Callable[[Frames], Frames]
"""What goes wrong with the frames of a reply, whatever format they are in."""

_call_numbers = count(1)


class Gate(Protocol):
    """What can be waited for, such as an `asyncio.Event`."""

    async def wait(self) -> object:
        """Return when the way is free."""


class Thought(Struct, frozen=True):
    """A piece of what is thought aloud."""

    text: str


class Sealed(Struct, frozen=True):
    """The thoughts end with something opaque; formats that know no such thing leave it out."""

    signature: str


class Said(Struct, frozen=True):
    """A piece of the answer."""

    text: str


class Refused(Struct, frozen=True):
    """A piece of a refusal; plain text in formats that do not tell it apart."""

    text: str


class Called(Struct, frozen=True):
    """A tool is asked for: the call numbered `index` begins."""

    index: int
    id: str
    name: str


class Written(Struct, frozen=True):
    """A piece of the arguments of the call numbered `index`."""

    index: int
    text: str


class Refusal(Struct, frozen=True, kw_only=True):
    """An error as a provider words it, instead of an answer or in the middle of one."""

    status: int = 500
    message: str = "scripted failure"
    code: str | None = None
    kind: str = "scripted_error"


Piece = Thought | Sealed | Said | Refused | Called | Written | Refusal


class Content(Struct, frozen=True, kw_only=True):
    """One answer. `finish` is one of OpenAI's words (`stop`, `length`, `tool_calls`, `content_filter`) or any other."""

    pieces: tuple[Piece, ...]
    finish: str = "stop"
    usage: Usage = Usage()


class Sent(Struct, frozen=True):
    """A reply in one format, ready for the socket."""

    headlines: bytes
    """The status line and the headers."""
    frames: Frames
    """The body, one write each where something happens between them."""
    wire: bytes
    """All of it in one piece."""


class Reply(Struct, frozen=True, kw_only=True, dict=True):
    """One HTTP answer. `frames` are sent as they are; without them `content` or `refusal` is, in the asker's format."""

    content: Content | None = None
    refusal: Refusal | None = None
    frames: Frames = ()
    faults: tuple[Fault, ...] = ()
    """Done to the frames in this order."""
    status: int = 200
    content_type: str = "text/event-stream"
    headers: tuple[tuple[str, str], ...] = ()
    head: bool = True
    """Whether status and headers are sent at all."""
    ending: Ending = "whole"
    """`cut` closes the connection before the body's end, `reset` resets it, `stall` says nothing more."""
    gate: Gate | None = None
    """Waited for before the frame numbered `gate_at` is sent."""
    gate_at: int = 0
    pause: float = 0.0
    """Seconds between two frames."""
    apart: bool = False
    """Whether each frame is written by itself."""

    @cached_property
    def sent(self) -> dict[str, Sent]:
        """The reply by format, once it was written in it, so that a server can send thousands for little."""
        return {}


def says(
    text: str, *, chunks: int = 1, reasoning: str = "", seal: str = "", finish: str = "stop", usage: Usage | None = None
) -> Reply:
    """Answer with text in so many pieces, thought about aloud first if `reasoning` is given."""
    pieces: list[Piece] = [Thought(reasoning)] if reasoning else []
    pieces += [Sealed(seal)] if seal else []
    pieces += [Said(piece) for piece in split(text, chunks)]
    return answers(*pieces, finish=finish, usage=usage)


def calls(
    *wanted: tuple[str, Arguments] | tuple[str, Arguments, str],
    text: str = "",
    pieces: int = 1,
    finish: str = "tool_calls",
    usage: Usage | None = None,
) -> Reply:
    """Ask for tools, each `(name, arguments)` or `(name, arguments, id)`; the arguments come in so many pieces."""
    said: list[Piece] = [Said(text)] if text else []
    for index, (name, arguments, *given) in enumerate(wanted):
        written = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
        said.append(Called(index, given[0] if given else f"call_script_{next(_call_numbers)}", name))
        said += [Written(index, piece) for piece in split(written, pieces)]
    return answers(*said, finish=finish, usage=usage)


def answers(*pieces: Piece, finish: str = "stop", usage: Usage | None = None) -> Reply:
    """Answer with these pieces, one a frame."""
    spent = usage or Usage(input_tokens=10, output_tokens=len(pieces))
    return Reply(content=Content(pieces=pieces, finish=finish, usage=spent))


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
    """Refuse with a status, the format's error object (or `body` as it is) and headers."""
    refusal = Refusal(status=status, message=message, code=code, kind=kind) if body is None else None
    lines = tuple((headers or {}).items())
    return Reply(
        status=status, content_type=content_type, headers=lines, refusal=refusal, frames=(body,) if body else ()
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
    return replace(_with(reply, lambda frames: frames[:after]), ending=ending)


def waits(reply: Reply, before: int, gate: Gate) -> Reply:
    """Hold the frame numbered `before`, and all after it, until the gate opens."""
    return replace(reply, gate=gate, gate_at=before)


def paces(reply: Reply, seconds: float) -> Reply:
    """Let some time pass between two frames."""
    return replace(reply, pause=seconds)


def repeats(reply: Reply, number: int) -> Reply:
    """Send the frame numbered `number` twice."""
    return _with(reply, lambda frames: (*frames[: number + 1], *frames[number:]))


def inserts(reply: Reply, before: int, data: bytes) -> Reply:
    """Send something else, such as garbage, a comment or an error, before the frame numbered `before`."""
    return _with(reply, lambda frames: (*frames[:before], data, *frames[before:]))


def murmurs(reply: Reply, before: int, data: bytes, *, seconds: float = 0.002, times: int = 5_000) -> Reply:
    """Send a keep-alive again and again before the frame numbered `before`, with a little time between two."""
    return paces(_with(reply, lambda frames: (*frames[:before], *(data,) * times, *frames[before:])), seconds)


def slices(reply: Reply, size: int) -> Reply:
    """Send the same bytes in writes of `size`, wherever that cuts letters, lines and events."""

    def sliced(frames: Frames) -> Frames:
        data = b"".join(frames)
        return tuple(data[at : at + size] for at in range(0, len(data), size))

    return replace(_with(reply, sliced), apart=True)


def split(text: str, count: int) -> list[str]:
    """Cut text into `count` pieces of about the same length, or into its letters if it has fewer."""
    count = max(1, min(count, len(text)))
    cuts = [number * len(text) // count for number in range(count + 1)]
    return [text[start:end] for start, end in pairwise(cuts) if end > start]


def _with(reply: Reply, fault: Fault) -> Reply:
    return replace(reply, faults=(*reply.faults, fault))
