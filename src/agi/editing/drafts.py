"""The files a change touches, worked out in memory: nothing is written until every part of it has found its place.

A small file system of its own: two parts may speak of one file, by one name or by two, and the later one sees what the
earlier one did. Reads through the workspace, writes nothing. May import: errors, editing, workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha1, sha256

import msgspec
from msgspec import UNSET, Struct

from agi.editing.applying import applied
from agi.editing.documents import Document
from agi.editing.editorconfig import charset
from agi.editing.ladder import Places
from agi.editing.matching import place_hunks
from agi.editing.patches import FileDiff, Hunk
from agi.editing.placing import Placed, Trouble
from agi.editing.refusals import Known, unplaced
from agi.editing.seen import Seen
from agi.errors import Invalid, NotFound, TooLarge
from agi.workspace.digests import digest, link_digest
from agi.workspace.handle import Change, Workspace

CHANGED = "changed since you last read it"
"""What is noted about a file that someone else changed meanwhile."""


class State(Struct, frozen=True):
    """What a place holds: bytes, or nothing; with which permissions; and where they came from."""

    data: bytes | None = None
    mode: int | None = None
    moved_from: str = ""
    copied: bool = False
    link: str = ""
    """Where the symbolic link at this place points, which is then all that counts of it."""
    size: int = 0
    """How large a file is of which the data was not read, since it is too large to change."""

    def digest(self) -> str | None:
        """The name of what is there; None for nothing."""
        if self.link:
            return link_digest(self.link)
        return None if self.data is None else digest(self.data)


class Draft:
    """The files a change touches, as they were and as they shall be."""

    def __init__(self, workspace: Workspace, seen: Seen | None = None, *, over: Draft | None = None) -> None:
        self.workspace = workspace
        self.seen = seen
        self._over = over
        self.found: dict[str, list[Placed]] = {}
        """Where the hunks of each place were found."""
        self.notes: dict[str, str] = {}
        """What is to be said about a place beyond what was changed there."""
        self._before: dict[str, State] = {}
        self._after: dict[str, State] = {}
        self._located: dict[tuple[str, bool], str] = {}

    def locate(self, path: str, *, follow: bool = True) -> str:
        """Say where a path leads; asked once, so that one answer holds for the whole change."""
        known = self._located.get((path, follow))
        if known is None:
            known = self._located[path, follow] = self.workspace.locate(path, follow=follow)
        return known

    def look(self, place: str) -> State:
        """What a place holds in the draft; read from disk when it is first met."""
        if place not in self._before:
            self._before[place] = self._after[place] = self._read(place)
        return self._after[place]

    def look_at_link(self, path: str) -> tuple[str, State]:
        """What stands at a path itself: the file, or the link without the file it leads to."""
        place = self.locate(path, follow=False)
        if self._over is not None:
            self._over.look_at_link(path)
        elif place not in self._before and (link := self.workspace.read_link(path)):
            self._before[place] = self._after[place] = State(link=link)
        return place, self.look(place)

    def existing(self, path: str) -> tuple[str, State]:
        """What a file holds, and where it is; raises if there is none."""
        place = self.locate(path)
        state = self.look(place)
        if state.data is None:
            raise missing(path)
        return place, state

    def put(self, place: str, state: State) -> None:
        """Say what a place shall hold."""
        before = self.look(place)
        origin = state.moved_from if state.moved_from != place else ""
        mode = before.mode if state.mode is None else state.mode
        self._after[place] = msgspec.structs.replace(state, mode=mode, moved_from=origin)

    def clear(self, place: str) -> None:
        """Say that a place shall hold nothing."""
        self._after[place] = State()

    def restore(self, place: str) -> None:
        """Say that a place shall stay as it is."""
        self._after[place] = self._before[place]

    def document(self, path: str, place: str, state: State) -> Document:
        """A file's text; raises for what is no text, or too much of it."""
        if state.size:
            raise too_large(path, state.size)
        try:
            return Document.read(path, state.data or b"")
        except Invalid:
            configured = charset(self.workspace, place)
            if not configured:
                raise
            return Document.read(path, state.data or b"", configured)

    def patched(self, path: str, hunks: Sequence[Hunk], diff: FileDiff | None = None) -> State:
        """A file with hunks applied to it; as it is, if they were applied before."""
        place, state = self.existing(path)
        if state.size:
            raise too_large(path, state.size)
        if not hunks:
            return state
        if diff is not None and _is_blob(state.data or b"", diff.result):
            return self._left_alone(place, state)
        document = self.document(path, place, state)
        numbered = diff is not None and _is_blob(state.data or b"", diff.base)
        outcomes = place_hunks(Places(document.lines), hunks, numbered=numbered)
        placed = [outcome for outcome in outcomes if isinstance(outcome, Placed)]
        if len(placed) == len(outcomes):
            self.found.setdefault(place, []).extend(placed)
            self.note_change(place)
            return msgspec.structs.replace(state, data=document.encoded(applied(document, hunks, placed)))
        if all(isinstance(outcome, Trouble) and outcome.kind == "already" for outcome in outcomes):
            return self._left_alone(place, state)
        raise unplaced(document, hunks, outcomes, self.known(place))

    def _left_alone(self, place: str, state: State) -> State:
        self.notes[place] = "already applied"
        return state

    def known(self, place: str) -> Known:
        """How a failure is to be told: whether the session knows this content, and how often it failed before."""
        if self.seen is None:
            return Known()
        return Known(changed=self._is_changed(place), failures=self.seen.failed(place))

    def note_change(self, place: str) -> None:
        """Remember to say of a file that is edited if someone changed it since the session was last shown it."""
        if self._is_changed(place):
            self.notes[place] = CHANGED

    def _is_changed(self, place: str) -> bool:
        """Whether a file is on disk another than the session was last shown; what this draft does to it aside."""
        last = None if self.seen is None else self.seen.digest(place)
        return last not in (None, self._before[place].digest())

    def changed(self) -> list[str]:
        """The places that shall be other than they are."""
        return [place for place, state in self._after.items() if _facts(state) != _facts(self._before[place])]

    def changes(self) -> list[Change]:
        """What must be done on disk, each bound to what was read."""
        return [
            Change(
                place,
                self._after[place].data,
                self._after[place].mode,
                UNSET if self._before[place].size else self._before[place].digest(),
            )
            for place in self.changed()
        ]

    def states(self, place: str) -> tuple[State, State]:
        """What a place held, and what it shall hold."""
        return self._before[place], self._after[place]

    def places(self) -> list[str]:
        """Every place that was looked at."""
        return list(self._after)

    def digest(self) -> str:
        """Name the whole change by what it finds and what it leaves: the same name is the same change."""
        whole = sha256()
        for place in sorted(self.changed()):
            before, after = self.states(place)
            mode = "" if after.mode == before.mode else f"{after.mode}"
            whole.update(f"{place}\0{before.digest()}\0{after.digest()}\0{mode}\n".encode(errors="surrogateescape"))
        return whole.hexdigest()

    def _read(self, place: str) -> State:
        """What a place holds: after the change that is to come before this one, if there is one, else on disk."""
        if self._over is not None:
            state = self._over.look(place)
            return msgspec.structs.replace(state, moved_from="", copied=False)
        try:
            read = self.workspace.read_bytes(place)
        except NotFound:
            return State()
        return State(read.data, read.mode, size=read.size if read.truncated else 0)


def missing(path: str) -> NotFound:
    """Make the error for a file that should be there."""
    return NotFound(f"{path!r} does not exist.", hint="Nothing was changed.", code="file_not_found")


def too_large(path: str, size: int) -> TooLarge:
    """Make the error for a file that is not read whole, so that nothing of it gets lost."""
    return TooLarge(f"{path!r} is too large to edit: {size} bytes.", hint="Nothing was changed. Use a command.")


def _facts(state: State) -> tuple[object, ...]:
    return state.data, state.mode if state.data is not None else None, state.link, state.size


def _is_blob(data: bytes, name: str) -> bool:
    """Whether git's name for this content begins so, which proves that a diff was made from it."""
    if not name.strip("0"):
        return False
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest().startswith(name)
