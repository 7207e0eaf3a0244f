"""The full-text index: one more view of the log, which follows it at its own pace and never runs ahead.

`meta` says up to which event it has come; that and the rows are written together, so a kill loses nothing and repeats
nothing. It holds words, not texts: these are read again from their events. It makes itself when it is first needed, and
makes itself anew when `VERSION` changes, so neither opening an old database nor rebuilding a lost one waits for it.
On the writer's thread. May import: errors, protocol, eventlog, views.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

from agi.errors import Unavailable
from agi.eventlog.rows import SELECT, from_row
from agi.protocol.times import to_millis
from agi.views.entries import INDEXED, MOST_ENTRIES, Entry, entries_of
from agi.views.terms import index_text

VERSION = "3"
"""Of what `entries_of` and `index_text` make of events: words are taken out by being made again, exactly."""
WINDOW = 250
"""How many events are looked at between two looks at the clock."""

_TYPES = ", ".join(f"'{kind}'" for kind in INDEXED)
_WINDOW = f"{SELECT} WHERE id>? AND id<=? AND type IN ({_TYPES}) ORDER BY id"
_MADE = (
    "CREATE TABLE search_entries (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, turn_id TEXT, at INTEGER NOT NULL,"
    " kind TEXT NOT NULL, role TEXT, tool TEXT NOT NULL)",
    "CREATE INDEX search_entries_session_id ON search_entries (session_id)",
    "CREATE TABLE search_files (path TEXT NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (path, entry)) WITHOUT ROWID",
    "CREATE INDEX search_files_entry ON search_files (entry)",
    "CREATE VIRTUAL TABLE search_words USING fts5 (words, content='', tokenize=\"unicode61 remove_diacritics 2\")",
)
_REMOVED = tuple(f"DROP TABLE IF EXISTS {name}" for name in ("search_words", "search_files", "search_entries"))


def is_made(db: sqlite3.Connection) -> bool:
    """Whether there is an index of this version, however far it has come."""
    return _meta(db, "search_version") == VERSION


def behind(db: sqlite3.Connection) -> int:
    """About how many events the index has not come to."""
    through = int(_meta(db, "search_through") or 0) if is_made(db) else 0
    return _newest(db) - through


def advance(db: sqlite3.Connection, is_over: Callable[[], bool]) -> int:
    """Index what has not been, until there is no more or `is_over` says so; gives how much is left."""
    if not is_made(db):
        _make(db)
    through, newest = int(_meta(db, "search_through") or 0), _newest(db)
    begun, listed = through, dict[str, bool]()
    while through < newest:
        end = min(through + WINDOW, newest)
        for row in db.execute(_WINDOW, (through, end)).fetchall():
            event = from_row(row)
            if _is_listed(db, event.session_id, listed):
                if event.type == "message_edited":
                    _take_out_said(db, event.session_id, event.turn_id)
                _put(db, row[0], event.session_id, event.turn_id, to_millis(event.ts), entries_of(event))
        through = end
        if is_over():
            break
    if through != begun:
        _set_meta(db, "search_through", str(through))
    return newest - through


def forget(db: sqlite3.Connection, session_id: str) -> None:
    """Take every word of a session out; while its events are still there."""
    if _meta(db, "search_version") is None:
        return
    if not is_made(db):
        _remove_all(db)
        return
    rows = db.execute("SELECT id FROM search_entries WHERE session_id=?", (session_id,)).fetchall()
    _take_out(db, (row[0] for row in rows))


def entry_at(db: sqlite3.Connection, entry_id: int) -> tuple[Entry, str, int, str] | None:
    """An entry as its event has it, with that event's session, number and time."""
    row = db.execute(f"{SELECT} WHERE id=?", (entry_id // MOST_ENTRIES,)).fetchone()
    if row is None:
        return None
    event = from_row(row)
    found = entries_of(event)
    number = entry_id % MOST_ENTRIES
    return (found[number], event.session_id, event.seq, event.ts) if number < len(found) else None


def _put(
    db: sqlite3.Connection, event_id: int, session_id: str, turn_id: str | None, at: int, found: list[Entry]
) -> None:
    for number, entry in enumerate(found):
        if entry.kind == "title":
            old = "SELECT id FROM search_entries WHERE session_id=? AND kind='title'"
            _take_out(db, [row[0] for row in db.execute(old, (session_id,)).fetchall()])
        entry_id = event_id * MOST_ENTRIES + number
        db.execute(
            "INSERT INTO search_entries VALUES (?,?,?,?,?,?,?)",
            (entry_id, session_id, turn_id, at, entry.kind, entry.role, entry.tool),
        )
        db.execute("INSERT INTO search_words (rowid, words) VALUES (?,?)", (entry_id, index_text(entry.text)))
        db.executemany("INSERT INTO search_files VALUES (?,?)", [(path, entry_id) for path in entry.paths])


def _take_out_said(db: sqlite3.Connection, session_id: str, turn_id: str | None) -> None:
    """Take out what a message said that waits for its turn, of which nothing else is there yet."""
    said = "SELECT id FROM search_entries WHERE session_id=? AND turn_id=? AND kind='message' AND role='user'"
    _take_out(db, [row[0] for row in db.execute(said, (session_id, turn_id)).fetchall()])


def _take_out(db: sqlite3.Connection, entry_ids: Iterable[int]) -> None:
    for entry_id in entry_ids:
        if (found := entry_at(db, entry_id)) is not None:
            words = index_text(found[0].text)
            db.execute(
                "INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', ?, ?)", (entry_id, words)
            )
        db.execute("DELETE FROM search_files WHERE entry=?", (entry_id,))
        db.execute("DELETE FROM search_entries WHERE id=?", (entry_id,))


def _is_listed(db: sqlite3.Connection, session_id: str, known: dict[str, bool]) -> bool:
    """Whether a session is one that people find in their list; a one-shot's is not."""
    if session_id not in known:
        row = db.execute("SELECT listed FROM sessions WHERE id=?", (session_id,)).fetchone()
        known[session_id] = row is not None and bool(row[0])
    return known[session_id]


def _make(db: sqlite3.Connection) -> None:
    _remove_all(db)
    try:
        for statement in _MADE:
            db.execute(statement)
    except sqlite3.OperationalError as error:
        if "fts5" not in str(error):
            raise
        raise Unavailable(
            "The SQLite of this Python has no full-text search (FTS5).",
            code="search_unavailable",
            hint="Use a Python whose SQLite has it; everything else works.",
        ) from error
    _set_meta(db, "search_version", VERSION)
    _set_meta(db, "search_through", "0")


def _remove_all(db: sqlite3.Connection) -> None:
    for statement in _REMOVED:
        db.execute(statement)
    db.execute("DELETE FROM meta WHERE key IN ('search_version', 'search_through')")


def _newest(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0])


def _meta(db: sqlite3.Connection, key: str) -> str | None:
    row = db.execute("SELECT value FROM meta WHERE key=?", (key,)).fetchone()
    return row[0] if row else None


def _set_meta(db: sqlite3.Connection, key: str, value: str) -> None:
    db.execute("INSERT INTO meta VALUES (?,?) ON CONFLICT (key) DO UPDATE SET value=excluded.value", (key, value))
