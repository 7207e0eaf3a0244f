"""Logs as landed versions left them: each is opened, brought up whole or not at all, and says what it said.

`scripts/golden-log COMMIT` adds one.
"""

from __future__ import annotations

import gzip
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from agi.errors import StorageError
from agi.eventlog.repair import rebuild_database
from agi.eventlog.schema import STEPS, prepare
from agi.eventlog.verify import LogFiles
from agi.protocol import events as ev
from agi.protocol.events import parse_envelope
from agi.protocol.messages import Message
from agi.views import pool, queries
from agi.views.comparing import differing
from agi.views.tables import Tables, anchor

GOLDEN = Path(__file__).parent / "golden" / "logs"
VERSIONS = sorted(path.name for path in GOLDEN.iterdir())
WITH_HASHES = "45eac01"
SAID = "SELECT session_id, seq, ts, turn_id, type, data FROM events ORDER BY session_id, seq"
VIEWS = {
    "sessions": "id, title, agent, project_path, created_at, updated_at, status, live, listed, last_seq",
    "messages": "id, session_id, role, status, created_at, turn_id, position, dropped",
    "message_parts": 'id, message_id, "index", type, content',
    "turns": "id, session_id, message_id, status, retry_of, asked, outcome, ended_at",
    "usage": "*",
    "pool": "*",
}

Unpack = Callable[[str], Path]


@pytest.fixture
def unpack(folder: Path) -> Unpack:
    """Puts a data folder there as a version left it; gives the database."""

    def put(version: str) -> Path:
        shutil.copytree(GOLDEN / version / "sessions", folder / "sessions")
        path = folder / "agi.sqlite"
        path.write_bytes(gzip.decompress((GOLDEN / version / "agi.sqlite.gz").read_bytes()))
        return path

    return put


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


def shape(path: Path) -> list[tuple[object, ...]]:
    return rows(path, "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name")


def views(path: Path) -> dict[str, list[tuple[object, ...]]]:
    found = {name: sorted(rows(path, f"SELECT {columns} FROM {name}"), key=repr) for name, columns in VIEWS.items()}
    infos = rows(path, "SELECT info FROM messages ORDER BY id")  # by what they say: older ones say less of what is 0
    return found | {"infos": [(msgspec.json.decode(str(info), type=Message),) for (info,) in infos]}


@pytest.mark.threat("T55")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_log_of_every_landed_version_opens_and_says_what_it_said(unpack, logs, version):
    """Not a byte of any event is another, the chain holds in both tellings, and the session goes on."""
    path = unpack(version)
    said = rows(path, SAID)
    sessions = sorted({str(row[0]) for row in said})

    log = logs.open()
    now = [(e.session_id, e.seq, e.ts, e.turn_id, e.type, e.raw.decode()) for s in sessions for e in log.read(s)]
    states = [queries.session_state(log.db, session_id) for session_id in sessions]
    for session_id in sessions:
        await log.append(session_id, [(None, ev.Notice(code="note", message="still here"))])
    await logs.close()

    assert now == said
    assert [state.last_seq for state in states] == [sum(row[0] == one for row in said) for one in sessions]
    files = LogFiles(log.folder, path)
    assert all(files.check(one, anchor, comparing=differing).intact for one in sessions)


@pytest.mark.threat("T55")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_older_database_gets_the_shape_of_a_new_one(unpack, tmp_path, version):
    """There is one shape: no query meets a column or an index that only fresh files have."""
    path, fresh = unpack(version), tmp_path / "fresh" / "agi.sqlite"

    for one in (path, fresh):
        prepare(one, (*STEPS, *Tables.steps))

    assert shape(path) == shape(fresh)
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows(path, "PRAGMA foreign_key_check") == []


@pytest.mark.threat("T55")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_older_database_that_is_lost_is_made_again_from_its_mirrors(unpack, folder, version):
    """The mirrors of that version are enough: the same events, and the same in every table."""
    path = unpack(version)
    said = rows(path, SAID)
    prepare(path, (*STEPS, *Tables.steps))
    brought_up = views(path)
    path.unlink()

    report = rebuild_database(folder, path, Tables())

    assert (report.events, report.lost, report.set_aside) == (len(said), 0, [])
    assert views(path) == brought_up


@pytest.mark.threat("T55")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_older_database_is_brought_up_whole_or_not_at_all(unpack, version):
    """When the last of all steps fails, the file is what it was: the older version still opens it."""
    path = unpack(version)
    before = ("PRAGMA user_version", SAID, "SELECT name, sql FROM sqlite_master ORDER BY name")
    found = [rows(path, query) for query in before]

    def fail(db: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("no more room")

    with pytest.raises(StorageError):
        prepare(path, (*STEPS, *Tables.steps, fail))

    assert [rows(path, query) for query in before] == found


@pytest.mark.threat("T55")
def test_workers_of_before_they_could_have_workers_are_still_there(unpack):
    """Its table once got columns without a step: files from before have them now, and all of their rows."""
    path = unpack("706e931")
    first, second = sorted({str(row[0]) for row in rows(path, SAID)})
    with closing(sqlite3.connect(path)) as db, db:
        row = (second, "worker", "/home/reader/book", "", first, "turn_1/call_1", 5, 1)
        db.execute("INSERT INTO pool VALUES (?,?,?,?,?,?,?,?)", row)

    prepare(path, (*STEPS, *Tables.steps))

    with closing(sqlite3.connect(path)) as db:
        (worker,) = pool.open_rows(db)
        assert (worker.session_id, worker.parent, worker.root, worker.depth) == (second, first, "", 0)
        assert [one.session_id for one in pool.children_of_turn(db, first, "turn_1")] == [second]


@pytest.mark.threat("T55")
def test_an_older_log_is_looked_through_as_it_is(unpack, folder):
    """Looking brings nothing up: a file that no newer agi has opened is read in its own shape."""
    path = unpack(WITH_HASHES)
    sessions = sorted({str(row[0]) for row in rows(path, SAID)})
    found = path.read_bytes()

    looked = [LogFiles(folder, path).check(one, anchor, comparing=differing) for one in sessions]

    assert [(one.intact, one.late) for one in looked] == [(True, ())] * len(sessions)
    assert path.read_bytes() == found


@pytest.mark.parametrize("version", VERSIONS)
def test_golden_logs_name_no_place_but_their_own(version):
    """They were made where a reader's book is, and are small."""
    kept = gzip.decompress((GOLDEN / version / "agi.sqlite.gz").read_bytes())
    files = [path for path in (GOLDEN / version).rglob("*") if path.is_file()]

    assert sum(path.stat().st_size for path in files) < 200_000
    assert b"/tmp/" not in kept
    for mirror in (GOLDEN / version).rglob("events.ndjson"):
        first = parse_envelope(mirror.read_bytes().split(b"\n")[0]).data
        assert isinstance(first, ev.SessionCreated)
        assert first.workspace_path == "/home/reader/book"
