"""Events as rows of the `events` table, and back. May import: protocol."""

from __future__ import annotations

import sqlite3

from agi.protocol.events import Event

Row = tuple[int, int, str, str, str | None, str, str, str]

SELECT = "SELECT id, seq, ts, session_id, turn_id, type, data, hash FROM events"
"""What `from_row` reads; a WHERE may follow."""


def insert(db: sqlite3.Connection, event: Event) -> int:
    """Put one numbered event into the table; returns its place among all events."""
    row = db.execute(
        "INSERT INTO events (session_id, seq, ts, turn_id, type, data, hash) VALUES (?,?,?,?,?,CAST(? AS TEXT),?)",
        (event.session_id, event.seq, event.ts, event.turn_id, event.type, event.raw, event.hash),
    )
    return row.lastrowid or 0


def from_row(row: Row) -> Event:
    """The event a row holds."""
    _, seq, ts, session_id, turn_id, kind, data, link = row
    return Event(seq, ts, session_id, turn_id, kind, data.encode(), link)


def read_page(db: sqlite3.Connection, session_id: str, after: int, limit: int) -> list[Event]:
    """A page of one session's events, in order."""
    rows = db.execute(f"{SELECT} WHERE session_id=? AND seq>? ORDER BY seq LIMIT ?", (session_id, after, limit))
    return [from_row(row) for row in rows]
