"""Do the tables say of a session what its events say? Found by making them again, beside, and looking at both.

What only this version of agi folds otherwise (a session's `state`, a message's `info`) is no difference: rows that an
older one wrote are right as they are. May import: errors, protocol, eventlog, views.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from itertools import islice
from pathlib import Path

from agi.errors import Damaged
from agi.eventlog.chain import broken_at
from agi.eventlog.rows import read_whole
from agi.eventlog.schema import STEPS, UNREADABLE, connect
from agi.protocol.events import Event
from agi.views.tables import Tables, anchor

COLUMNS = {
    "sessions": "id, title, agent, project_path, created_at, updated_at, status, live, listed, last_seq",
    "messages": "id, session_id, role, status, created_at, turn_id, position, dropped",
    "message_parts": 'id, message_id, "index", type, content',
    "artifacts": "id, message_part_id, kind, path, mime, size, sha256",
    "turns": "id, session_id, message_id, status, retry_of, asked, outcome, ended_at",
    "attachments": "session_id, ref, filename, mime_type, size, sha256, created_at",
    "usage": "session_id, quarter, provider, model, requests, input, output, cached, cache_write, reasoning,"
    " priced_usd, unpriced",
}
"""What each table says that follows from events alone, whichever version wrote the row."""
PAGE = 500
_NO_ROWID = ("usage",)
_PARTS = "SELECT p.id FROM message_parts p JOIN messages m ON m.id=p.message_id WHERE m.session_id=?"
_WHOSE = {
    "sessions": "id=?",
    "message_parts": "message_id IN (SELECT id FROM messages WHERE session_id=?)",
    "artifacts": f"message_part_id IN ({_PARTS})",
}


def differing(db: sqlite3.Connection, session_id: str, events: Iterable[Event]) -> tuple[str, ...]:
    """The tables whose rows of a session are not what its events, which are all there and in order, make of them.

    Nothing is said of a database that an older version left, which lacks tables until it is opened to be used.
    """
    steps = (*STEPS, *Tables.steps)
    if db.execute("PRAGMA user_version").fetchone()[0] != len(steps):
        return ()
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        for step in steps:
            step(made)
        tables, rest = Tables(), iter(events)
        while page := list(islice(rest, PAGE)):
            tables.apply(made, session_id, page)
        return tuple(name for name in COLUMNS if _rows(db, name, session_id) != _rows(made, name, session_id))


def is_rotted(database: Path) -> bool:
    """Whether the tables say of a session what its events do not, although those are all there and as written.

    What is wrong with events is not looked for here: it is not mended by making the tables again.
    """
    with closing(connect(database)) as db:
        db.execute("BEGIN")
        try:
            sessions = [row[0] for row in db.execute("SELECT DISTINCT session_id FROM events").fetchall()]
            whole = [one for one in sessions if _is_whole(db, one)]
        except (*UNREADABLE, Damaged):
            return False
        try:
            return any(differing(db, one, read_whole(db, one)) for one in whole)
        except (*UNREADABLE, Damaged):  # not even a table is what it was
            return True


def _is_whole(db: sqlite3.Connection, session_id: str) -> bool:
    events = list(read_whole(db, session_id))
    return not broken_at(events) and (events[-1].seq, events[-1].hash) == anchor(db, session_id)


def _rows(db: sqlite3.Connection, table: str, session_id: str) -> list[tuple[bytes, ...]]:
    """Rows as bytes: one whose kind rotted is no text any more, and still has to be read.

    An index says which they are, and each row is asked by itself, or the index would answer for it.
    """
    where = _WHOSE.get(table, "session_id=?")
    if table not in _NO_ROWID:
        where = f"rowid IN (SELECT rowid FROM {table} WHERE {where})"  # noqa: S608 - ours
    names = [name.strip() for name in COLUMNS[table].split(",")]
    columns = ", ".join(f"CAST(typeof({name}) || quote(CAST({name} AS BLOB)) AS BLOB)" for name in names)
    found = db.execute(f"SELECT {columns} FROM {table} WHERE {where}", (session_id,)).fetchall()  # noqa: S608 - ours
    return sorted(found)
