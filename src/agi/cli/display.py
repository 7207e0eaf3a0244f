"""Text that others wrote, made safe to look at: what could move the cursor, hide or disguise itself is shown escaped.

Only for eyes. What is stored, sent or piped on stays as it is. May import: protocol.
"""

from __future__ import annotations

import re

from agi.protocol.showing import escape, exact, exact_lines

__all__ = ["SHORT", "Screen", "exact", "exact_lines", "fit", "line"]

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{_BIDI}\ud800-\udfff]")
SHORT = 100


class Screen:
    """Text on its way to a terminal, piece by piece: line breaks and tabs work, everything else that acts is shown."""

    def __init__(self) -> None:
        self._held = ""

    def show(self, piece: str) -> str:
        """Make a piece safe; a carriage return waits for what follows it, since before a line feed it means nothing."""
        piece = self._held + piece
        self._held = "\r" if piece.endswith("\r") else ""
        return _UNSAFE.sub(_escaped, piece.removesuffix("\r").replace("\r\n", "\n"))


def line(text: str, limit: int = SHORT) -> str:
    """Put text on one line of at most so many characters."""
    text = exact(" ".join(text[: 4 * limit].split()))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def fit(text: str, columns: int) -> str:
    """Cut one line so that it takes at most so many columns of a terminal."""
    if text.isascii():
        return text if len(text) <= columns else text[: columns - 1] + "…"
    used, at = 0, len(text)
    for position, character in enumerate(text):
        used += _columns(character)
        if used > columns:
            return text[:at] + "…"
        if used < columns:
            at = position + 1
    return text


def _columns(character: str) -> int:
    import unicodedata  # late: hardly anything needs it

    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _escaped(match: re.Match[str]) -> str:
    return escape(match[0])
