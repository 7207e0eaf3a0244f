"""Find the places a patch speaks of in a file, and make the change there.

Lines are looked for ever more leniently, but what is not removed stays as the file has it, byte for byte. A place that
cannot be told is a refusal. Pure functions on text. May import: errors, tools.patch_envelope.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from agi.errors import Conflict
from agi.tools.patch_envelope import Hunk, Line

_ENDINGS = re.compile(r"(\r\n|\n|\r)")
_FOLDED = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
    }
)


def _fold(line: str) -> str:
    return line.translate(_FOLDED).strip()


_WAYS: tuple[Callable[[str], str], ...] = (str, str.rstrip, str.strip, _fold)
"""How lines are compared, from exact to lenient."""


class _FileLine(Struct, frozen=True):
    text: str
    ending: str


class _Edit(Struct, frozen=True):
    """The file's lines from `start` to `end` give way to others."""

    start: int
    end: int
    lines: tuple[_FileLine, ...]


def apply_hunks(path: str, text: str, hunks: Sequence[Hunk]) -> str:
    """Make all changes of a file, in order; raises Conflict if one has no place."""
    lines = _split(text)
    ending = _usual_ending(lines)
    places = _Places([line.text for line in lines])
    edits: list[_Edit] = []
    cursor = 0
    for number, hunk in enumerate(hunks, 1):
        found = _place(places, hunk, cursor)
        if found is None:
            raise _not_found(path, hunk, number)
        start, wanted = found
        edit = _edit(lines, start, wanted, ending)
        edits.append(edit)
        # Lines put at the very end say nothing about where the next hunk is.
        cursor = edit.end if hunk.anchors or _old(wanted) else cursor
    return _joined(lines, edits, ending)


def _split(text: str) -> list[_FileLine]:
    parts = _ENDINGS.split(text)
    lines = [_FileLine(line, end) for line, end in zip(parts[0:-1:2], parts[1::2], strict=True)]
    return [*lines, _FileLine(parts[-1], "")] if parts[-1] else lines


def _usual_ending(lines: Sequence[_FileLine]) -> str:
    counts = Counter(line.ending for line in lines if line.ending)
    return max(counts, key=lambda ending: counts[ending]) if counts else "\n"


class _Places:
    """A file's lines, prepared for each way of comparing when it is first needed."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._prepared: dict[int, list[str]] = {}
        self.count = len(lines)

    def find(self, wanted: Sequence[str], start: int) -> list[int]:
        """All places from `start` on that hold the wanted lines, in the strictest way that finds any."""
        for number, way in enumerate(_WAYS):
            lines = self._prepared.setdefault(number, [])
            if not lines:
                lines.extend(map(way, self._lines))
            found = list(_occurrences(lines, [way(line) for line in wanted], start))
            if found:
                return found
        return []


def _occurrences(lines: Sequence[str], wanted: Sequence[str], start: int) -> Iterator[int]:
    end = len(lines) - len(wanted) + 1
    at = start
    while at < end:
        try:
            at = lines.index(wanted[0], at, end)
        except ValueError:
            return
        if lines[at : at + len(wanted)] == wanted:
            yield at
        at += 1


def _place(places: _Places, hunk: Hunk, cursor: int) -> tuple[int, tuple[Line, ...]] | None:
    """Say at which line a hunk begins, and which of its lines count: blank ones at its end may be mere spacing."""
    for wanted in _readings(hunk.lines):
        start = _place_lines(places, hunk, _old(wanted), cursor)
        if start is not None:
            return start, wanted
    return None


def _readings(lines: tuple[Line, ...]) -> Iterator[tuple[Line, ...]]:
    yield lines
    end = len(lines)
    while lines[end - 1].bare:
        end -= 1
    if end < len(lines):
        yield lines[:end]


def _old(lines: Sequence[Line]) -> list[str]:
    return [line.text for line in lines if line.mark != "+"]


def _place_lines(places: _Places, hunk: Hunk, old: list[str], cursor: int) -> int | None:
    after = _follow_anchors(places, hunk.anchors, cursor)
    if not old:
        return after if hunk.anchors and not hunk.at_end else places.count
    if after is not None:
        found = places.find(old, after)
        restated = places.find(old, after - 1) if hunk.anchors and len(old) > 1 else []
        if restated and restated[0] == after - 1:
            return restated[0]
        if found:
            return found[-1] if hunk.at_end else found[0]
    found = places.find(old, cursor) if hunk.anchors else []
    return found[0] if len(found) == 1 else None


def _follow_anchors(places: _Places, anchors: Sequence[str], cursor: int) -> int | None:
    """Go from anchor to anchor; the place is after the last one."""
    for anchor in anchors:
        found = places.find([anchor], cursor)
        if not found:
            return None
        cursor = found[0] + 1
    return cursor


def _edit(lines: Sequence[_FileLine], start: int, wanted: Sequence[Line], ending: str) -> _Edit:
    at = start
    new: list[_FileLine] = []
    for line in wanted:
        if line.mark == "+":
            new.append(_FileLine(line.text, ending))
            continue
        if line.mark == " ":
            new.append(lines[at])
        at += 1
    return _Edit(start, at, tuple(new))


def _joined(lines: Sequence[_FileLine], edits: Sequence[_Edit], ending: str) -> str:
    result: list[_FileLine] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        result += [*lines[at : edit.start], *edit.lines]
        at = edit.end
    result += lines[at:]
    # Only the last line may lack an ending; one that no longer is the last gets the usual one.
    whole = [line.text + (line.ending or ending) for line in result[:-1]]
    return "".join([*whole, *(line.text + line.ending for line in result[-1:])])


def _not_found(path: str, hunk: Hunk, number: int) -> Conflict:
    looked_for = [*(f"@@ {anchor}" for anchor in hunk.anchors), *_old(hunk.lines)][:12]
    message = f"Hunk {number} of {path!r} has no place in the file. Looked for:\n" + "\n".join(looked_for) + "\n"
    return Conflict(
        message, hint="Nothing was changed. Read the file again and make the patch anew.", code="patch_stale"
    )
