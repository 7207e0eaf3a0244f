"""Find the places of all hunks of a file, and refuse what is not certain.

Hunks stand in a file in the order in which they are written. One that fits in several places is right only if the
others leave it just one of them. One that is certain to be applied already is recognised. Pure functions.
May import: editing.
"""

from __future__ import annotations

from collections.abc import Sequence

from agi.editing.ladder import Places
from agi.editing.made import made
from agi.editing.patches import Hunk, Line, new_lines, old_lines
from agi.editing.placing import MOST_SHOWN, Outcome, Placed, Search, Trouble, behind_anchors, place, tells

_MOST_TROUBLE = 20


def place_hunks(places: Places, hunks: Sequence[Hunk], *, numbered: bool = False) -> list[Outcome]:
    """Say for each hunk where it belongs, or why that cannot be said; `numbered` if line numbers are known to hold."""
    outcomes = _outcomes(places, hunks, numbered=numbered)
    done = [outcome for outcome in outcomes if isinstance(outcome, Trouble) and outcome.kind == "already"]
    if len(done) < len(outcomes) or _are_made(places, hunks, done):
        return outcomes
    why = "what it makes stands there already, though it need not be by this hunk; keep more lines around it"
    return [Trouble("misplaced", one.candidates, why) for one in done]


def _outcomes(places: Places, hunks: Sequence[Hunk], *, numbered: bool) -> list[Outcome]:
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
        else:
            cursor = max(cursor, found.end())
            trouble += 1
        outcomes.append(found)
    _refuse_ambiguous(places, hunks, outcomes)
    return outcomes


def _are_made(places: Places, hunks: Sequence[Hunk], done: Sequence[Trouble]) -> bool:
    """Whether the file without the changes of all hunks is one of which they make this file."""
    before = _without(places.lines, done)
    again = [one for one in _outcomes(Places(before), hunks, numbered=False) if isinstance(one, Placed)]
    return len(again) == len(hunks) and _with(before, again) == list(places.lines)


def _without(lines: Sequence[str], done: Sequence[Trouble]) -> list[str]:
    """A file's lines before hunks were applied that are there, in order."""
    before: list[str] = []
    at = 0
    for one in done:
        before += [*lines[at : one.candidates[0]], *old_lines(one.lines)]
        at = one.end()
    return [*before, *lines[at:]]


def _with(lines: Sequence[str], placed: Sequence[Placed]) -> list[str]:
    """A file's lines after hunks were applied."""
    after: list[str] = []
    at = 0
    for one in sorted(placed, key=lambda place: place.at):
        after += [*lines[at : one.at], *new_lines(one.lines)]
        at = one.end()
    return [*after, *lines[at:]]


def _has_place(hunk: Hunk) -> bool:
    return bool(hunk.anchors or hunk.start is not None or old_lines(hunk.lines))


def _outcome(search: Search, hunk: Hunk) -> Outcome:
    found = place(search, hunk)
    if not isinstance(found, Placed):
        return (_made(search, hunk) if found.kind == "missing" else None) or found
    wrong = _contradicted(search, hunk, found.lines, found.at, found.end())
    there = None if search.numbered else _standing_there(search.places, found)
    if wrong or (there and not hunk.counted):
        return _made(search, hunk) or wrong or there or found
    # Where its number fits as well, it may be meant to add once more what it added before.
    return there or found


def _made(search: Search, hunk: Hunk) -> Trouble | None:
    """Where a hunk was applied before, unless its ends say that it cannot have been there."""
    done = made(search, hunk)
    if done is None or _contradicted(search, hunk, done.lines, done.candidates[0], done.end()):
        return None
    return done


def _standing_there(places: Places, found: Placed) -> Trouble | None:
    """Whether lines that are only added stand at their place already: then they are not added a second time."""
    lines = found.lines
    if not old_lines(lines) or any(line.mark == "-" for line in lines) or not _adds_much(lines):
        return None
    leading = next(number for number, line in enumerate(lines) if line.mark != "+")
    at = found.at - leading
    if not places.holds(new_lines(lines), at):
        return None
    why = "the lines it adds stand there already; if they are to stand elsewhere or twice, keep more lines around them"
    return Trouble("misplaced", (at,), why)


def _contradicted(search: Search, hunk: Hunk, lines: tuple[Line, ...], at: int, end: int) -> Trouble | None:
    """Whether a hunk's ends say that it is elsewhere: at the end of the file, or at its beginning."""
    ends_file = end == search.places.count
    if any(not line.ends for line in lines) and not ends_file:
        return Trouble("misplaced", (at,), "it speaks of the end of the file, but more lines follow there")
    if not hunk.counted or search.numbered or not old_lines(lines):
        return None
    if _adds_at_end(lines) and not ends_file:
        return Trouble("misplaced", (at,), "it adds lines at the end of the file, but more lines follow there")
    if _adds_at_end(lines[::-1]) and (hunk.start or 0) <= 1 and at != 0:
        return Trouble("misplaced", (at,), "it adds lines at the top of the file, but others stand before")
    return None


def _adds_at_end(lines: Sequence[Line]) -> bool:
    """Whether lines are added after the last one that is kept, with nothing but it to say where they go."""
    return lines[-1].mark == "+" and next(line.mark for line in reversed(lines) if line.mark != "+") == " "


def _adds_much(lines: Sequence[Line]) -> bool:
    """Whether added lines are more than a brace or a blank, which may well stand twice in a row."""
    return tells([line.text for line in lines if line.mark == "+"])


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
