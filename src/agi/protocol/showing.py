"""Text that someone decides on, with every character visible: nothing acts, hides, or looks like another letter.

Only for eyes. What is stored, sent or run stays as it is. May import: nothing of ours.
"""

from __future__ import annotations

import re
from functools import cache

_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Printable by their category, and yet nothing is seen of them."""
_UNSEEN = re.compile("[\u00ad\u180e\u200c\u200d]")
"""Of use in some scripts and in emojis; in a command or a program, a way to hide."""
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


def settled(text: str) -> str:
    """Text as a terminal would end up showing it, without what it acts on: no sequences, of a progress bar the last."""
    if "\x1b" in text:
        text = _sequences().sub("", text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n"))
    return text


@cache
def _sequences() -> re.Pattern[str]:
    """What terminals act on: colours, cursor movements, titles, links. What is cut off or too long is shown instead."""
    return re.compile(
        r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[PX^_][^\x1b]{0,4096}\x1b\\|[@-Z\\-_])"
    )


def unhidden(text: str) -> str:
    """Text of several lines in which what controls, hides or turns the direction of writing is written out."""
    return _unsafe().sub(lambda match: escape(match[0]), text)


def unhidden_change(text: str) -> str:
    """The same for what someone decides on: what is merely not seen is written out too, also between emojis."""
    text = _UNSEEN.sub(lambda match: escape(match[0]), unhidden(text))
    return _BLANK.sub(lambda match: escape(match[0]), text)


@cache
def _unsafe() -> re.Pattern[str]:
    bidi = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    hidden = "\u200b\u2060-\u2064\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
    return re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{bidi}{hidden}\ud800-\udfff]")
