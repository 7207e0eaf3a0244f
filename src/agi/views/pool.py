"""The table of drafts and workers, by project: which there are, and which of them are open.

A draft is open until it is closed, a worker while its turn is not over. May import: protocol, eventlog.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from agi.protocol import events as ev
from agi.protocol.events import Event
from agi.protocol.times import to_millis

if TYPE_CHECKING:
    from agi.protocol.drafts import AgentKind


class Row(Struct, frozen=True, kw_only=True):
    """One draft or worker."""

    session_id: str
    kind: AgentKind
    project_path: str
    task_slug: str
    parent: str
    opened_at: int
    open: bool


_COLUMNS = "SELECT session_id, kind, project_path, task_slug, parent, opened_at, open FROM pool"


def step(db: sqlite3.Connection) -> None:
    """Make the table."""
    db.execute(
        "CREATE TABLE pool (session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE, kind TEXT NOT NULL,"
        " project_path TEXT NOT NULL, task_slug TEXT NOT NULL, parent TEXT NOT NULL, call TEXT NOT NULL,"
        " opened_at INTEGER NOT NULL, open INTEGER NOT NULL)"
    )
    db.execute("CREATE INDEX pool_open ON pool (project_path) WHERE open")
    db.execute("CREATE INDEX pool_task ON pool (project_path, task_slug)")
    db.execute("CREATE INDEX pool_parent ON pool (parent) WHERE parent<>''")


def open_rows(db: sqlite3.Connection) -> list[Row]:
    """Those that are alive, the oldest first."""
    return _rows(db.execute(f"{_COLUMNS} WHERE open ORDER BY opened_at, session_id"))


def is_open(db: sqlite3.Connection, session_id: str) -> bool:
    """Whether a session is one of those that are alive."""
    return db.execute("SELECT 1 FROM pool WHERE session_id=? AND open", (session_id,)).fetchone() is not None


def open_draft(db: sqlite3.Connection, project_path: str) -> str | None:
    """The session of the project's active draft."""
    found = db.execute(
        "SELECT session_id FROM pool WHERE open AND kind='draft' AND project_path=? ORDER BY opened_at LIMIT 1",
        (project_path,),
    ).fetchone()
    return str(found[0]) if found else None


def last_draft(db: sqlite3.Connection, project_path: str) -> str | None:
    """The session of the project's latest draft, active or not."""
    found = db.execute(
        "SELECT session_id FROM pool WHERE kind='draft' AND project_path=? ORDER BY opened_at DESC LIMIT 1",
        (project_path,),
    ).fetchone()
    return str(found[0]) if found else None


def of_task(db: sqlite3.Connection, project_path: str, task_slug: str) -> list[Row]:
    """Who worked on a task, the first first."""
    asked = (project_path, task_slug)
    return _rows(db.execute(f"{_COLUMNS} WHERE project_path=? AND task_slug=? ORDER BY opened_at, session_id", asked))


def children(db: sqlite3.Connection, parent: str) -> list[Row]:
    """The workers a session's agent asked for."""
    return _rows(db.execute(f"{_COLUMNS} WHERE parent<>'' AND parent=? ORDER BY opened_at, session_id", (parent,)))


def worker_of_call(db: sqlite3.Connection, parent: str, turn_id: str, call_id: str) -> str | None:
    """The worker that a call has started already."""
    found = db.execute(
        "SELECT session_id FROM pool WHERE parent<>'' AND parent=? AND call=?", (parent, f"{turn_id}/{call_id}")
    ).fetchone()
    return str(found[0]) if found else None


def close_row(db: sqlite3.Connection, session_id: str) -> None:
    """Call a draft closed whose session cannot take an event any more."""
    db.execute("UPDATE pool SET open=0 WHERE session_id=?", (session_id,))


def _rows(found: sqlite3.Cursor) -> list[Row]:
    return [
        Row(
            session_id=session_id,
            kind=kind,
            project_path=project_path,
            task_slug=task_slug,
            parent=parent,
            opened_at=opened_at,
            open=bool(is_open),
        )
        for session_id, kind, project_path, task_slug, parent, opened_at, is_open in found
    ]


def _draft_opened(db: sqlite3.Connection, event: Event, data: ev.DraftOpened) -> None:
    _put(db, event, "draft", data.task_slug, "", "", is_open=True)


def _agent_dispatched(db: sqlite3.Connection, event: Event, data: ev.AgentDispatched) -> None:
    # It is open once it has been told what to do.
    call = f"{data.parent_turn_id}/{data.parent_call_id}" if data.parent_call_id else ""
    _put(db, event, "worker", data.task_slug, data.parent_session_id, call, is_open=False)


def _put(
    db: sqlite3.Connection, event: Event, kind: AgentKind, task_slug: str, parent: str, call: str, *, is_open: bool
) -> None:
    db.execute(
        "INSERT OR REPLACE INTO pool SELECT id, ?, project_path, ?, ?, ?, ?, ? FROM sessions WHERE id=?",
        (kind, task_slug, parent, call, to_millis(event.ts), is_open, event.session_id),
    )


def _draft_closed(db: sqlite3.Connection, event: Event, data: ev.DraftClosed) -> None:
    db.execute("UPDATE pool SET open=0 WHERE session_id=? AND kind='draft'", (event.session_id,))


def worker_runs(db: sqlite3.Connection, session_id: str, *, is_open: bool) -> None:
    """A turn of a session began or ended; only a worker's is of interest."""
    db.execute("UPDATE pool SET open=? WHERE session_id=? AND kind='worker'", (is_open, session_id))


# Each writer takes the data type it is listed under, which the table's type cannot say.
WRITERS: Mapping[str, Callable[[sqlite3.Connection, Event, Any], None]] = {
    "draft_opened": _draft_opened,
    "draft_closed": _draft_closed,
    "agent_dispatched": _agent_dispatched,
}
