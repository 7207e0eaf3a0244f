"""A file in pieces of sixty lines, each with how often it has which term.

A name counts twice in a line that defines it. Hostile content is bounded: no line longer than two thousand characters
is read to its end, and what is no text has no chunks. May import: index.words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from agi.index.words import DEFINED, IDENTIFIER, terms_of

LINES = 60
"""Lines of a chunk."""
LARGEST_FILE = 1 << 20
"""Bytes of a file that is read; of a larger one only the path is known."""
MOST_CHUNKS = 1_000
_LONGEST_LINE = 2_000
_LOOKED_AT_FOR_NUL = 8 * 1024
_MARKS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


class Chunk(Struct, frozen=True):
    """Some lines of a file: how many words they have, and how often each term."""

    length: int
    counts: Counter[str]


def text_of(data: bytes) -> str:
    """The text of a file; nothing of one that is none. What is not UTF-8 in it is replaced."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return data[2:].decode(codec, errors="replace")
    if b"\0" in data[:_LOOKED_AT_FOR_NUL]:
        return ""
    return data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")


def cut(data: bytes) -> Iterator[Chunk]:
    """The chunks of a file, in order; the number n begins with the line n × LINES + 1."""
    text = text_of(data)
    if not text:
        return
    lines = text.split("\n")
    for first in range(0, min(len(lines), MOST_CHUNKS * LINES), LINES):
        yield _chunk(lines[first : first + LINES])


def _chunk(lines: list[str]) -> Chunk:
    text = "\n".join(line[:_LONGEST_LINE] for line in lines)
    names = Counter(IDENTIFIER.findall(text))
    length = names.total()
    names.update(DEFINED.findall(text))
    counts: Counter[str] = Counter()
    for name, count in names.items():
        for term in terms_of(name):
            counts[term] += count
    return Chunk(length, counts)
