"""What is said when an edit does not fit: which part, why, what stands where it may have been meant.

Pure functions. May import: errors, editing.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from agi.editing.documents import Document
from agi.editing.ladder import RUNG_NAMES
from agi.editing.nearest import Nearby, agreeing, excerpt
from agi.editing.patches import Hunk, old_lines
from agi.editing.placing import Outcome, Placed, Trouble
from agi.errors import Conflict

_MOST_LOOKED_FOR = 12
_MOST_HUNKS = 30
_SHOWN = 12
_WIDER = 40
"""How many lines around the place are shown once it failed twice, in place of reading the file again."""


UNREAD = "file_not_read"


class Known(Struct, frozen=True):
    """What the session knows of a file: whether it changed since it was shown, and how often edits failed since."""

    changed: bool = False
    failures: int = 1

    def around(self) -> int:
        """How many lines around a place are shown."""
        return 2 if self.failures < 2 else _WIDER


def unplaced(document: Document, hunks: Sequence[Hunk], outcomes: Sequence[Outcome], known: Known) -> Conflict:
    """Make the error for hunks of which not all have a place; each one is reported."""
    bad = sum(not isinstance(outcome, Placed) for outcome in outcomes)
    head = f"{document.path!r}: {bad} of {len(outcomes)} hunks could not be applied."
    nearby = Nearby(document.lines)
    told = [
        f"Hunk {number}: {_told(nearby, hunk, outcome, known)}"
        for number, (hunk, outcome) in enumerate(zip(hunks, outcomes, strict=True), 1)
        if number <= _MOST_HUNKS or isinstance(outcome, Trouble)
    ][: 2 * _MOST_HUNKS]
    return Conflict("\n".join([head + _since(known), *told]) + "\n", hint=_HINT, code="patch_stale")


def _told(nearby: Nearby, hunk: Hunk, outcome: Outcome, known: Known) -> str:
    if isinstance(outcome, Placed):
        return f"line {outcome.at + 1}, {describe(outcome)}."
    where = ", ".join(str(at + 1) for at in outcome.candidates)
    if outcome.kind == "already":
        return f"is already applied, at line {where}; leave it out."
    if outcome.kind == "ambiguous":
        return f"fits in several places, at lines {where}; keep more lines around it, or name one above it after '@@ '."
    if outcome.kind == "misplaced":
        return (f"would go to line {where}, but " if where else "") + outcome.why + "."
    if outcome.kind == "skipped":
        return "was not looked for after so many that failed."
    return _not_found(nearby, [*hunk.anchors, *old_lines(hunk.lines)], old_lines(hunk.lines), known)


def describe(place: Placed) -> str:
    """How a place was found."""
    if not place.drift:
        return RUNG_NAMES[place.rung]
    lines = f"{abs(place.drift)} line{'s' * (abs(place.drift) != 1)}"
    return f"{RUNG_NAMES[place.rung]}, drifted by {lines} {'down' if place.drift > 0 else 'up'}"


def _not_found(nearby: Nearby, looked_for: Sequence[str], wanted: Sequence[str], known: Known) -> str:
    """Say that lines were not found, and show what is nearest to them."""
    told = "\n".join(["not found. Looked for:", *looked_for[:_MOST_LOOKED_FOR]])
    if len(looked_for) > _MOST_LOOKED_FOR:
        told += f"\n… ({len(looked_for)} lines)"
    return told + "\n" + _nearest(nearby, wanted, known)


def _nearest(nearby: Nearby, wanted: Sequence[str], known: Known) -> str:
    lines = nearby.lines
    if not lines:
        return "The file is empty."
    at = nearby.place(wanted)
    if at is None:
        return "Nothing in the file is like it. It begins:\n" + excerpt(lines, 0, 1, around=known.around())
    count = agreeing(lines, wanted, at)
    same = " (it stands before the hunk above it: write hunks in the file's order)" if count == len(wanted) else ""
    shown = excerpt(lines, at, at + min(len(wanted), _WIDER), around=known.around())
    return f"Nearest is line {at + 1}, where {count} of {len(wanted)} lines agree{same}:\n{shown}"


def without_text(document: Document, wanted: str, known: Known, standing: int = 0) -> Conflict:
    """Make the error for a piece of text that is not in a file; `standing` is the line where the new one is."""
    lines = wanted.rstrip("\n").split("\n")
    told = _not_found(Nearby(document.lines), lines, lines, known).removeprefix("not found.")
    there = f" The new text stands at line {standing} already." if standing else ""
    head = f"The text was not found in {document.path!r}.{there}{_since(known)}"
    hint = "Nothing was changed. Give the text as the file has it."
    if standing:
        hint += " If that line is the place, the edit was made before."
    return Conflict(f"{head}{told}\n", hint=hint, code="edit_stale")


def ambiguous(document: Document, lines: Sequence[int]) -> Conflict:
    """Make the error for a piece of text that is there several times."""
    where = ", ".join(str(at + 1) for at in lines)
    hint = "Nothing was changed. Give more of the text around it, or set replace_all."
    message = f"The text stands in {document.path!r} {len(lines)} times, at lines {where}."
    return Conflict(message, hint=hint, code="edit_ambiguous")


def stale(lines: Sequence[str], what: str, *, code: str) -> Conflict:
    """Make the error for a change that is not based on what the file holds, with how it begins now."""
    shown = f" It begins now:\n{excerpt(lines, 0, _SHOWN, around=0)}\n" if lines else ""
    return Conflict(what + shown, hint="Nothing was changed. Read it with read_file first.", code=code)


def unshown(path: str, gap: range) -> Conflict:
    """Make the error for a file that would be replaced, of which the session was shown only a part."""
    several = f"lines {gap.start + 1}-{gap.stop} were" if len(gap) > 1 else f"line {gap.start + 1} was"
    which = f": {several} not shown" if gap else ""
    ask = f" from start_line={gap.start + 1}" if gap else " again"
    hint = f"Nothing was changed. Read it with read_file{ask}, or change parts of it with edit."
    return Conflict(f"{path!r} is there already, and you have read only a part of it{which}.", hint=hint, code=UNREAD)


def _since(known: Known) -> str:
    return " The file changed since you last read it." if known.changed else ""


_HINT = "Nothing was changed. Make the patch anew from what the file holds."
