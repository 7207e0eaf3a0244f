"""What a change does, told: as letters and paths, for programs, and as one unified diff.

Pure functions of a draft. May import: errors, protocol, editing, workspace.
"""

from __future__ import annotations

from msgspec import Struct

from agi.editing.drafts import Draft, State
from agi.editing.encodings import decode
from agi.editing.ladder import RUNG_NAMES
from agi.editing.patches import old_lines
from agi.editing.placing import Placed
from agi.editing.refusals import describe
from agi.errors import Invalid
from agi.protocol.parts import Json
from agi.workspace.diffs import unified_diff

_WORDS = {"A": "added", "M": "modified", "D": "deleted", "R": "moved", "C": "copied"}
_MOST_HUNKS = 100


class Told(Struct, frozen=True):
    """What became of one file: a letter, its path, where hunks were found in it, and what else is to be said."""

    letter: str
    path: str
    found: tuple[Placed, ...] = ()
    note: str = ""

    def text(self) -> str:
        """One line for the model, and one for each hunk that was not found as it was written."""
        odd = [
            f"  hunk {number} at line {place.at + 1}: {describe(place)}"
            for number, place in enumerate(self.found, 1)
            if place.rung or place.drift
        ]
        return "\n".join([f"{self.letter} {self.path}" + (f" ({self.note})" if self.note else ""), *odd[:_MOST_HUNKS]])

    def facts(self) -> Json:
        """The same for programs."""
        facts: Json = {"path": self.path, "change": _WORDS.get(self.letter, "unchanged")}
        if self.found:
            facts["hunks"] = [_placed(place) for place in self.found[:_MOST_HUNKS]]
        if self.note:
            facts["note"] = self.note
        return facts


def _placed(place: Placed) -> Json:
    facts: Json = {"line": place.at + 1, "lines": len(old_lines(place.lines)), "matched": RUNG_NAMES[place.rung]}
    return {**facts, "drift": place.drift} if place.drift else facts


def told(draft: Draft) -> list[Told]:
    """What became of each file, in the order they were spoken of; also those that are as they should be already."""
    changed = draft.changed()
    gone = _sources(draft, changed)
    shown = [place for place in draft.places() if place not in gone and (place in changed or place in draft.notes)]
    return [_told(draft, place, _letter(draft, place) if place in changed else "=") for place in shown]


def _told(draft: Draft, place: str, letter: str) -> Told:
    source = draft.states(place)[1].moved_from or place
    notes = dict.fromkeys(draft.notes[one] for one in (source, place) if one in draft.notes)
    return Told(letter, place, tuple(draft.found.get(source, ())), ", ".join(notes))


def diff(draft: Draft) -> str:
    """All changes as one unified diff."""
    return "".join(text for _, text in diffs(draft))


def diffs(draft: Draft) -> list[tuple[str, str]]:
    """The change of each file as a diff; of a file that moved, at its new place."""
    changed = draft.changed()
    gone = _sources(draft, [place for place in changed if not _replaces(draft, place)])
    return [(place, _diff(draft, place)) for place in changed if place not in gone]


def _replaces(draft: Draft, place: str) -> bool:
    """Whether a file moved onto another that is lost: then it is this one's lines that are shown as gone."""
    before, after = draft.states(place)
    if before.data is None or not after.moved_from:
        return False
    return all(draft.states(other)[1].moved_from != place for other in draft.changed())


def _sources(draft: Draft, changed: list[str]) -> set[str]:
    """The places that are empty because what they held moved."""
    origins = {draft.states(place)[1].moved_from for place in changed}
    return {place for place in changed if place in origins and draft.states(place)[1].data is None}


def _letter(draft: Draft, place: str) -> str:
    before, after = draft.states(place)
    if after.data is None:
        return "D"
    if after.moved_from:
        return "C" if after.copied else "R"
    return "A" if before.data is None else "M"


def _diff(draft: Draft, place: str) -> str:
    after = draft.states(place)[1]
    moved = after.moved_from if not after.copied and not _replaces(draft, place) else ""
    source = moved or place
    before = draft.states(source)[0]
    try:
        shown = unified_diff(source, _text(before), _text(after), new_path=place if moved else "")
    except Invalid:
        shown = f"diff --git a/{source} b/{place}\nBinary files differ\n"
    return _with_mode(shown, source, place, before, after)


def _text(state: State) -> str | None:
    """What a file holds, to be compared; a mark at its beginning counts."""
    if state.size:
        raise Invalid("too large to show")
    if state.link:
        return state.link
    if state.data is None:
        return None
    text, encoding = decode("", state.data)
    return "\ufeff" * bool(encoding.mark) + text


def _with_mode(shown: str, source: str, place: str, before: State, after: State) -> str:
    """Say so where the right to run a file is given, taken, or comes with a new file."""
    runs, ran = (bool(state.mode is not None and state.mode & 0o100) for state in (after, before))
    if before.data is None and after.data is not None:
        return shown.replace("new file mode 100644", "new file mode 100755", 1) if runs else shown
    if after.data is None or runs == ran:
        return shown
    head, _, rest = (shown or f"diff --git a/{source} b/{place}\n").partition("\n")
    modes = ["100644", "100755"] if runs else ["100755", "100644"]
    return f"{head}\nold mode {modes[0]}\nnew mode {modes[1]}\n{rest}"
