"""The scripted provider in OpenAI's Chat Completions format.

Pure: what is said goes in, the bytes OpenAI would send come out. May import: protocol, testing.asked, testing.replies.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from agi.protocol.messages import Usage
from agi.testing.asked import Asked, Question
from agi.testing.replies import Called, Content, Frames, Piece, Refusal, Refused, Said, Thought, Written

_encode = msgspec.json.encode
DONE = b"data: [DONE]\n\n"


class _Turn(Struct, frozen=True):
    role: str = ""


class _Body(Struct, frozen=True):
    stream: bool = False
    messages: tuple[_Turn, ...] = ()


_decode = msgspec.json.Decoder(_Body).decode


class ChatFormat:
    """OpenAI's Chat Completions."""

    name = "openai_chat"

    def is_asked_at(self, path: str) -> bool:
        """Anything that ends in `/chat/completions`."""
        return path.endswith("/chat/completions")

    def read(self, asked: Asked) -> Question:
        """Results are the messages of the role `tool`."""
        body = _decode(asked.body)
        results = 0
        for message in reversed(body.messages):
            if message.role == "user":
                break
            results += message.role == "tool"
        return Question(body.stream, results)

    def frames(self, content: Content) -> Frames:
        """A role, the deltas, a finish reason, the usage, `[DONE]`."""
        opening = frame({"role": "assistant", "content": ""})
        deltas = [self._piece(piece) for piece in content.pieces]
        cost = _event({"choices": [], "usage": usage_of(content.usage)})
        return (opening, *deltas, frame({}, finish=content.finish), cost, DONE)

    def whole(self, content: Content) -> bytes:
        """One `chat.completion`."""
        choice = {"index": 0, "message": _message(content), "finish_reason": content.finish}
        head = {"id": "chatcmpl-script", "object": "chat.completion", "created": 0, "model": "script"}
        return _encode({**head, "choices": [choice], "usage": usage_of(content.usage)})

    def refusal(self, refusal: Refusal) -> bytes:
        """OpenAI's error object."""
        return _encode({"error": {"message": refusal.message, "type": refusal.kind, "code": refusal.code}})

    def _piece(self, piece: Piece) -> bytes:
        if isinstance(piece, Refusal):
            return b"data: %b\n\n" % self.refusal(piece)
        delta = _delta(piece)
        return frame(delta) if delta else b""


CHAT = ChatFormat()


def frame(delta: object, *, finish: str | None = None) -> bytes:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _event({"choices": [choice], "usage": None})


def usage_of(usage: Usage) -> dict[str, object]:
    """What it cost, in OpenAI's words; details only where there are any."""
    told: dict[str, object] = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
    if usage.cached_tokens:
        told["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    if usage.reasoning_tokens:
        told["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return told


def _delta(piece: Piece) -> dict[str, object]:
    """One piece as a delta; a seal is not known here and becomes nothing."""
    if isinstance(piece, Said):
        return {"content": piece.text}
    if isinstance(piece, Thought):
        return {"reasoning_content": piece.text}
    if isinstance(piece, Refused):
        return {"refusal": piece.text}
    if isinstance(piece, Called):
        function = {"name": piece.name, "arguments": ""}
        return {"tool_calls": [{"index": piece.index, "id": piece.id, "type": "function", "function": function}]}
    if isinstance(piece, Written):
        return {"tool_calls": [{"index": piece.index, "function": {"arguments": piece.text}}]}
    return {}


def _message(content: Content) -> dict[str, object]:
    def text(kind: type[Said] | type[Thought] | type[Refused]) -> str:
        return "".join(piece.text for piece in content.pieces if isinstance(piece, kind))

    told: dict[str, object] = {"role": "assistant", "content": text(Said) or None}
    for name, words in (("reasoning_content", text(Thought)), ("refusal", text(Refused))):
        if words:
            told[name] = words
    if made := [_call(content, piece) for piece in content.pieces if isinstance(piece, Called)]:
        told["tool_calls"] = made
    return told


def _call(content: Content, call: Called) -> dict[str, object]:
    written = "".join(p.text for p in content.pieces if isinstance(p, Written) and p.index == call.index)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": written}}


def _event(fields: Mapping[str, object]) -> bytes:
    head = {"id": "chatcmpl-script", "object": "chat.completion.chunk", "created": 0, "model": "script"}
    return b"data: %b\n\n" % _encode({**head, **fields})
