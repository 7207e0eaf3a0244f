"""The scripted provider in Anthropic's Messages format.

Pure: what is said goes in, the bytes Anthropic would send come out. May import: protocol, testing.asked,
testing.replies.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from agi.protocol.messages import Usage
from agi.testing.asked import Asked, Question
from agi.testing.replies import Called, Content, Frames, Piece, Refusal, Refused, Said, Sealed, Thought, Written

_encode = msgspec.json.encode
_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class _Turn(Struct, frozen=True):
    role: str = ""
    content: object = ""


class _Body(Struct, frozen=True):
    stream: bool = False
    messages: tuple[_Turn, ...] = ()


_decode = msgspec.json.Decoder(_Body).decode


class AnthropicFormat:
    """Anthropic's Messages."""

    name = "anthropic"

    def is_asked_at(self, path: str) -> bool:
        """Anything that ends in `/messages`."""
        return path.partition("?")[0].endswith("/messages")

    def read(self, asked: Asked) -> Question:
        """Results are the `tool_result` blocks of user messages, up to the last block that is none."""
        body = _decode(asked.body)
        results = 0
        for message in reversed(body.messages):
            blocks = message.content if isinstance(message.content, list) else [message.content]
            for block in reversed(blocks) if message.role == "user" else ():
                if not isinstance(block, dict) or block.get("type") != "tool_result":
                    return Question(body.stream, results)
                results += 1
        return Question(body.stream, results)

    def frames(self, content: Content) -> Frames:
        """`message_start`, the blocks, `message_delta` with the cost in it, nothing, `message_stop`."""
        begun = {**usage_of(content.usage), "output_tokens": 1}
        opening = event("message_start", message=_message([], None, begun))
        blocks = _Blocks(content.pieces)
        pieces = [blocks.write(number, piece) for number, piece in enumerate(content.pieces)]
        delta = {"stop_reason": _STOP_REASONS.get(content.finish, content.finish), "stop_sequence": None}
        finish = blocks.close() + event("message_delta", delta=delta, usage=usage_of(content.usage))
        return (opening, *pieces, finish, b"", event("message_stop"))

    def whole(self, content: Content) -> bytes:
        """One `message`."""
        reason = _STOP_REASONS.get(content.finish, content.finish)
        return _encode(_message(_whole_blocks(content.pieces), reason, usage_of(content.usage)))

    def refusal(self, refusal: Refusal) -> bytes:
        """Anthropic's error object; a code of other formats is its type here."""
        kind = refusal.code or (_KINDS.get(refusal.status) if refusal.kind == "scripted_error" else None)
        error = {"type": kind or refusal.kind, "message": refusal.message}
        return _encode({"type": "error", "error": error, "request_id": "req_script"})


ANTHROPIC = AnthropicFormat()


def event(kind: str, **fields: object) -> bytes:
    """One event of a stream: its name, and its data with the same name as `type`."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), _encode({"type": kind, **fields}))


def usage_of(usage: Usage) -> dict[str, object]:
    """What it cost, in Anthropic's words: what came from the cache is counted apart."""
    told: dict[str, object] = {
        "input_tokens": usage.input_tokens - usage.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
    }
    if usage.reasoning_tokens:
        told["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    return told


class _Blocks:
    """Writes pieces as events: a block begins where the kind changes, and a call ends with its last piece."""

    def __init__(self, pieces: tuple[Piece, ...]) -> None:
        self._last = {p.index: n for n, p in enumerate(pieces) if isinstance(p, Called | Written)}
        self._calls: dict[int, int] = {}
        self._kind = ""
        self._count = 0

    def write(self, number: int, piece: Piece) -> bytes:
        if isinstance(piece, Refusal):
            return b"event: error\ndata: %b\n\n" % ANTHROPIC.refusal(piece)
        if isinstance(piece, Called):
            written = self._begin("tool_use", _block(piece))
            self._calls[piece.index], self._kind = self._count - 1, ""
        elif isinstance(piece, Written):
            index = self._calls.get(piece.index, self._count)
            written = _delta(index, "input_json_delta", partial_json=piece.text)
        else:
            return self._words(piece)
        ended = self._last[piece.index] == number
        return written + (
            event("content_block_stop", index=self._calls.get(piece.index, self._count)) if ended else b""
        )

    def close(self) -> bytes:
        """End the block of words that is open."""
        open_block, self._kind = bool(self._kind), ""
        return event("content_block_stop", index=self._count - 1) if open_block else b""

    def _words(self, piece: Thought | Sealed | Said | Refused) -> bytes:
        if isinstance(piece, Sealed):
            if self._kind != "thinking":
                return self._begin("redacted_thinking", _block(piece)) + self.close()
            return _delta(self._count - 1, "signature_delta", signature=piece.signature) + self.close()
        kind = "thinking" if isinstance(piece, Thought) else "text"
        begun = self._begin(kind, _block(type(piece)(""))) if kind != self._kind else b""
        return begun + _delta(self._count - 1, f"{kind}_delta", **{kind: piece.text})

    def _begin(self, kind: str, block: Mapping[str, object]) -> bytes:
        ended = self.close()
        self._kind, self._count = kind, self._count + 1
        return ended + event("content_block_start", index=self._count - 1, content_block=block)


def _delta(index: int, kind: str, **fields: str) -> bytes:
    return event("content_block_delta", index=index, delta={"type": kind, **fields})


def _block(piece: Piece) -> dict[str, object]:
    """A block with this piece alone in it."""
    if isinstance(piece, Thought):
        return {"type": "thinking", "thinking": piece.text, "signature": ""}
    if isinstance(piece, Sealed):
        return {"type": "redacted_thinking", "data": piece.signature}
    if isinstance(piece, Called):
        return {"type": "tool_use", "id": piece.id, "name": piece.name, "input": {}}
    return {"type": "text", "text": piece.text if isinstance(piece, Said | Refused) else ""}


def _whole_blocks(pieces: tuple[Piece, ...]) -> list[dict[str, object]]:
    blocks: list[dict[str, object]] = []
    for piece in pieces:
        last = blocks[-1] if blocks else {}
        if isinstance(piece, Sealed) and last.get("type") == "thinking":
            last["signature"] = piece.signature
        elif isinstance(piece, Thought) and last.get("type") == "thinking" and not last["signature"]:
            last["thinking"] = f"{last['thinking']}{piece.text}"
        elif isinstance(piece, Said | Refused) and last.get("type") == "text":
            last["text"] = f"{last['text']}{piece.text}"
        elif isinstance(piece, Called):
            blocks.append({**_block(piece), "input": _arguments(pieces, piece)})
        elif not isinstance(piece, Written | Refusal):
            blocks.append(_block(piece))
    return blocks


def _arguments(pieces: tuple[Piece, ...], call: Called) -> msgspec.Raw:
    written = "".join(piece.text for piece in pieces if isinstance(piece, Written) and piece.index == call.index)
    return msgspec.Raw(written.encode() or b"{}")


def _message(blocks: list[dict[str, object]], reason: str | None, usage: Mapping[str, object]) -> dict[str, object]:
    head = {"id": "msg_script", "type": "message", "role": "assistant", "model": "script"}
    return {**head, "content": blocks, "stop_reason": reason, "stop_sequence": None, "usage": usage}
