"""Text that someone decides on, with every character visible: nothing acts, hides, or looks like another letter.

Only for eyes. What is stored, sent or run stays as it is. May import: nothing of ours.
"""

from __future__ import annotations

import re

_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Printable by their category, and yet nothing is seen of them."""
_MIXED = re.compile(r"\w*[A-Za-z]\w*")


def exact(text: str) -> str:
    """Show every character of a text that someone decides on, on one line."""
    if text.isascii() and text.isprintable():
        return text
    shown = "".join(character if character.isprintable() else escape(character) for character in text)
    shown = _BLANK.sub(lambda match: escape(match[0]), shown)
    return shown if shown.isascii() else _MIXED.sub(_unmasked, shown)


def exact_lines(text: str) -> list[str]:
    """The same for text of several lines."""
    return [exact(part) for part in text.split("\n")]


def hides_something(text: str) -> bool:
    """Tell whether a text of several lines shows less than it says, or something else."""
    return not all((part.isascii() and part.isprintable()) or exact(part) == part for part in text.split("\n"))


def escape(character: str) -> str:
    """A character as it would be written in a program."""
    code = ord(character)
    known = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    return known or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def _unmasked(match: re.Match[str]) -> str:
    """In a word with Latin letters, show those that only look like them."""
    return "".join(one if one.isascii() or _is_latin(one) else escape(one) for one in match[0])


def _is_latin(character: str) -> bool:
    import unicodedata  # late: hardly anything needs it

    plain = unicodedata.normalize("NFD", character)[0]
    return plain.isascii() or not character.isalpha()
