"""Look for lines in a file, ever more leniently: a ladder whose first rung that finds anything counts.

The time stays linear in the length of file and search, whatever they hold. Pure functions on text.
May import: nothing of ours.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate

_FOLDED = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
    }
)


def fold(text: str) -> str:
    """Write Unicode's dashes, quotes and blanks as the plain ones; every character stays one character."""
    return text if text.isascii() else text.translate(_FOLDED)


def _bare(line: str) -> str:
    return fold(line).strip()


_WAYS: tuple[Callable[[str], str], ...] = (str, str.rstrip, str.strip, _bare)
RUNG_NAMES = (
    "exact",
    "ignoring trailing blanks",
    "ignoring surrounding blanks",
    "ignoring the kind of Unicode punctuation",
)
"""How lines are compared, from exact to lenient."""
RUNGS = len(_WAYS)


class Places:
    """A file's lines, prepared for each rung when it is first needed."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.count = len(lines)
        self._views: dict[int, tuple[str, array[int]]] = {}

    def seek(self, wanted: Sequence[str], start: int) -> tuple[int, int] | None:
        """The first place from line `start` on that holds the wanted lines, on the first rung that finds one."""
        for rung in range(RUNGS):
            at = self.first(wanted, start, rung)
            if at is not None:
                return at, rung
        return None

    def first(self, wanted: Sequence[str], start: int, rung: int) -> int | None:
        """The first place from `start` on, on one rung."""
        if start + len(wanted) > self.count:
            return None
        text, starts = self._view(rung)
        found = text.find(_needle(wanted, rung), starts[start])
        return bisect_left(starts, found) if found >= 0 else None

    def last(self, wanted: Sequence[str], start: int, end: int, rung: int) -> int | None:
        """The last place between `start` and `end`, on one rung."""
        if start + len(wanted) > end:
            return None
        text, starts = self._view(rung)
        # Searching backwards can take quadratic time, searching forwards in the reversed text cannot.
        window = text[starts[start] : starts[end] + 1][::-1]
        needle = _needle(wanted, rung)
        found = window.find(needle[::-1])
        return bisect_left(starts, starts[start] + len(window) - found - len(needle)) if found >= 0 else None

    def several(self, wanted: Sequence[str], start: int, rung: int, most: int) -> list[int]:
        """The first places from `start` on, at most so many."""
        found: list[int] = []
        while len(found) < most and (at := self.first(wanted, start, rung)) is not None:
            found.append(at)
            start = at + 1
        return found

    def holds(self, wanted: Sequence[str], at: int, rung: int = 0) -> bool:
        """Whether the wanted lines stand exactly here."""
        if at < 0 or at + len(wanted) > self.count:
            return False
        way = _WAYS[rung]
        return all(way(self.lines[at + n]) == way(line) for n, line in enumerate(wanted))

    def _view(self, rung: int) -> tuple[str, array[int]]:
        """The lines joined, with a newline before each, and where these newlines are; the last one ends the text."""
        if rung not in self._views:
            lines = list(map(_WAYS[rung], self.lines)) if rung else self.lines
            starts = array("q", accumulate(map((1).__add__, map(len, lines)), initial=0))
            self._views[rung] = ("\n" + "\n".join(lines) + "\n", starts)
        return self._views[rung]


def _needle(wanted: Sequence[str], rung: int) -> str:
    return "\n" + "\n".join(map(_WAYS[rung], wanted)) + "\n"
