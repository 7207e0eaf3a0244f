"""Find the places of all hunks of a file, and refuse what is not certain.

Hunks stand in a file in the order in which they are written. One that fits in several places is right only if the
others leave it just one of them. One whose lines are there already is recognised. Pure functions. May import: editing.
"""

from __future__ import annotations

from collections.abc import Sequence

from agi.editing.ladder import Places
from agi.editing.patches import Hunk, Line, new_lines, old_lines
from agi.editing.placing import MOST_SHOWN, Outcome, Placed, Search, Trouble, behind_anchors, place, readings, tells

_MOST_TROUBLE = 20


def place_hunks(places: Places, hunks: Sequence[Hunk], *, numbered: bool = False) -> list[Outcome]:
    """Say for each hunk where it belongs, or why that cannot be said; `numbered` if line numbers are known to hold."""
    outcomes: list[Outcome] = []
    cursor = drift = trouble = 0
    for hunk in hunks:
        if trouble >= _MOST_TROUBLE:
            outcomes.append(Trouble("skipped"))
            continue
        found = _outcome(Search(places, cursor, drift, numbered), hunk)
        if isinstance(found, Placed):
            drift = found.drift if hunk.start is not None else drift
            # Lines put at the very end say nothing about where the next hunk is.
            cursor = found.end() if _has_place(hunk) else cursor
        trouble += isinstance(found, Trouble)
        outcomes.append(found)
    _refuse_ambiguous(places, hunks, outcomes)
    return outcomes


def _has_place(hunk: Hunk) -> bool:
    return bool(hunk.anchors or hunk.start is not None or old_lines(hunk.lines))


def _outcome(search: Search, hunk: Hunk) -> Outcome:
    found = place(search, hunk)
    if isinstance(found, Placed):
        found = _standing_there(search.places, found) or _contradicted(search, hunk, found) or found
    if isinstance(found, Trouble) and found.kind in ("missing", "misplaced"):
        found = _already(search, hunk) or found
    return found


def _standing_there(places: Places, found: Placed) -> Trouble | None:
    """Whether lines that are only added stand at their place already: then they are not added a second time."""
    lines = found.lines
    if not old_lines(lines) or any(line.mark == "-" for line in lines) or not _adds_much(lines):
        return None
    leading = next(number for number, line in enumerate(lines) if line.mark != "+")
    at = found.at - leading
    return Trouble("already", (at,)) if places.holds(new_lines(lines), at) else None


def _contradicted(search: Search, hunk: Hunk, found: Placed) -> Trouble | None:
    """Whether a hunk's ends say that it is elsewhere: at the end of the file, or at its beginning."""
    lines, ends_file = found.lines, found.end() == search.places.count
    if any(not line.ends for line in lines) and not ends_file:
        return Trouble("misplaced", (found.at,), "it speaks of the end of the file, but more lines follow there")
    if not hunk.counted or search.numbered or not old_lines(lines):
        return None
    if _adds_at_end(lines) and not ends_file:
        return Trouble("misplaced", (found.at,), "it adds lines at the end of the file, but more lines follow there")
    if _adds_at_end(lines[::-1]) and (hunk.start or 0) <= 1 and found.at != 0:
        return Trouble("misplaced", (found.at,), "it adds lines at the top of the file, but others stand before")
    return None


def _adds_at_end(lines: Sequence[Line]) -> bool:
    """Whether lines are added after the last one that is kept, with nothing but it to say where they go."""
    return lines[-1].mark == "+" and next(line.mark for line in reversed(lines) if line.mark != "+") == " "


def _adds_much(lines: Sequence[Line]) -> bool:
    """Whether added lines are more than a brace or a blank, which may well stand twice in a row."""
    return tells([line.text for line in lines if line.mark == "+"])


def _already(search: Search, hunk: Hunk) -> Trouble | None:
    """Whether the file holds what the hunk would make of it."""
    for lines in readings(hunk.lines):
        new = new_lines(lines)
        # What only removes lines is known to be done by the lines around them, which then follow each other.
        shown = any(line.mark == "+" and line.text.strip() for line in lines) or (
            len(lines) > 2 and lines[0].mark == " " == lines[-1].mark
        )
        if new == old_lines(lines) or not shown or not tells(new):
            continue
        at = search.places.first(new, search.cursor, 0)
        if at is not None:
            return Trouble("already", (at,))
    return None


def _refuse_ambiguous(places: Places, hunks: Sequence[Hunk], outcomes: list[Outcome]) -> None:
    """Every hunk was put as far up as it goes; one that could also go further down has no certain place."""
    limit, trouble = places.count, 0
    for number in range(len(hunks) - 1, -1, -1):
        found = outcomes[number]
        if not isinstance(found, Placed) or not _has_place(hunks[number]):
            continue
        latest = found.at if found.since is None else _latest(places, hunks[number], found, limit)
        if latest != found.at:
            outcomes[number] = Trouble("ambiguous", _alternatives(places, hunks[number], found, limit))
            trouble += 1
        if trouble >= _MOST_TROUBLE:
            return  # the file is refused anyway
        limit = latest


def _latest(places: Places, hunk: Hunk, found: Placed, limit: int) -> int:
    old = old_lines(found.lines)
    if hunk.anchors:
        return max(_alternatives(places, hunk, found, limit))
    if places.first(old, found.at + 1, found.rung) is None:
        return found.at
    latest = places.last(old, found.at, limit, found.rung)
    return found.at if latest is None else latest


def _alternatives(places: Places, hunk: Hunk, found: Placed, limit: int) -> tuple[int, ...]:
    old = old_lines(found.lines)
    if hunk.anchors:
        search = Search(places, found.since or 0)
        several = [at for at, rung in behind_anchors(search, hunk.anchors, old) if rung == found.rung]
    else:
        several = places.several(old, found.at, found.rung, MOST_SHOWN)
    return tuple(sorted({at for at in several if found.at <= at and at + len(old) <= limit} | {found.at}))
