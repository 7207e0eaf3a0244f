"""A text file as lines, each with the ending it has, so that what is not touched stays as it is, byte for byte.

A line ends with CRLF, LF or CR and with nothing else. May import: errors, editing.encodings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from operator import add
from typing import NamedTuple

from agi.editing.encodings import Encoding, decode, encode

_ENDINGS = re.compile(r"(\r\n|\n|\r)")


class Edit(NamedTuple):
    """The lines from `start` up to `end` give way to this text, which brings its own endings."""

    start: int
    end: int
    text: str


class Document:
    """A file's text and how it is written."""

    def __init__(self, path: str, text: str, encoding: Encoding) -> None:
        self.path = path
        self.text = text
        self.encoding = encoding
        self.lines, self.endings = split_lines(text)

    @classmethod
    def read(cls, path: str, data: bytes, configured: str = "") -> Document:
        """Take a file's bytes apart; raises Invalid for what is no text."""
        return cls(path, *decode(path, data, configured))

    def usual_ending(self) -> str:
        """The ending most lines have, the earlier one of two; a newline where no line has any."""
        if "\r" not in self.text:
            return "\n"
        counts = Counter(ending for ending in self.endings if ending)
        return max(counts, key=lambda ending: counts[ending])

    def edited(self, edits: Sequence[Edit]) -> str:
        """Put new text in the place of lines; edits are in order and do not overlap."""
        starts = list(accumulate(map(len, map(add, self.lines, self.endings)), initial=0))
        pieces: list[str] = []
        at, unended = 0, False
        for edit in edits:
            kept = self.text[at : starts[edit.start]]
            unended = _lacks_end(kept) if kept else unended
            # Only the last line of a file lacks its end; where another follows, it gets the usual one.
            pieces += (kept, self.usual_ending() if unended and edit.text else "", edit.text)
            unended = _lacks_end(edit.text) if edit.text else unended
            at = starts[edit.end]
        pieces.append(self.text[at:])
        return "".join(pieces)

    def encoded(self, text: str) -> bytes:
        """Write another text in the way of this file."""
        return encode(self.path, text, self.encoding)


def _lacks_end(text: str) -> bool:
    return not text.endswith(("\n", "\r"))


def split_lines(text: str) -> tuple[list[str], list[str]]:
    """The lines of a text without their endings, and the endings; only the last one may have none."""
    if "\r" not in text:
        lines = text.split("\n")
        endings = ["\n"] * (len(lines) - 1)
    else:
        parts = _ENDINGS.split(text)
        lines, endings = parts[0::2], parts[1::2]
    if lines[-1]:
        endings.append("")
    else:
        lines.pop()
    return lines, endings
