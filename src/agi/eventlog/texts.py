"""Texts that many events have in common, kept once: what every request of an agent begins with is the same each time.

An event whose data is such a text points to it and holds nothing itself. Whoever reads through `rows.SELECT` gets the
bytes that were written, which is what the chain of hashes covers; mirrors hold each event whole. A text goes with the
last event that points to it. May import: protocol.
"""

from __future__ import annotations

import sqlite3
from hashlib import sha256

from agi.protocol.events import ContextAssembled

SHARED = ContextAssembled.TYPE
"""The events whose data is the same in many sessions: it names neither the session nor a time."""
LEAST, LONGEST = 256, 262_144
"""How long such data is in bytes; what is shorter is not worth a row, what is longer stays where it is."""
POINTS = "{}"
"""What an event holds that points to a text; no event of that type says this."""


def make(db: sqlite3.Connection) -> None:
    """Make room for the texts, if there is none."""
    if "text_id" in [row[1] for row in db.execute("PRAGMA table_info(events)")]:
        return
    db.execute("CREATE TABLE texts (id INTEGER PRIMARY KEY, digest INTEGER NOT NULL, data TEXT NOT NULL)")
    db.execute("CREATE INDEX texts_digest ON texts (digest)")
    db.execute("ALTER TABLE events ADD COLUMN text_id INTEGER")
    db.execute("CREATE INDEX events_text_id ON events (text_id) WHERE text_id IS NOT NULL")


def share_old(db: sqlite3.Connection) -> None:
    """Have, once, the events of a database point to their texts that held them themselves."""
    make(db)
    held = "SELECT id FROM events WHERE type=? AND length(CAST(data AS BLOB)) BETWEEN ? AND ?"
    found = db.execute(held, (SHARED, LEAST, LONGEST)).fetchall()
    for (event_id,) in found:
        raw = db.execute("SELECT CAST(data AS BLOB) FROM events WHERE id=?", (event_id,)).fetchone()[0]
        db.execute("UPDATE events SET data=?, text_id=? WHERE id=?", (POINTS, _kept(db, raw), event_id))


def keep(db: sqlite3.Connection, kind: str, raw: bytes) -> int | None:
    """The text that an event of this type and data is to point to; None if it holds its data itself."""
    return _kept(db, raw) if kind == SHARED and LEAST <= len(raw) <= LONGEST else None


def of_session(db: sqlite3.Connection, session_id: str) -> list[int]:
    """The texts that a session's events point to."""
    rows = db.execute("SELECT DISTINCT text_id FROM events WHERE session_id=? AND text_id IS NOT NULL", (session_id,))
    return [row[0] for row in rows]


def drop(db: sqlite3.Connection, text_ids: list[int]) -> None:
    """Remove those of the texts to which no event points any more."""
    unused = "DELETE FROM texts WHERE id=? AND NOT EXISTS (SELECT 1 FROM events WHERE text_id=texts.id)"
    db.executemany(unused, [(one,) for one in text_ids])


def _kept(db: sqlite3.Connection, raw: bytes) -> int:
    """Where a text is. Found by content: one that was damaged since is nobody's any more who comes now."""
    digest = int.from_bytes(sha256(raw).digest()[:8], signed=True)
    same = "SELECT id FROM texts WHERE digest=? AND CAST(data AS BLOB)=?"
    row = db.execute(same, (digest, raw)).fetchone()
    if row is not None:
        return int(row[0])
    made = db.execute("INSERT INTO texts (digest, data) VALUES (?, CAST(? AS TEXT))", (digest, raw))
    return made.lastrowid or 0
