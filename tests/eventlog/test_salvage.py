"""A database is read as text: what it holds is taken up, what it would have SQLite do is not done."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agi.eventlog.rows import insert
from agi.eventlog.salvage import read_database, set_aside_lines
from agi.eventlog.schema import STEPS, connect, prepare
from agi.protocol.events import Event, SessionCreated, encode_data
from agi.protocol.ids import SESSION, new_id

TS = "2026-01-01T00:00:00.000Z"
COLUMNS = "id INTEGER PRIMARY KEY, seq, ts, session_id, turn_id, type, data, hash"
ENDLESS = (
    "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id+1 FROM n)"
    " SELECT id, id AS seq, '' AS ts, '' AS session_id, '' AS turn_id, '' AS type, '' AS data, '' AS hash FROM n"
)


def made(path: Path) -> str:
    """A database with one event; gives its session."""
    session_id = new_id(SESSION)
    data = SessionCreated(id=session_id, agent="a", workspace_path="/w", project_path="/w", created_at=TS)
    prepare(path, STEPS)
    with closing(connect(path)) as db:
        insert(db, Event(1, TS, session_id, None, data.TYPE, encode_data(data)))
    return session_id


def test_rows_are_read_from_the_database_and_from_its_journal(tmp_path):
    """What was written last may stand in the journal alone."""
    path = tmp_path / "agi.sqlite"
    session_id = made(path)
    with closing(connect(path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM events").fetchall()
        with closing(connect(path)) as db:
            db.execute(
                "INSERT INTO events (session_id, seq, ts, type, data) VALUES (?,2,?,'later','{}')", (session_id, TS)
            )
        found = read_database(path)

    assert list(found.sessions[session_id]) == [1, 2]
    assert found.is_whole


@pytest.mark.threat("T24")
@pytest.mark.parametrize(
    "planted",
    [
        f"CREATE VIEW events AS {ENDLESS}",
        "CREATE VIEW events AS SELECT * FROM kept",
        "CREATE VIRTUAL TABLE events USING fts5(id, seq, ts, session_id, turn_id, type, data, hash)",
        f"CREATE TABLE events ({COLUMNS}, more AS (hex(zeroblob(1000000))))",
    ],
)
def test_what_is_no_table_is_not_read(tmp_path, planted):
    """A view, a table that is a program, a column that is worked out: each could go on for ever."""
    path = tmp_path / "agi.sqlite"
    made(path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("ALTER TABLE events RENAME TO kept")
        db.execute(planted)

    found = read_database(path, is_needed=True)

    assert not found.sessions
    assert not found.is_whole


@pytest.mark.threat("T24")
def test_a_view_that_is_listed_as_a_table_is_not_read(tmp_path):
    """The list of tables is rows like any others, and may say what it likes."""
    path = tmp_path / "agi.sqlite"
    made(path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("ALTER TABLE events RENAME TO kept")
        db.execute(f"CREATE VIEW events AS {ENDLESS}")
        db.execute("PRAGMA writable_schema=ON")
        db.execute("UPDATE sqlite_master SET type='table', rootpage=2 WHERE name='events'")

    found = read_database(path, is_needed=True)

    assert not found.sessions
    assert not found.is_whole


def test_a_table_whose_pages_go_round_is_read_no_longer_than_it_is_large(tmp_path):
    """Pages may lead to one another without an end; the file is no larger for that."""
    path = tmp_path / "agi.sqlite"
    session_id = made(path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA journal_mode=DELETE")
        insert_many = "INSERT INTO events (session_id, seq, ts, type, data) VALUES (?,?,?,'odd',?)"
        db.executemany(insert_many, [(session_id, n, TS, '"%s"' % ("x" * 900)) for n in range(2, 40)])
        root, size = db.execute("SELECT rootpage, 4096 FROM sqlite_master WHERE name='events'").fetchone()
    whole = bytearray(path.read_bytes())
    start = (root - 1) * size
    assert whole[start] == 5  # a page that leads to others
    leaf = bytes(whole[start + 8 : start + 12])
    ways = 400  # all of them to one and the same
    page = bytearray(b"\x05\0\0" + ways.to_bytes(2, "big") + (size - 6 * ways).to_bytes(2, "big") + b"\0" + leaf)
    page += b"".join((size - 6 * (n + 1)).to_bytes(2, "big") for n in range(ways))
    page += bytes(size - 6 * ways - len(page))
    page += b"".join(leaf + bytes([0x80 | n >> 7, n & 0x7F]) for n in reversed(range(ways)))
    whole[start : start + size] = page
    path.write_bytes(bytes(whole))
    with closing(sqlite3.connect(path)) as db:
        assert len(db.execute("SELECT data FROM events").fetchall()) > ways

    found = read_database(path, is_needed=True)

    assert not found.is_whole
    assert list(found.sessions) == [session_id]


def test_the_same_lines_are_set_aside_once(tmp_path):
    """However often a mirror is read again; other lines get a file of their own."""
    mirror = tmp_path / "events.ndjson"

    first, again, other = (set_aside_lines(mirror, lines) for lines in ([b"odd"], [b"odd"], [b"odder"]))

    assert first == again != other
    assert [path.read_bytes() for path in (first, other)] == [b"odd\n", b"odder\n"]
