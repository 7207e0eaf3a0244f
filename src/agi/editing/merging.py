"""Three versions of a text made into one: what two people made of the same beginning, line by line.

Where both changed the same lines, both versions stand between the usual markers. Pure. May import: nothing of ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from msgspec import Struct

MOST_LINES = 20_000
"""Comparing takes time by the square of it."""


class Merged(Struct, frozen=True):
    """The outcome, and in how many places the two disagree."""

    data: bytes
    conflicts: int


def merge(base: bytes, ours: bytes, theirs: bytes, *, names: tuple[str, str] = ("ours", "theirs")) -> Merged | None:
    """Both changes in one text; None for what is no text, or too long to be compared."""
    if any(b"\0" in one for one in (base, ours, theirs)):
        return None
    lines = [one.splitlines(keepends=True) for one in (base, ours, theirs)]
    if max(len(one) for one in lines) > MOST_LINES:
        return None
    merged: list[bytes] = []
    conflicts = 0
    for before, mine, other in _regions(*lines):
        if mine == other or other == before:
            merged += mine
        elif mine == before:
            merged += other
        else:
            conflicts += 1
            merged += _marked(mine, other, names)
    return Merged(b"".join(merged), conflicts)


def _regions(
    base: list[bytes], ours: list[bytes], theirs: list[bytes]
) -> Iterator[tuple[list[bytes], list[bytes], list[bytes]]]:
    """The texts cut into pieces: those in which all three agree, and those between them."""
    at = mine = other = 0
    for start, first, second, size in _agreed(base, ours, theirs):
        yield base[at:start], ours[mine:first], theirs[other:second]
        yield (base[start : start + size],) * 3
        at, mine, other = start + size, first + size, second + size
    yield base[at:], ours[mine:], theirs[other:]


def _agreed(base: list[bytes], ours: list[bytes], theirs: list[bytes]) -> Iterator[tuple[int, int, int, int]]:
    """Runs of lines that stand in all three: where each begins, and how long it is."""
    one = SequenceMatcher(None, base, ours, autojunk=False).get_matching_blocks()
    two = SequenceMatcher(None, base, theirs, autojunk=False).get_matching_blocks()
    i = j = 0
    while i < len(one) and j < len(two):
        start = max(one[i].a, two[j].a)
        end = min(one[i].a + one[i].size, two[j].a + two[j].size)
        if start < end:
            yield start, one[i].b + start - one[i].a, two[j].b + start - two[j].a, end - start
        if one[i].a + one[i].size < two[j].a + two[j].size:
            i += 1
        else:
            j += 1


def _marked(ours: list[bytes], theirs: list[bytes], names: tuple[str, str]) -> list[bytes]:
    return [
        f"<<<<<<< {names[0]}\n".encode(),
        *_ended(ours),
        b"=======\n",
        *_ended(theirs),
        f">>>>>>> {names[1]}\n".encode(),
    ]


def _ended(lines: list[bytes]) -> list[bytes]:
    """A last line without an end gets one, since a marker follows."""
    return lines if not lines or lines[-1].endswith(b"\n") else [*lines[:-1], lines[-1] + b"\n"]
