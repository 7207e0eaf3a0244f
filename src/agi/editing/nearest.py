"""Where lines that were not found may have been meant, and what stands there: so that the next attempt fits.

Pure functions, bounded in time and in what they show. May import: editing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches

_COMMON = 50
"""A line that stands in a file so often says nothing about a place."""
_LONGEST = 200
_MOST_COMPARED = 2_000


class Nearby:
    """A file's lines, to be looked through for what is like others."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self._index: dict[str, list[int]] | None = None

    def place(self, wanted: Sequence[str]) -> int | None:
        """The place where most of the wanted lines stand, blanks aside; None if nothing is like any of them."""
        where = self._where()
        votes: Counter[int] = Counter()
        for offset, line in enumerate(wanted):
            found = where.get(line.strip(), []) if line.strip() else []
            if len(found) <= _COMMON:
                votes.update(max(0, at - offset) for at in found)
        if votes:
            return min(votes, key=lambda at: (-votes[at], at))
        return _most_alike(where, wanted)

    def _where(self) -> dict[str, list[int]]:
        """Where each line stands: the first places of one that stands in very many."""
        if self._index is None:
            self._index = {}
            for number, line in enumerate(self.lines):
                places = self._index.setdefault(line.strip(), [])
                if len(places) <= _COMMON:
                    places.append(number)
        return self._index


def _most_alike(where: dict[str, list[int]], wanted: Sequence[str]) -> int | None:
    """The place of a line that is nearly one of the wanted ones, by the longest of them."""
    longest = max(range(len(wanted)), key=lambda n: len(wanted[n].strip()), default=None)
    if longest is None or not wanted[longest].strip():
        return None
    short = [line[:_LONGEST] for line in where if line][:_MOST_COMPARED]
    close = get_close_matches(wanted[longest].strip()[:_LONGEST], short, n=1, cutoff=0.6)
    full = next((line for line in where if line[:_LONGEST] == close[0]), None) if close else None
    return None if full is None else max(0, where[full][0] - longest)


def agreeing(lines: Sequence[str], wanted: Sequence[str], at: int) -> int:
    """How many of the wanted lines stand there, blanks aside."""
    return sum(at + n < len(lines) and lines[at + n].strip() == line.strip() for n, line in enumerate(wanted))


def excerpt(lines: Sequence[str], first: int, last: int, *, around: int = 2) -> str:
    """Lines `first` up to `last` (from 0) and some around them, with their numbers."""
    start, end = max(0, first - around), min(len(lines), last + around)
    width = len(str(end))
    return "\n".join(f"{number + 1:>{width}}| {_cut(lines[number])}" for number in range(start, end))


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"
