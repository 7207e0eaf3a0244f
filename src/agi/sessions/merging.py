"""Bringing what a worker changed into the files of the one it works for: all of it, or nothing.

A file that only the worker changed is taken as it is. One that somebody else changed too is merged line by line; where
that is not possible the worker is told once, with both versions in its file. May import: editing, errors, protocol,
tools, workspace, sessions.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from agi.editing.drafts import Draft, State
from agi.editing.merging import merge
from agi.errors import Conflict
from agi.protocol.parts import Json
from agi.tools.changes import Operation
from agi.workspace.copying import Base, Held, kept_content, look_at
from agi.workspace.handle import Change, Workspace

MERGE_CONFLICT = "merge_conflict"
NAMES = ("in the workspace", "by you")
MARKS = (f"<<<<<<< {NAMES[0]}".encode(), f">>>>>>> {NAMES[1]}".encode())
TOLD = (
    "Your changes were not taken: these files were changed by somebody else meanwhile.\n{}\n\nWhere both versions are "
    "text, your file now holds them between conflict markers; any other file is as the others have it now. Make each "
    "what it should be, with both intentions kept and no markers left, and report again."
)


class Clash(Struct, frozen=True):
    """A file that two changed: what it holds in the workspace, and what the worker is to begin from."""

    path: str
    theirs: bytes | None
    marked: bytes | None
    unresolved: bool = False
    """Whether both versions were put before the worker earlier, and still stand there."""


class Merging:
    """What one worker changed, on its way into a workspace."""

    def __init__(self, files: Path, base: Base, kept: Path) -> None:
        self._files = files
        self._base = base
        self._kept = kept
        self.clashes: list[Clash] = []

    def operation(self) -> Operation:
        """The change, as the edit engine carries it out."""
        with Workspace.open(self._files) as own:
            changed = look_at(own, self._base)
        return Operation(sorted(changed), lambda draft: self._work(draft, changed), _tell)

    def _work(self, draft: Draft, changed: dict[str, tuple[Held | None, bytes | None]]) -> None:
        self.clashes = []
        for path, (now, data) in sorted(changed.items()):
            self._take(draft, path, now, data)
        if self.clashes:
            names = ", ".join(one.path for one in self.clashes[:20])
            unresolved = all(one.unresolved for one in self.clashes)
            why = (
                f"both versions still stand in {names}"
                if unresolved
                else f"somebody else changed the same lines of {names}"
            )
            raise Conflict(
                f"Nothing was merged: {why}.",
                code=MERGE_CONFLICT,
                hint="The worker is told; await it, and merge it again.",
            )

    def _take(self, draft: Draft, path: str, now: Held | None, data: bytes | None) -> None:
        place, state = draft.look_at_link(path)
        was, there = self._base.get(path), None if state.size else state.digest()
        wanted = None if now is None else now.digest
        if is_unresolved(data) and not is_unresolved(state.data):
            self.clashes.append(Clash(path, None if state.size else state.data, data, unresolved=True))
        elif there == wanted and not state.size:
            self._give_right(draft, place, state, now, was)
        elif there == (None if was is None else was.digest) and not state.size and (now is None or data is not None):
            if data is None:
                draft.clear(place)
            else:
                draft.put(place, _state(state, data, now, was))
        else:
            self._merge(draft, place, path, state, now, data)

    def _give_right(self, draft: Draft, place: str, state: State, now: Held | None, was: Held | None) -> None:
        """Only whether it may be run is another, if anything is."""
        if state.data is not None and now is not None and now.runs != (was is not None and was.runs):
            draft.put(place, _state(state, state.data, now, was))

    def _merge(self, draft: Draft, place: str, path: str, state: State, now: Held | None, data: bytes | None) -> None:
        before = kept_content(self._kept, self._base.get(path))
        marked = data if state.data is None and not state.size else None
        if state.data is not None and data is not None and not state.size:
            both = merge(before or b"", state.data, data, names=NAMES)
            if both is not None and not both.conflicts:
                draft.put(place, _state(state, both.data, now, self._base.get(path)))
                return
            marked = state.data if both is None else both.data
        self.clashes.append(Clash(path, None if state.size else state.data, marked))

    def hand_back(self) -> dict[str, bytes | None]:
        """Put both versions before the worker; gives what its files begin from now."""
        changes = [Change(one.path, one.marked if one.marked is not None else one.theirs) for one in self.clashes]
        with Workspace.open(self._files) as own:
            own.replace_all([one for one in changes if one.data is not None or own.exists(one.path)])
        return {one.path: one.theirs for one in self.clashes}

    def message(self) -> str:
        """What the worker is told."""
        return TOLD.format("\n".join(f"- {one.path}" for one in self.clashes))


def is_unresolved(data: bytes | None) -> bool:
    """Whether a file holds both versions as `hand_back` put them there: what a worker left so is nobody's work."""
    lines = data.splitlines() if data is not None and MARKS[0] in data else []
    return all(mark in lines for mark in MARKS)


def _state(state: State, data: bytes, now: Held | None, was: Held | None) -> State:
    """What a place shall hold; its permissions stay, but for the right to run it where the worker changed that."""
    mode = state.mode
    if now is not None and (mode is None or now.runs != (was is not None and was.runs)):
        mode = ((mode or 0o644) | 0o111) if now.runs else ((mode or 0o644) & ~0o111)
    return State(data, mode)


def _tell(draft: Draft) -> tuple[str, Json]:
    files = sorted(draft.changed())
    if not files:
        return "Nothing to merge: the files already are as the worker has them.", {"files": [], "merged": True}
    return "Merged:\n" + "\n".join(f"- {path}" for path in files), {"files": files, "merged": True}
