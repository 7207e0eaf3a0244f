"""Work a patch into a draft: all its sections, so that everything that does not fit is told at once.

May import: errors, editing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from agi.editing.drafts import Draft, State, missing
from agi.editing.file_diffs import are_apart, outcome, refuse_link, settle, vacated
from agi.editing.patches import Add, Delete, FileDiff, Section, Update
from agi.editing.texts import put_text, refuse_stale
from agi.errors import AgiError, Invalid

_MOST_TOLD = 10


def take_patch(draft: Draft, sections: Sequence[Section]) -> None:
    """Work out what a patch makes of the files; raises if any part of it does not fit, and tells every such part."""
    problems = _Problems()
    diffs = [section for section in sections if isinstance(section, FileDiff)]
    for together in [diffs] if are_apart(diffs) else [[diff] for diff in diffs]:
        _take_diffs(draft, together, problems)
    for section in sections:
        if not isinstance(section, FileDiff):
            with problems.caught():
                _take(draft, section)
    with problems.caught():
        _refuse_nested(draft)
    problems.raise_all()


class _Problems:
    """What does not fit, gathered."""

    def __init__(self) -> None:
        self._found: list[AgiError] = []

    @contextmanager
    def caught(self) -> Iterator[None]:
        try:
            yield
        except AgiError as error:
            self._found.append(error)

    def raise_all(self) -> None:
        if not self._found:
            return
        first, *others = self._found
        if not others:
            raise first
        told = [error.message for error in self._found[:_MOST_TOLD]]
        left = len(self._found) - len(told)
        more = [f"… and {left} more."] if left else []
        raise type(first)("\n".join(told + more), hint=first.hint, code=first.code)


def _take_diffs(draft: Draft, diffs: Sequence[FileDiff], problems: _Problems) -> None:
    """All of them start from the same files, so that two may change places."""
    with problems.caught():
        free = vacated(draft, diffs)
        moves = []
        for diff in diffs:
            with problems.caught():
                moves.append(outcome(draft, diff, free))
        settle(draft, moves)


def _take(draft: Draft, section: Add | Delete | Update) -> None:
    if isinstance(section, Add):
        place = draft.locate(section.path)
        before = draft.look(place)
        refuse_stale(draft, section.path, place)
        put_text(draft, section.path, place, section.content)
        _note_replaced(draft, place, before)
    elif isinstance(section, Delete):
        _delete(draft, section.path)
    else:
        _update(draft, section)


def _delete(draft: Draft, path: str) -> None:
    """Delete a file, or a link itself."""
    place, state = draft.look_at_link(path)
    if state.data is None and not state.link:
        raise missing(path)
    refuse_stale(draft, path, place)
    draft.clear(place)


def _update(draft: Draft, section: Update) -> None:
    state = draft.patched(section.path, section.hunks)
    source = draft.locate(section.path)
    if not section.move_to:
        draft.put(source, state)
        return
    refuse_link(draft, section.path)
    target = draft.locate(section.move_to)
    before = draft.look(target)
    if target != source:
        refuse_stale(draft, section.move_to, target)
    draft.clear(source)
    draft.put(target, msgspec.structs.replace(state, moved_from=state.moved_from or source))
    if target != source:
        _note_replaced(draft, target, before)


def _note_replaced(draft: Draft, place: str, before: State) -> None:
    """Say so where a file gave way to another."""
    if before.data is not None and draft.look(place).data != before.data:
        draft.notes[place] = "replaced an existing file"


def _refuse_nested(draft: Draft) -> None:
    """A file cannot be the folder of another."""
    files = {place for place in draft.changed() if draft.states(place)[1].data is not None}
    for place in files:
        above = place.rpartition("/")[0]
        while above:
            if above in files:
                raise Invalid(f"{above!r} cannot be a file and a folder.", hint="Nothing was changed.")
            above = above.rpartition("/")[0]
