"""The parts of a conversation in Gemini's format: what was said, thought, asked for and shown, each in its place.

Pure. Newer models want a signature on the first call of each step and take media inside a result; older ones neither
want the one nor take the other. May import: protocol, models.gemini_signature.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from agi.models.gemini_signature import Placed, find_place
from agi.protocol.parts import Audio, File, Image, Part, Reasoning, Text, ToolCallPart, ToolResultContent

_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}", re.ASCII)
_UNFIT = re.compile(r"[^A-Za-z0-9_.:-]+", re.ASCII)
# What https://ai.google.dev/gemini-api/docs/thought-signatures has for calls that another model made.
_NO_SIGNATURE = "skip_thought_signature_validator"
_PICTURES = frozenset(("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"))
_MEDIA = ("audio/", "video/", "text/", "application/pdf")
_INSIDE = frozenset((*_PICTURES, "text/plain", "application/pdf"))


class Blob(Struct, frozen=True, rename="camel"):
    """A file's bytes; they are written as base64."""

    mime_type: str
    data: bytes


class Media(Struct, frozen=True, rename="camel"):
    """A file inside a result."""

    inline_data: Blob


class Call(Struct, frozen=True):
    """A tool was asked for."""

    id: str
    name: str
    args: Raw


class Result(Struct, frozen=True):
    """What came of a call."""

    id: str
    name: str
    response: dict[str, str]
    parts: list[Media] | UnsetType = UNSET


class Piece(Struct, frozen=True, kw_only=True, rename="camel"):
    """One part of a content, signed or not."""

    text: str | UnsetType = UNSET
    thought: bool | UnsetType = UNSET
    inline_data: Blob | UnsetType = UNSET
    function_call: Call | UnsetType = UNSET
    function_response: Result | UnsetType = UNSET
    thought_signature: str | UnsetType = UNSET


def is_tool_name(name: str) -> bool:
    """Whether a tool may be offered under this name."""
    return _TOOL_NAME.fullmatch(name) is not None


def write_answer(parts: Iterable[Part], maker: tuple[str, str], *, is_new: bool) -> list[Piece]:
    """An answer in the order it came; its thoughts and signatures only where `maker` (provider, model) wrote them."""
    written: list[Piece] = []
    signature = ""
    for part in parts:
        if isinstance(part, Reasoning):
            if (part.provider, part.model) == maker:
                written += [_signed("", signature)] if signature else []
                signature = _recall(part, written)
        elif isinstance(part, ToolCallPart):
            is_first = not any(piece.function_call for piece in written)
            signature = signature or (_NO_SIGNATURE if is_new and is_first else "")
            written.append(Piece(function_call=_call(part), thought_signature=signature or UNSET))
            signature = ""
        elif isinstance(part, Text) and part.text:
            written.append(_signed(part.text, signature))
            signature = ""
    return [*written, _signed("", signature)] if signature else written


def write_result(
    result: ToolResultContent, files: Mapping[str, bytes], *, is_new: bool
) -> tuple[Piece, tuple[Piece, ...]]:
    """A result, and the media that have to stand after it."""
    told: list[str] = []
    inside: list[Media] = []
    after: list[Piece] = []
    for part in result.parts:
        blob = None if isinstance(part, Text) else _blob(part, files)
        if blob and is_new and blob.mime_type in _INSIDE:
            inside.append(Media(blob))
            continue
        told.append(_note(part))
        after += [Piece(text=_note(part)), Piece(inline_data=blob)] if blob else []
    text = "\n".join(filter(None, told)) or result.error or ("(see the media)" if inside else "(no output)")
    response = {"output" if result.ok else "error": text}
    return Piece(function_response=Result(result.id, _fit(result.name), response, inside or UNSET)), tuple(after)


def write_input(parts: Iterable[Part], files: Mapping[str, bytes]) -> list[Piece]:
    """What a person sent; a file that is missing, or of a kind the provider does not take, by name."""
    written: list[Piece] = []
    for part in parts:
        if not isinstance(part, Text | Image | Audio | File):
            continue
        if not isinstance(part, Text) and (blob := _blob(part, files)):
            written.append(Piece(inline_data=blob))
        elif note := _note(part):
            written.append(Piece(text=note))
    return written


def _recall(thought: Reasoning, written: list[Piece]) -> str:
    """Write a thought and what it notes on signatures; returns the one that belongs to whatever comes next."""
    placed = find_place(thought.signature)
    if placed and placed.place == "thought":
        written += [replace(piece, thought=True) for piece in _signed_end(thought.text, placed)]
    elif thought.text:
        written.append(Piece(text=thought.text, thought=True))
    if placed and placed.place == "text":
        last = written[-1] if written else Piece()
        is_plain = last.text and not last.thought and not last.thought_signature
        written += _signed_end(written.pop().text or "" if is_plain else "", placed)
    return placed.signature if placed and placed.place == "next" else ""


def _signed_end(text: str, placed: Placed) -> list[Piece]:
    """Sign the end of a text; the rest of it stays a part of its own."""
    cut = max(0, len(text) - placed.letters)
    return [*([Piece(text=text[:cut])] if cut else []), _signed(text[cut:], placed.signature)]


def _signed(text: str, signature: str) -> Piece:
    return Piece(text=text, thought_signature=signature or UNSET)


def _call(part: ToolCallPart) -> Call:
    call, args = part.content, bytes(part.content.args).strip() or b"{}"
    # Only an object has a place here; what else a model once wrote is shown to it inside one.
    return Call(call.id, _fit(call.name), Raw(args if args.startswith(b"{") else b'{"arguments":%b}' % args))


def _fit(name: str) -> str:
    """A name as the provider takes it: models also call tools that nobody offered them."""
    return name if is_tool_name(name) else ("_" + _UNFIT.sub("_", name))[:64]


def _blob(part: Image | Audio | File, files: Mapping[str, bytes]) -> Blob | None:
    """What an attachment holds, if it is there and the provider takes its kind."""
    kind = part.mime_type.partition(";")[0].strip().lower()
    data = files.get(part.ref, b"")
    if not data or not (kind in _PICTURES or kind.startswith(_MEDIA)):
        return None
    return Blob("text/plain" if kind.startswith("text/") else kind, data)


def _note(part: Text | Image | Audio | File) -> str:
    """Text as it is, an attachment by name."""
    return part.text if isinstance(part, Text) else f"[attachment: {part.ref}, {part.mime_type}]"
