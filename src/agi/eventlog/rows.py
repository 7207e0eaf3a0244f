"""Events as rows of the `events` table, and back. May import: protocol, eventlog.texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from agi.eventlog import texts
from agi.protocol.events import Event

Row = tuple[int, int, str, str, str | None, str, str, str]

NO_TEXT = "malformed row: a text is none"
"""What is said of a row in which the kind of a value rotted: SQLite gives such a value as what it says it is."""
PLAIN = "SELECT id, seq, ts, session_id, turn_id, type, data, hash FROM events"
"""The rows as they stand; all there is in a database that keeps no texts apart yet."""

_PAGE = 500
_WHOLE = "CASE WHEN text_id IS NULL THEN data ELSE coalesce((SELECT t.data FROM texts t WHERE t.id=text_id), data) END"
SELECT = PLAIN.replace("data", _WHOLE)
"""What `from_row` reads; a WHERE may follow. Of an event whose text is lost, what is left is no data of its type."""


def insert(db: sqlite3.Connection, event: Event) -> int:
    """Put one numbered event into the table; returns its place among all events."""
    text_id = texts.keep(db, event.type, event.raw)
    row = db.execute(
        "INSERT INTO events (session_id, seq, ts, turn_id, type, data, hash, text_id)"
        " VALUES (?,?,?,?,?,CAST(? AS TEXT),?,?)",
        (
            event.session_id,
            event.seq,
            event.ts,
            event.turn_id,
            event.type,
            event.raw if text_id is None else texts.POINTS,
            event.hash,
            text_id,
        ),
    )
    return row.lastrowid or 0


def from_row(row: Row) -> Event:
    """The event a row holds; raises DatabaseError where a text in it has become bytes, or nothing."""
    _, seq, ts, session_id, turn_id, kind, data, link = row
    if not (
        type(seq) is int
        and type(ts) is type(session_id) is type(kind) is type(data) is type(link) is str
        and (turn_id is None or type(turn_id) is str)
    ):
        raise sqlite3.DatabaseError(NO_TEXT)
    return Event(seq, ts, session_id, turn_id, kind, data.encode(), link)


def read_whole(db: sqlite3.Connection, session_id: str) -> Iterator[Event]:
    """All of one session's events, in order."""
    last = 0
    while page := read_page(db, session_id, last, _PAGE):
        yield from page
        last = page[-1].seq


def read_page(db: sqlite3.Connection, session_id: str, after: int, limit: int) -> list[Event]:
    """A page of one session's events, in order."""
    rows = db.execute(f"{SELECT} WHERE session_id=? AND seq>? ORDER BY seq LIMIT ?", (session_id, after, limit))
    return [from_row(row) for row in rows]
