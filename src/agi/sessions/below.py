"""A session and the workers below it as one: what they ask is listed and answered at the top, and all can be stopped.

Read from the log whenever asked; nothing is remembered here. May import: errors, eventlog, protocol, views, sessions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from msgspec.structs import replace

from agi.errors import AgiError
from agi.protocol.sessions import PendingApproval, Session
from agi.protocol.workers import Scope
from agi.views import pool, queries
from agi.views.state import SessionState

_ASKED = (
    "SELECT 1 FROM events WHERE session_id=? AND type='approval_requested' AND json_extract(data, '$.tool_call_id')=?"
    " LIMIT 1"
)


def states_below(db: sqlite3.Connection, session_id: str, turn_id: str | None = None) -> Iterator[SessionState]:
    """The workers below a session, or one turn of it, however deep, the nearest first; what is damaged is left out."""
    ahead = [session_id]
    seen = {session_id}
    while ahead:
        above = ahead.pop(0)
        first = turn_id is not None and above == session_id
        for row in pool.children_of_turn(db, above, turn_id or "") if first else pool.children(db, above):
            if row.session_id in seen:
                continue
            seen.add(row.session_id)
            ahead.append(row.session_id)
            try:
                yield queries.session_state(db, row.session_id)
            except (AgiError, ValueError):
                continue


def pending_below(db: sqlite3.Connection, session_id: str) -> tuple[PendingApproval, ...]:
    """What the workers below a session wait for, with who asks; the oldest question first."""
    found = [
        replace(one, session_id=state.id, path=path_to(db, state.id))
        for state in states_below(db, session_id)
        for one in (state.turn.pending if state.turn else ())
    ]
    return tuple(sorted(found, key=lambda one: one.requested_at))


def with_below(db: sqlite3.Connection, session: Session) -> Session:
    """A session as clients see it, with what is asked below it; one that waits for that is said to wait."""
    below = pending_below(db, session.id)
    if not below:
        return session
    waits = session.activity == "running"
    pending = (*session.pending_approvals, *below)
    return replace(session, pending_approvals=pending, activity="waiting_approval" if waits else session.activity)


def asked_by(db: sqlite3.Connection, session_id: str, call_id: str) -> str:
    """Whose question an answer at this session is about: that of a worker below it, or else its own."""
    below = list(states_below(db, session_id))
    for state in below:
        turn = state.turn
        if turn is not None and (call_id in turn.answers or any(one.tool_call_id == call_id for one in turn.pending)):
            return state.id
    # Its turn may be over by now; then whoever asked says that the question was answered.
    return next((state.id for state in below if db.execute(_ASKED, (state.id, call_id)).fetchone()), session_id)


def in_scope(db: sqlite3.Connection, session_id: str, scope: Scope, turn_id: str | None) -> list[str]:
    """The sessions a cancel is about besides this one, the highest first."""
    if scope == "turn":
        return []
    if scope == "children":
        return [state.id for state in states_below(db, session_id, turn_id)]
    worker = queries.session_state(db, session_id).worker
    root = worker.root_session_id if worker is not None else ""
    top = root if root and queries.exists(db, root) else session_id
    found = [top, *(state.id for state in states_below(db, top))]
    return [one for one in found if one != session_id]


def path_to(db: sqlite3.Connection, session_id: str) -> tuple[str, ...]:
    """The roles from a root's worker down to this one."""
    path: list[str] = []
    state: SessionState | None = queries.session_state(db, session_id)
    while state is not None and state.worker is not None:
        path.insert(0, state.worker.role)
        parent = state.worker.parent_session_id
        try:
            state = queries.session_state(db, parent) if parent else None
        except AgiError:
            break
    return tuple(path)
