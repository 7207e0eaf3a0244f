"""Who changed what: the calls that were made, and the changes that were seen while they ran.

A step is a stretch of the workspace's history of changes, from the look before a call to the look after it. Changes
that nobody's step covers are the user's own. Functions work inside a transaction of the store.
May import: checkpoints.nodes, eventlog.leases.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from time import time_ns
from typing import Any

import msgspec
from msgspec import Struct

from agi.checkpoints.nodes import Change, Node
from agi.eventlog.leases import started_at

_FIELDS = (
    "number",
    "id",
    "session",
    "turn",
    "call",
    "workspace",
    "cause",
    "owner",
    "named",
    "first",
    "last",
    "made_at",
    "began",
    "ended",
)
_STEPS = (
    "SELECT number, id, session, turn, call, workspace, cause, owner, named, first, last, made_at, began, ended"
    " FROM steps WHERE {} ORDER BY number"
)
_CHANGES = (
    "SELECT number, at, path, before_kind, before_mode, before_size, before_key, after_kind, after_mode, after_size,"
    " after_key FROM changes WHERE workspace=? AND number>? AND number<=? ORDER BY number"
)
_NEW_CHANGE = (
    "INSERT INTO changes (workspace, path, before_kind, before_mode, before_size, before_key, after_kind, after_mode,"
    " after_size, after_key, at) VALUES (?,?,?,?,?,?,?,?,?,?,?)"
)
_NEW_STEP = (
    "INSERT INTO steps (id, session, turn, call, workspace, cause, owner, named, first, made_at, began)"
    " VALUES (?,?,?,?,?,?,?,?,(SELECT coalesce(max(number), 0) FROM changes),?,?)"
)


class Step(Struct, frozen=True, kw_only=True):
    """A call with an effect, or a revert; `last` is None while it is under way."""

    number: int
    id: str
    session: str
    turn: str | None
    call: str
    workspace: int
    cause: str
    owner: str
    named: tuple[str, ...] | None
    """The only paths it can have changed; None if it may have changed any."""
    first: int
    last: int | None
    made_at: int
    began: int = 0
    """In nanoseconds, like the times of files; 0 if nobody knows."""
    ended: int = 0


class Seen(Struct, frozen=True):
    """A change, and its place in the workspace's history."""

    number: int
    change: Change
    at: int = 0
    """When the disk says that it was made, in nanoseconds; 0 if nobody knows."""


def open_step(
    db: sqlite3.Connection,
    *,
    id: str,
    session: str,
    turn: str | None,
    call: str,
    workspace: int,
    cause: str,
    named: Sequence[str] | None = None,
) -> Step:
    """Write down that something is about to change files."""
    known = None if named is None else msgspec.json.encode([os.fsencode(path).hex() for path in named])
    now = time_ns()
    db.execute(_NEW_STEP, (id, session, turn, call, workspace, cause, this_process(), known, now // 10**9, now))
    return next(_steps(db, "id=?", id))


def close_step(db: sqlite3.Connection, step: Step, *, cause: str = "", ended: int = 0) -> Step | None:
    """It is over; None, and no trace of it, if it changed nothing."""
    last = int(db.execute("SELECT coalesce(max(number), 0) FROM changes").fetchone()[0])
    closed = msgspec.structs.replace(step, last=last, cause=cause or step.cause, ended=ended)
    if not changes_of(db, closed):
        drop_step(db, step)
        return None
    db.execute("UPDATE steps SET last=?, cause=?, ended=? WHERE number=?", (last, closed.cause, ended, step.number))
    db.execute("DELETE FROM plans WHERE step=?", (step.number,))
    return closed


def drop_step(db: sqlite3.Connection, step: Step) -> None:
    """Forget a step."""
    db.execute("DELETE FROM plans WHERE step=?", (step.number,))
    db.execute("DELETE FROM steps WHERE number=?", (step.number,))


def find_step(db: sqlite3.Connection, id: str) -> Step | None:
    """A step by its id."""
    return next(_steps(db, "id=?", id), None)


def in_order(db: sqlite3.Connection, ids: Sequence[str]) -> list[str]:
    """Steps of several sessions as they came one after the other; first those that are no longer known."""
    numbers = {id: step.number if (step := find_step(db, id)) else 0 for id in ids}
    return sorted(numbers, key=numbers.__getitem__)


def steps_of(db: sqlite3.Connection, session: str) -> list[Step]:
    """A session's steps that are over, in order."""
    return list(_steps(db, "session=? AND last IS NOT NULL", session))


def open_steps(db: sqlite3.Connection, workspace: int) -> list[Step]:
    """What is under way in a workspace, as far as the store knows."""
    return list(_steps(db, "workspace=? AND last IS NULL", workspace))


def left_reverts(db: sqlite3.Connection, root: bytes) -> list[Step]:
    """Reverts that a process which is gone had begun in the workspace at a root."""
    where = "workspace=(SELECT id FROM workspaces WHERE root=?) AND last IS NULL AND cause='revert'"
    return [step for step in _steps(db, where, root) if not is_alive(step.owner)]


def left_calls(db: sqlite3.Connection, workspace: int, session: str) -> list[Step]:
    """Calls of a session that were never closed, or of any session whose process is gone."""
    where = "workspace=? AND last IS NULL AND cause<>'revert' AND (session=? OR owner<>?)"
    found = _steps(db, where, workspace, session, this_process())
    return [step for step in found if step.session == session or not is_alive(step.owner)]


def is_any_open(db: sqlite3.Connection, workspace: int) -> bool:
    """Whether something is under way in a workspace."""
    row = db.execute("SELECT 1 FROM steps WHERE workspace=? AND last IS NULL LIMIT 1", (workspace,)).fetchone()
    return row is not None


def steps_beside(db: sqlite3.Connection, workspace: int, session: str, first: int, last: int) -> list[Step]:
    """Steps of other sessions that were under way in a stretch of the history."""
    where = "workspace=? AND session<>? AND first<? AND (last IS NULL OR last>?)"
    return list(_steps(db, where, workspace, session, last, first))


def add_changes(
    db: sqlite3.Connection, workspace: int, changes: Sequence[Change], times: Mapping[str, int] | None = None
) -> None:
    """Put changes at the end of the workspace's history, with the times at which the disk says they were made."""
    times = times or {}
    db.executemany(_NEW_CHANGE, [(workspace, *change_row(one), times.get(one.path, 0)) for one in changes])


def changes_of(db: sqlite3.Connection, step: Step) -> list[Seen]:
    """What was changed in a step; of one that named its paths, only these and the folders above them."""
    rows = db.execute(_CHANGES, (step.workspace, step.first, step.last if step.last is not None else 1 << 62))
    seen = [Seen(number, change_of(*rest), at) for number, at, *rest in rows]
    if step.named is None:
        return seen
    above = {path[:at] for path in step.named for at, char in enumerate(path) if char == "/"}
    return [one for one in seen if one.change.path in step.named or one.change.path in above]


def change_row(change: Change) -> tuple[object, ...]:
    """A change as columns: the path, what was, what is."""
    return (os.fsencode(change.path), *_columns(change.before), *_columns(change.after))


def change_of(path: bytes, *columns: object) -> Change:
    """A change from its columns."""
    before, after = columns[:4], columns[4:]
    return Change(os.fsdecode(path), _node(*before), _node(*after))  # type: ignore[arg-type]  # as they were written


def this_process() -> str:
    """A name for this process that no other has while it lives."""
    return _named(os.getpid())


@lru_cache(maxsize=1)
def _named(pid: int) -> str:
    return f"{pid}:{started_at(pid)}"


def is_alive(owner: str) -> bool:
    """Whether the process that called itself so still runs; unknown counts as alive."""
    if owner == this_process():
        return True
    pid, _, started = owner.partition(":")
    if not os.path.exists("/proc/self/stat"):
        return True
    return pid.isdigit() and started_at(int(pid)) == started


def _columns(node: Node | None) -> tuple[object, ...]:
    return (None, None, None, None) if node is None else (node.kind, node.mode, node.size, node.key)


def _node(kind: str | None, mode: int, size: int, key: bytes) -> Node | None:
    return None if kind is None else Node(kind, mode, size, key)  # type: ignore[arg-type]  # as it was written


def _steps(db: sqlite3.Connection, where: str, *values: object) -> Iterator[Step]:
    for row in db.execute(_STEPS.format(where), values):
        fields: dict[str, Any] = dict(zip(_FIELDS, row, strict=True))
        if fields["named"] is not None:
            coded = msgspec.json.decode(fields["named"], type=list[str])
            fields["named"] = tuple(os.fsdecode(bytes.fromhex(one)) for one in coded)
        yield Step(**fields)
