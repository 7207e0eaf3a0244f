"""Do the tables say of a session what its events say? Found by making them again, beside, and looking at both.

What older versions of agi did not fold into a session's `state` yet is no difference: rows that they wrote are right as
they are. May import: errors, protocol, eventlog, views.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from hashlib import sha256
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import UNSET, structs

from agi.errors import Damaged
from agi.eventlog.chain import broken_at
from agi.eventlog.rows import read_whole
from agi.eventlog.schema import NEVER, STEPS, UNREADABLE, connect, shapeless
from agi.protocol.events import Event
from agi.protocol.messages import Message
from agi.protocol.reading import reader
from agi.views.rows import as_written
from agi.views.state import SessionState
from agi.views.tables import Tables, anchor, read_state

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
LATE = ("begun_turn_id", "context_tokens", "context")
"""What is in a `state` since some version only; the logs of landed versions show which fields these are."""
PAGE = 500
_encode = msgspec.json.Encoder(order="sorted").encode
_decode_info: Callable[[str], Message] = reader(Message)
_NO_ROWID = ("usage",)
_PARTS = "SELECT p.id FROM message_parts p JOIN messages m ON m.id=p.message_id WHERE m.session_id=?"
_WHOSE = {
    "sessions": "id=?",
    "message_parts": "message_id IN (SELECT id FROM messages WHERE session_id=?)",
    "artifacts": f"message_part_id IN ({_PARTS})",
}


def differing(db: sqlite3.Connection, session_id: str, events: Iterable[Event]) -> tuple[str, ...]:
    """The tables whose rows of a session are not what its events, which are all there and in order, make of them.

    Nothing is said of a database that an older or newer version left, nor of events that make nothing, as where
    somebody else chained what no version writes. Raises Damaged for a database of another shape than it says.
    """
    steps = (*STEPS, *Tables.steps)
    shape = db.execute("PRAGMA user_version").fetchone()[0]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        for step in steps:
            step(made)
        if shape != len(steps):
            if not 0 <= shape < NEVER or (shape < len(steps) and _has_shape(db, made)):
                raise shapeless(Path("The database"))
            return ()
        made.execute("CREATE INDEX made_turns ON turns (session_id, status)")  # each end of a turn looks for others
        tables, rest = Tables(), iter(events)
        while page := list(islice(rest, PAGE)):
            try:
                tables.apply(made, session_id, page)
            except Exception:  # whatever a record that was tampered with makes of the fold or the tables
                return ()
        return tuple(name for name in COLUMNS if _rows(db, name, session_id) != _rows(made, name, session_id))


def _has_shape(db: sqlite3.Connection, made: sqlite3.Connection) -> bool:
    """Whether all is there that the newest shape has."""
    asked = "SELECT CAST(name AS BLOB) FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
    return set(made.execute(asked)) <= set(db.execute(asked))


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
    known = anchor(db, session_id)
    last = db.execute("SELECT hash FROM events WHERE session_id=? ORDER BY seq DESC LIMIT 1", (session_id,)).fetchone()
    return known is not None and not broken_at(read_whole(db, session_id), known[0]) and last[0] == known[1]


def _rows(db: sqlite3.Connection, table: str, session_id: str) -> list[bytes]:
    """What rows say, by its hash: one whose kind rotted is no text any more, and still has to be read.

    An index says which they are, and each row is asked by itself, or the index would answer for it.
    """
    where = _WHOSE.get(table, "session_id=?")
    if table not in _NO_ROWID:
        where = f"rowid IN (SELECT rowid FROM {table} WHERE {where})"  # noqa: S608 - ours
    names = [name.strip() for name in COLUMNS[table].split(",")]
    columns = ", ".join(f"CAST(typeof({name}) AS BLOB), CAST({name} AS BLOB)" for name in names)
    found = db.execute(f"SELECT {columns} FROM {table} WHERE {where}", (session_id,))  # noqa: S608 - ours
    said = sorted(sha256(repr(row).encode()).digest() for row in found)
    more = {"sessions": _states, "messages": _infos}.get(table)
    return said + more(db, session_id) if more is not None else said


def _states(db: sqlite3.Connection, session_id: str) -> list[bytes]:
    """The rest of a session, by what it says. Raises Damaged."""
    found = db.execute("SELECT CAST(state AS BLOB) FROM sessions WHERE id=?", (session_id,)).fetchall()
    with as_written("a session"):
        states = [read_state(state.decode()) for (state,) in found]  # each byte of it is text
    return [sha256(_encode(dict(_folded(one)))).digest() for one in states]


def _folded(state: SessionState) -> Iterator[tuple[str, object]]:
    """What every version folds."""
    for name, value in structs.asdict(state).items():
        if name not in LATE and value is not UNSET:
            yield name, value


def _infos(db: sqlite3.Connection, session_id: str) -> list[bytes]:
    """The rest of each message, by what it says: an older version says less of what is 0. Raises Damaged."""
    found = db.execute("SELECT CAST(info AS BLOB) FROM messages WHERE session_id=? ORDER BY id", (session_id,))
    with as_written("a message"):
        return [sha256(_encode(_decode_info(info.decode()))).digest() for (info,) in found]
