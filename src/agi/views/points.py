"""The points of a session one can go back to: where turns began and where checkpoints stand in the log.

May import: errors, protocol, views.
"""

from __future__ import annotations

import sqlite3

from msgspec import Struct

from agi.errors import Conflict, NotFound
from agi.protocol.events import CheckpointCreated, decode_data
from agi.views import queries

START = "start"
FORK = "fork"
_POINTS = (
    "SELECT seq, turn_id, type, CASE type WHEN 'checkpoint_created' THEN data END FROM events"
    " WHERE session_id=? AND type IN ('turn_started', 'checkpoint_created', 'session_forked') ORDER BY seq"
)
_END_OF_CALL = (
    "SELECT seq FROM events WHERE session_id=? AND seq>? AND type='tool_call_completed'"
    " AND json_extract(data, '$.tool_call_id')=? ORDER BY seq LIMIT 1"
)


class Mark(Struct, frozen=True):
    """A checkpoint in the log."""

    seq: int
    turn_id: str | None
    data: CheckpointCreated


class Points(Struct, frozen=True):
    """Everything one can go back to."""

    turns: dict[str, int]
    """Where each turn began."""
    checkpoints: dict[str, Mark]
    fork: int = 0
    """Up to where the log was carried over from another session; 0 if nothing was."""

    def last_turn(self, seq: int) -> str | None:
        """The last turn that had begun at an event."""
        return next((turn_id for turn_id, began in reversed(self.turns.items()) if began <= seq), None)


def points(db: sqlite3.Connection, session_id: str) -> Points:
    """Read them from the log."""
    turns: dict[str, int] = {}
    checkpoints: dict[str, Mark] = {}
    fork = 0
    for seq, turn_id, kind, data in db.execute(_POINTS, (session_id,)):
        if kind == "turn_started":
            turns.setdefault(turn_id, seq)
            continue
        if kind == "session_forked":
            fork = seq
            continue
        read = decode_data(kind, data.encode())
        if isinstance(read, CheckpointCreated):
            checkpoints[read.checkpoint_id] = Mark(seq, turn_id, read)
    return Points(turns, checkpoints, fork)


def seq_of(db: sqlite3.Connection, session_id: str, found: Points, to: str) -> int:
    """The last event that counts when one goes back: before a turn began, or with the call that made a checkpoint."""
    if to == START:
        return 1
    if to == FORK and found.fork:
        return found.fork
    if to in found.turns:
        return found.turns[to] - 1
    mark = found.checkpoints.get(to)
    if mark is None:
        return _not_there(db, session_id, to)
    if not mark.data.tool_call_id:
        return mark.seq
    row = db.execute(_END_OF_CALL, (session_id, mark.seq, mark.data.tool_call_id)).fetchone()
    return int(row[0]) if row else mark.seq


def _not_there(db: sqlite3.Connection, session_id: str, to: str) -> int:
    if to.startswith("turn_"):
        queries.turn(db, session_id, to)
        raise Conflict("That turn has not begun.", code="turn_not_begun", hint="Cancel it instead.")
    raise NotFound(
        f"There is nothing called {to[:80]!r} to go back to in this session.",
        code="point_not_found",
        hint="Name a turn (turn_…), a checkpoint (ckpt_…), `start` or `fork`; the session's events list them.",
    )
