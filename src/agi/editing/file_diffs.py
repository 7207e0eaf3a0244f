"""Work a unified diff into a draft: what git's header says of a file is checked against the file that is there.

May import: errors, editing.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from agi.editing.drafts import Draft, State, missing
from agi.editing.encodings import Encoding, encode
from agi.editing.patches import FileDiff
from agi.errors import Conflict, Invalid, WorkspaceError


class Move(Struct, frozen=True):
    """What becomes of a file: a place to be emptied, a place to be filled, and with what."""

    source: str = ""
    target: str = ""
    state: State = State()


def are_apart(diffs: Sequence[FileDiff]) -> bool:
    """Whether no file is spoken of twice: then all parts of a patch start from the same files."""
    old = [diff.old for diff in diffs if diff.old is not None and not diff.copied]
    new = [diff.new for diff in diffs if diff.new is not None]
    return len(set(old)) == len(old) and len(set(new)) == len(new)


def vacated(draft: Draft, diffs: Sequence[FileDiff]) -> set[str]:
    """The places that get free, so that another file may move in."""
    leaving = (diff for diff in diffs if diff.new is None or (diff.moved and not diff.copied))
    return {draft.locate(diff.old) for diff in leaving if diff.old is not None}


def outcome(draft: Draft, diff: FileDiff, free: set[str]) -> Move:
    """Work out one file; nothing in the draft changes yet."""
    if diff.old is None:
        return _created(draft, diff, diff.new or "", free)
    if diff.new is None:
        return _removed(draft, diff, diff.old)
    state = draft.patched(diff.old, diff.hunks, diff)
    source = draft.locate(diff.old)
    if diff.mode is not None:
        state = msgspec.structs.replace(state, mode=_with_mode(state.mode or 0o644, diff.mode))
    if not diff.moved:
        return Move(target=source, state=state)
    refuse_link(draft, diff.old)
    target = draft.locate(diff.new)
    if draft.look(target).data is not None and target not in free and target != source:
        raise _exists(diff.new)
    state = msgspec.structs.replace(state, moved_from=source, copied=diff.copied)
    return Move("" if diff.copied else source, target, state)


def settle(draft: Draft, moves: Sequence[Move]) -> None:
    """Empty all places that get free, then fill those that are filled."""
    for move in moves:
        if move.source:
            draft.clear(move.source)
    for move in moves:
        if move.target:
            draft.put(move.target, move.state)


def refuse_link(draft: Draft, path: str) -> None:
    """A link cannot be moved: would it be the link that moves, or the file?"""
    if draft.workspace.read_link(path):
        hint = "Nothing was changed. Name the file itself, or use a command."
        raise WorkspaceError(f"{path!r} is a link and cannot be moved.", hint=hint, code="is_a_link")


def _created(draft: Draft, diff: FileDiff, path: str, free: set[str]) -> Move:
    lines = [line for hunk in diff.hunks for line in hunk.lines if not line.bare]
    if any(line.mark != "+" for line in lines):
        message = f"The patch creates {path!r}, yet speaks of lines it has already."
        raise Invalid(message, hint="Nothing was changed.", code="patch_invalid")
    text = "".join(line.text + ("\r" * line.carriage + "\n") * line.ends for line in lines)
    data = encode(path, text, Encoding())
    place = draft.locate(path)
    before = draft.look(place)
    if before.data == data:
        draft.notes[place] = "already applied"
        return Move()
    if before.data is not None and place not in free:
        raise _exists(path)
    executable = diff.mode is not None and diff.mode & 0o100
    return Move(target=place, state=State(data, 0o755 if executable else None))


def _removed(draft: Draft, diff: FileDiff, path: str) -> Move:
    place, state = draft.look_at_link(path)
    if state.data is None:
        raise missing(path)
    left = draft.patched(path, diff.hunks, diff).data
    if left and left != draft.document(path, place, state).encoding.mark:
        message = f"{path!r} holds more than the patch removes."
        raise Conflict(message, hint="Nothing was changed. Read the file again.", code="patch_stale")
    return Move(source=place)


def _exists(path: str) -> Conflict:
    hint = "Nothing was changed. Change the file that is there, or name another one."
    return Conflict(f"{path!r} is there already, with other content.", hint=hint, code="file_exists")


def _with_mode(mode: int, wanted: int) -> int:
    """Of permissions git keeps one: whether a file may be run, by those who may read it."""
    return mode | (mode & 0o444) >> 2 if wanted & 0o100 else mode & ~0o111
