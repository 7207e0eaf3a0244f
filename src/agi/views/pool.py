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
    root: str = ""
    """The session at the top of those it works for; empty if a person started it."""
    depth: int = 0


_COLUMNS = "SELECT session_id, kind, project_path, task_slug, parent, opened_at, open, root, depth FROM pool"


def step(db: sqlite3.Connection) -> None:
    """Make the table."""
    db.execute(
        "CREATE TABLE pool (session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE, kind TEXT NOT NULL,"
        " project_path TEXT NOT NULL, task_slug TEXT NOT NULL, parent TEXT NOT NULL, call TEXT NOT NULL,"
        " opened_at INTEGER NOT NULL, open INTEGER NOT NULL, root TEXT NOT NULL, root_turn TEXT NOT NULL,"
        " parent_turn TEXT NOT NULL, depth INTEGER NOT NULL)"
    )
    db.execute("CREATE INDEX pool_open ON pool (project_path) WHERE open")
    db.execute("CREATE INDEX pool_task ON pool (project_path, task_slug)")
    db.execute("CREATE INDEX pool_parent ON pool (parent) WHERE parent<>''")
    db.execute("CREATE INDEX pool_root ON pool (root) WHERE root<>''")


def widen(db: sqlite3.Connection) -> None:
    """Tables that were made before workers could have workers lack columns: what they hold is put into one that has."""
    if "root" in [row[1] for row in db.execute("PRAGMA table_info(pool)")]:
        return
    rows = db.execute(
        "SELECT session_id, kind, project_path, task_slug, parent, call, opened_at, open, '', '',"
        " substr(call, 1, max(0, instr(call, '/')-1)), 0 FROM pool"
    ).fetchall()
    db.execute("DROP TABLE pool")
    step(db)
    db.executemany("INSERT INTO pool VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", rows)


def open_rows(db: sqlite3.Connection) -> list[Row]:
    """Those that are alive, the oldest first."""
    return _rows(db.execute(f"{_COLUMNS} WHERE open ORDER BY opened_at, session_id"))


def has_rows(db: sqlite3.Connection) -> bool:
    """Whether there ever was a draft or a worker here."""
    return db.execute("SELECT 1 FROM pool LIMIT 1").fetchone() is not None


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


def below(db: sqlite3.Connection, root: str) -> list[Row]:
    """Every worker that works for a root, however deep, the oldest first."""
    return _rows(db.execute(f"{_COLUMNS} WHERE root<>'' AND root=? ORDER BY opened_at, session_id", (root,)))


def children_of_turn(db: sqlite3.Connection, parent: str, turn_id: str) -> list[Row]:
    """The workers that one turn of a session asked for."""
    asked = (parent, turn_id)
    return _rows(db.execute(f"{_COLUMNS} WHERE parent<>'' AND parent=? AND parent_turn=?", asked))


def count_of_turn(db: sqlite3.Connection, root: str, turn_id: str) -> int:
    """How many workers were started for one turn of a root."""
    sql = "SELECT count(*) FROM pool WHERE root<>'' AND root=? AND root_turn=?"
    return int(db.execute(sql, (root, turn_id)).fetchone()[0])


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
            root=root,
            depth=depth,
        )
        for session_id, kind, project_path, task_slug, parent, opened_at, is_open, root, depth in found
    ]


def _draft_opened(db: sqlite3.Connection, event: Event, data: ev.DraftOpened) -> None:
    _put(db, event, "draft", data.task_slug, ("", "", True, "", "", "", 0))


def _agent_dispatched(db: sqlite3.Connection, event: Event, data: ev.AgentDispatched) -> None:
    # One that an agent asked for counts from here on, so that limits hold; a person's once it was told what to do.
    is_open = bool(data.parent_session_id)
    call = f"{data.parent_turn_id}/{data.parent_call_id}" if data.parent_call_id else ""
    above = (data.root_session_id, data.root_turn_id, data.parent_turn_id, data.depth)
    _put(db, event, "worker", data.task_slug, (data.parent_session_id, call, is_open, *above))


def _put(
    db: sqlite3.Connection,
    event: Event,
    kind: AgentKind,
    task_slug: str,
    rest: tuple[str, str, bool, str, str, str, int],
) -> None:
    parent, call, is_open, *above = rest
    db.execute(
        "INSERT OR REPLACE INTO pool SELECT id, ?, project_path, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM sessions WHERE id=?",
        (kind, task_slug, parent, call, to_millis(event.ts), is_open, *above, event.session_id),
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
