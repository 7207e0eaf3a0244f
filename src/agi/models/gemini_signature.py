"""Gemini signs single parts of an answer, and wants each signature back on exactly the part it came with.

Our messages keep signatures on reasoning parts only and join what came in pieces, so the place is noted before the
signature: nothing for the part that follows, `thought3:` for the last three letters of the thought itself, `text3:` for
those of the text before it. A signed piece may have no letters at all. Pure, and knows neither requests nor answers.
May import: nothing of ours.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeGuard

Place = Literal["next", "thought", "text"]

_SIGNATURE = re.compile(r"[A-Za-z0-9+/_-]+={0,2}", re.ASCII)
_PLACED = re.compile(rf"(?:(thought|text)([0-9]{{1,9}}):)?({_SIGNATURE.pattern})", re.ASCII)


class Placed(NamedTuple):
    """A signature as the provider wrote it, and where it belongs."""

    signature: str
    place: Place
    letters: int = 0
    """How much of the thought or text is signed, from its end."""


def is_signature(value: object) -> TypeGuard[str]:
    """Whether this can be handed back: base64, as the provider writes all of them."""
    return isinstance(value, str) and _SIGNATURE.fullmatch(value) is not None


def for_thought(signature: str, letters: int) -> str:
    """Note that the last so many letters of the thought came as a signed part."""
    return f"thought{letters}:{signature}"


def for_text(signature: str, letters: int) -> str:
    """Note that the last so many letters of the text before came as a signed part."""
    return f"text{letters}:{signature}"


def find_place(noted: str) -> Placed | None:
    """Read a note; one that another adapter wrote, for a provider and model of the same name, means nothing here."""
    found = _PLACED.fullmatch(noted)
    if found is None:
        return None
    place, letters, signature = found.groups()
    if place is None:
        return Placed(signature, "next")
    return Placed(signature, "thought" if place == "thought" else "text", int(letters))
