"""The place of one hunk: by the lines it shows, by the lines above it that it names, by its number.

A place that cannot be told is trouble, not a guess. Pure functions. May import: editing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from agi.editing.ladder import RUNGS, Places
from agi.editing.patches import Hunk, Line, new_lines, old_lines

MOST_SHOWN = 20
"""How many places are looked at where one is wanted."""

_TELLING = 8
_CONTEXT = 3


class Placed(Struct, frozen=True):
    """Where a hunk belongs: at which line (from 0), with which of its lines, found on which rung, how far off."""

    at: int
    lines: tuple[Line, ...]
    rung: int = 0
    drift: int = 0
    since: int | None = None
    """From which line on it was looked for, if nothing but its lines says that it is here."""

    def end(self) -> int:
        """The line after its last one."""
        return self.at + len(old_lines(self.lines))


class Trouble(Struct, frozen=True):
    """Why a hunk has no place, and which lines (from 0) come into question."""

    kind: Literal["missing", "ambiguous", "already", "misplaced", "skipped"]
    candidates: tuple[int, ...] = ()
    why: str = ""
    lines: tuple[Line, ...] = ()
    """With which of its lines it is there, where it is applied already."""

    def end(self) -> int:
        """The line after what it made, where it is applied already."""
        return self.candidates[0] + len(new_lines(self.lines)) if self.lines else 0


Outcome = Placed | Trouble


class Search(Struct, frozen=True):
    """Where a hunk is looked for: from which line on, how far off the one before was, if its numbers are proven."""

    places: Places
    cursor: int = 0
    drift: int = 0
    numbered: bool = False


def place(search: Search, hunk: Hunk) -> Outcome:
    """Find the first place a hunk fits."""
    for lines in readings(hunk.lines):
        old = old_lines(lines)
        if hunk.start is not None and not old:
            return _by_number_alone(search, hunk, lines)
        # A header that tells its size wrongly has no line number to be trusted either.
        found = _by_number(search, hunk, lines, old) if hunk.counted else _by_lines(search, hunk, lines, old)
        if isinstance(found, Placed) or found.kind != "missing":
            return found
    return Trouble("missing")


def readings(lines: tuple[Line, ...]) -> Iterator[tuple[Line, ...]]:
    """A hunk's lines; then without blank ones at its end, which may be mere spacing."""
    yield lines
    end = len(lines)
    while end and lines[end - 1].bare:
        end -= 1
    if 0 < end < len(lines):
        yield lines[:end]


def tells(texts: Sequence[str]) -> bool:
    """Whether lines say enough to be known by: some letters, or more of them than a diff keeps around a change."""
    letters = sum(character.isalnum() for text in texts for character in text)
    return letters >= _TELLING or sum(bool(text.strip()) for text in texts) > _CONTEXT


def shows_change(lines: tuple[Line, ...]) -> bool:
    """Whether what a hunk makes can be told from what was there before: by lines it adds, or that close a gap."""
    new = new_lines(lines)
    if new == old_lines(lines) or not tells(new):
        return False
    # What only removes lines is known to be done by the lines around them, which then follow each other.
    return any(line.mark == "+" and line.text.strip() for line in lines) or (
        len(lines) > 2 and lines[0].mark == " " == lines[-1].mark
    )


def behind_anchors(search: Search, anchors: Sequence[str], old: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The places behind the anchors, each with its rung: one for each line that may be the first anchor."""
    places = search.places
    start = places.seek(anchors[:1], search.cursor)
    for _ in range(MOST_SHOWN):
        after = None if start is None else after_anchors(places, anchors[1:], start[0] + 1)
        if start is None or after is None:
            return
        found = _behind(places, old, after)
        if found is not None:
            yield found
        again = places.first(anchors[:1], start[0] + 1, start[1])
        start = None if again is None else (again, start[1])


def _by_lines(search: Search, hunk: Hunk, lines: tuple[Line, ...], old: Sequence[str]) -> Outcome:
    """Where the lines stand first: behind the anchors, or anywhere if they stand there only once."""
    places, cursor = search.places, search.cursor
    if not old and (hunk.at_end or not hunk.anchors):
        return Placed(places.count, lines)
    if hunk.at_end:
        return _from_the_end(places, lines, old, after_anchors(places, hunk.anchors, cursor) or cursor)
    found = next(behind_anchors(search, hunk.anchors, old), None) if hunk.anchors else places.seek(old, cursor)
    if found is not None:
        return Placed(found[0], lines, found[1], since=cursor)
    alone = places.seek(old, cursor) if hunk.anchors and old else None
    if alone is None:
        return Trouble("missing")
    several = places.several(old, cursor, alone[1], MOST_SHOWN)
    return Placed(several[0], lines, alone[1]) if len(several) == 1 else Trouble("ambiguous", tuple(several))


def _from_the_end(places: Places, lines: tuple[Line, ...], old: Sequence[str], cursor: int) -> Outcome:
    end = places.count - len(old)
    for rung in range(RUNGS):
        if end >= cursor and places.holds(old, end, rung):
            return Placed(end, lines, rung)
    found = places.seek(old, cursor)
    if found is None:
        return Trouble("missing")
    last = places.last(old, found[0], places.count, found[1])
    return Placed(found[0] if last is None else last, lines, found[1])


def after_anchors(places: Places, anchors: Sequence[str], cursor: int) -> int | None:
    """Go from anchor to anchor; the place is after the last one."""
    for anchor in anchors:
        found = places.seek([anchor], cursor)
        if found is None:
            return None
        cursor = found[0] + 1
    return cursor


def _behind(places: Places, old: Sequence[str], after: int) -> tuple[int, int] | None:
    """The place of the lines behind an anchor, which they may repeat as their first line."""
    if not old:
        return after, 0
    restated = places.seek(old, after - 1) if len(old) > 1 else None
    if restated is not None and restated[0] == after - 1:
        return restated
    return places.seek(old, after)


def _by_number(search: Search, hunk: Hunk, lines: tuple[Line, ...], old: Sequence[str]) -> Outcome:
    """Where the number says, as far off as the hunk before; else the only place there is."""
    places, stated = search.places, (hunk.start or 1) - 1
    expected = stated + search.drift
    says_much = search.numbered or any(line.mark == " " for line in lines) or tells(old)
    for rung in range(RUNGS):
        here = expected >= search.cursor and places.holds(old, expected, rung)
        if here and says_much:
            return Placed(expected, lines, rung, search.drift)
        found = places.several(old, search.cursor, rung, MOST_SHOWN)
        if found and not here and _is_made(places, hunk, lines, found):
            why = f"what it makes stands at line {hunk.new_start} already, so it may have been applied"
            return Trouble("misplaced", tuple(found), why)
        if len(found) > 1:
            return Trouble("ambiguous", tuple(found))
        if found and not here and not tells(old):
            why = "its line number says otherwise; keep more lines around the change"
            return Trouble("misplaced", tuple(found), why)
        if found:
            return Placed(found[0], lines, rung, found[0] - stated)
    return Trouble("missing")


def _is_made(places: Places, hunk: Hunk, lines: tuple[Line, ...], found: Sequence[int]) -> bool:
    """Whether what a hunk makes stands just where its numbers say, so that places elsewhere may not be meant."""
    old, new, made = old_lines(lines), new_lines(lines), hunk.new_start - 1
    if not shows_change(lines) or not places.holds(new, made):
        return False
    return all(at >= made + len(new) or made >= at + len(old) for at in found)


def _by_number_alone(search: Search, hunk: Hunk, lines: tuple[Line, ...]) -> Outcome:
    """Lines that are only added, with none around them: a number alone proves nothing, unless the file is empty."""
    at, count = hunk.start or 0, search.places.count
    if at == count == 0 or (search.numbered and search.cursor <= at <= count):
        return Placed(at, lines)
    return Trouble("misplaced", why="only a line number says where its lines go; keep a line before or after them")
