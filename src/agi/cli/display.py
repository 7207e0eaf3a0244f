"""Text that others wrote, made safe to look at: what could move the cursor, hide or disguise itself is shown escaped.

Only for eyes. What is stored, sent or piped on stays as it is. May import: nothing of ours.
"""

from __future__ import annotations

import re

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{_BIDI}\ud800-\udfff]")
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Printable by their category, and yet nothing is seen of them."""
_MIXED = re.compile(r"\w*[A-Za-z]\w*")
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


def exact(text: str) -> str:
    """Show every character of a text that someone decides on: nothing acts, hides, or looks like another letter."""
    shown = "".join(character if character.isprintable() else _escape(character) for character in text)
    shown = _BLANK.sub(_escaped, shown)
    return shown if shown.isascii() else _MIXED.sub(_unmasked, shown)


def exact_lines(text: str) -> list[str]:
    """The same for text of several lines."""
    return [exact(part) for part in text.split("\n")]


def _unmasked(match: re.Match[str]) -> str:
    """In a word with Latin letters, show those that only look like them."""
    return "".join(one if one.isascii() or _is_latin(one) else _escape(one) for one in match[0])


def _columns(character: str) -> int:
    import unicodedata  # late: hardly anything needs it

    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _is_latin(character: str) -> bool:
    import unicodedata  # late: hardly anything needs it

    plain = unicodedata.normalize("NFD", character)[0]
    return plain.isascii() or not character.isalpha()


def _escaped(match: re.Match[str]) -> str:
    return _escape(match[0])


def _escape(character: str) -> str:
    code = ord(character)
    known = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    return known or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
