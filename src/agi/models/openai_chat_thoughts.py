"""Thoughts in OpenAI's Chat Completions format, which has no place for them: servers add their own, and want them back.

DeepSeek refuses an answer without the `reasoning_content` it came with, others refuse that very field but take their
own `reasoning`, and OpenRouter wants `reasoning_details` back unchanged. So each thought is sealed with the field it
came in, and goes back in that one. Pure. May import: protocol.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from agi.protocol.parts import Part, Reasoning

FieldName = Literal["reasoning_content", "reasoning"]

_MARK = "chat:"
"""Tells our seals from those of another format the same model may have been asked in."""
_GROWING = ("text", "summary", "data")
"""What comes in pieces inside one detail; everything else is told once."""


class Thoughts(Struct, frozen=True, kw_only=True):
    """The fields an assistant message gets for what was thought before it was said."""

    reasoning_content: str | UnsetType = UNSET
    reasoning: str | UnsetType = UNSET
    reasoning_details: Raw | UnsetType = UNSET


def seal_field(name: FieldName) -> str:
    """The signature of thoughts that came as plain text in this field."""
    return _MARK + name


def seal_details(details: list[dict[str, object]]) -> str:
    """The signature that keeps OpenRouter's details as they are to be sent back."""
    return _MARK + msgspec.json.encode(details).decode()


def thoughts_of(parts: Iterable[Part], maker: tuple[str, str]) -> Thoughts:
    """What a message's own maker, given as provider and model, is sent back of its thoughts; nobody else's."""
    told: dict[str, str] = {}
    for part in parts:
        if isinstance(part, Reasoning) and (part.provider, part.model) == maker and part.signature.startswith(_MARK):
            seal = part.signature.removeprefix(_MARK)
            if seal.startswith("["):
                return Thoughts(reasoning_details=Raw(seal.encode()))
            told[seal] = told.get(seal, "") + part.text
    return Thoughts(reasoning_content=told.get("reasoning_content", UNSET), reasoning=told.get("reasoning", UNSET))


def add_details(known: list[dict[str, object]], delta: object) -> None:
    """Join the details of one delta to those before it: pieces of one detail share its type and index."""
    for piece in delta if isinstance(delta, list) else ():
        if not isinstance(piece, dict):
            continue
        fields = {str(name): value for name, value in piece.items() if value is not None}
        last = known[-1] if known else {}
        if known and all(last.get(name) == fields.get(name) for name in ("type", "index")):
            known[-1] = {**last, **fields, **_grown(last, fields)}
        else:
            known.append(fields)


def _grown(last: dict[str, object], more: dict[str, object]) -> dict[str, str]:
    found = {}
    for name in _GROWING:
        before, after = last.get(name), more.get(name)
        if isinstance(before, str) and isinstance(after, str):
            found[name] = before + after
    return found
