"""Whether a file holds already what a hunk would make of it, at a place that is certain.

That such lines stand somewhere proves nothing: a stale hunk would pass for one that was applied. Pure functions.
May import: editing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from agi.editing.ladder import RUNGS, Places
from agi.editing.patches import Hunk, Line, new_lines, old_lines
from agi.editing.placing import Search, Trouble, after_anchors, readings, shows_change

_MOST_RUNS = 8


def made(search: Search, hunk: Hunk) -> Trouble | None:
    """Say where a hunk was applied before; None if it was not, or its place is not certain."""
    for lines in readings(hunk.lines):
        new = new_lines(lines)
        if not shows_change(lines) or not old_lines(lines):
            continue
        for at in (_by_number(hunk), *_by_lines(search, hunk, lines, new)):
            if at is not None and at >= search.cursor and search.places.holds(new, at):
                return Trouble("already", (at,), lines=lines)
    return None


def _by_number(hunk: Hunk) -> int | None:
    return hunk.new_start - 1 if hunk.counted else None


def _by_lines(search: Search, hunk: Hunk, lines: Sequence[Line], new: Sequence[str]) -> Iterator[int]:
    """The places told by lines that stand only once: an anchor just before, or lines that are kept."""
    places = search.places
    after = after_anchors(places, hunk.anchors, search.cursor)
    if hunk.anchors and after is not None and _is_single(places, hunk.anchors[:1]):
        yield after
        if new[0].strip() == hunk.anchors[-1].strip():
            yield after - 1
    at = places.first(new, search.cursor, 0)
    if at is None or (hunk.anchors and after is not None and at < after - 1):
        return
    if any(_is_single(places, run) for run in islice(_kept_runs(lines), _MOST_RUNS)):
        yield at


def _is_single(places: Places, wanted: Sequence[str]) -> bool:
    """Whether lines stand in the file once, however leniently they are compared."""
    return len(places.several(wanted, 0, RUNGS - 1, 2)) == 1


def _kept_runs(lines: Sequence[Line]) -> Iterator[list[str]]:
    """Kept lines that follow each other, and are not all blank."""
    run: list[str] = []
    for line in (*lines, None):
        if line is not None and line.mark == " ":
            run.append(line.text)
            continue
        if any(map(str.strip, run)):
            yield run
        run = []
