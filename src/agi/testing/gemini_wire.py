"""The scripted provider in Gemini's format.

Pure: what is said goes in, the bytes Google would send come out. A call is sent whole, where its last piece is; what it
cost comes together with why it ended. May import: protocol, testing.asked, testing.replies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from agi.protocol.messages import Usage
from agi.testing.asked import Asked, Question
from agi.testing.replies import Called, Content, Frames, Piece, Refusal, Refused, Said, Sealed, Thought, Written

_encode = msgspec.json.encode
_FINISH = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class _Part(Struct, frozen=True, rename="camel"):
    function_response: dict[str, object] | UnsetType = UNSET


class _Content(Struct, frozen=True):
    role: str = ""
    parts: tuple[_Part, ...] = ()


class _Body(Struct, frozen=True):
    contents: tuple[_Content, ...] = ()


_decode = msgspec.json.Decoder(_Body).decode


class GeminiFormat:
    """Google's Gemini API."""

    name = "gemini"

    def is_asked_at(self, path: str) -> bool:
        """A model's `:generateContent` or `:streamGenerateContent`."""
        return path.partition("?")[0].endswith((":generateContent", ":streamGenerateContent"))

    def read(self, asked: Asked) -> Question:
        """Results are the parts with a function's response."""
        results = 0
        for content in reversed(_decode(asked.body).contents):
            if content.role == "user":
                found = sum(part.function_response is not UNSET for part in content.parts)
                if not found:
                    break
                results += found
        return Question(":streamGenerateContent" in asked.path, results)

    def frames(self, content: Content) -> Frames:
        """One chunk a part, then one with the finish reason and the usage; there is neither an opening nor an end."""
        parts = [_event([part]) if part else b"" for part in _parts(content.pieces)]
        for number, piece in enumerate(content.pieces):
            if isinstance(piece, Refusal):
                parts[number] = b"data: %b\r\n\r\n" % self.refusal(piece)
        return (b"", *parts, _event([], _ending(content)), b"", b"")

    def whole(self, content: Content) -> bytes:
        """One `GenerateContentResponse`."""
        return _encode(_response([part for part in _parts(content.pieces) if part], _ending(content)))

    def refusal(self, refusal: Refusal) -> bytes:
        """Google's error object."""
        status = refusal.code or _STATUSES.get(refusal.status, "UNKNOWN")
        return _encode({"error": {"code": refusal.status, "message": refusal.message, "status": status}})


GEMINI = GeminiFormat()


def usage_of(usage: Usage) -> dict[str, object]:
    """What it cost, in Google's words; details only where there are any."""
    told: dict[str, object] = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens - usage.reasoning_tokens,
        "totalTokenCount": usage.input_tokens + usage.output_tokens,
    }
    if usage.cached_tokens:
        told["cachedContentTokenCount"] = usage.cached_tokens
    if usage.reasoning_tokens:
        told["thoughtsTokenCount"] = usage.reasoning_tokens
    return told


def _ending(content: Content) -> tuple[str, Usage]:
    refused = any(isinstance(piece, Refused) for piece in content.pieces)
    return "SAFETY" if refused else _FINISH.get(content.finish, content.finish.upper()), content.usage


def _parts(pieces: Sequence[Piece]) -> list[dict[str, object]]:
    """A part for each piece, or an empty one: a seal goes onto the next part, and a call where it is complete."""
    parts: list[dict[str, object]] = []
    signature = ""
    for number, piece in enumerate(pieces):
        part = _part(piece, pieces[number + 1 :], pieces)
        if isinstance(piece, Sealed):
            signature = piece.signature
            part = {"text": ""} if number + 1 == len(pieces) else {}
        if part and signature:
            part["thoughtSignature"] = signature
            signature = ""
        parts.append(part)
    return parts


def _part(piece: Piece, later: Sequence[Piece], pieces: Sequence[Piece]) -> dict[str, object]:
    if isinstance(piece, Said | Refused):
        return {"text": piece.text}
    if isinstance(piece, Thought):
        return {"text": piece.text, "thought": True}
    if isinstance(piece, Called | Written) and not any(
        isinstance(p, Written) and p.index == piece.index for p in later
    ):
        return {"functionCall": _call(piece.index, pieces)}
    return {}


def _call(index: int, pieces: Sequence[Piece]) -> dict[str, object]:
    call = next(piece for piece in pieces if isinstance(piece, Called) and piece.index == index)
    written = "".join(piece.text for piece in pieces if isinstance(piece, Written) and piece.index == index)
    return {"id": call.id, "name": call.name, "args": _arguments(written)}


def _arguments(written: str) -> Raw:
    """Arguments as they were written; what is not JSON, which Google would never send, as a string."""
    try:
        msgspec.json.decode(written)
        return Raw(written.encode())
    except (ValueError, RecursionError):
        return Raw(_encode(written))


def _event(parts: Sequence[Mapping[str, object]], ending: tuple[str, Usage] | None = None) -> bytes:
    return b"data: %b\r\n\r\n" % _encode(_response(parts, ending))


def _response(parts: Sequence[Mapping[str, object]], ending: tuple[str, Usage] | None) -> dict[str, object]:
    candidate: dict[str, object] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    response: dict[str, object] = {"candidates": [candidate], "modelVersion": "script", "responseId": "script"}
    if ending:
        candidate["finishReason"] = ending[0]
        response["usageMetadata"] = usage_of(ending[1])
    return response
