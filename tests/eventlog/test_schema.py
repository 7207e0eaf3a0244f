"""The database file: settings every connection has, steps that are taken once, files that are not ours to touch."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import agi
from agi.errors import Damaged, StorageError
from agi.eventlog.schema import BUSY_MS, CACHE_KB, STEPS, connect, prepare, unreadable
from agi.views.tables import Tables

ALL = (*STEPS, *Tables.steps)
SOURCE = str(Path(agi.__file__).parent.parent)


@pytest.fixture
def path(tmp_path):
    return tmp_path / ".agi" / "agi.sqlite"


def pragma(db: sqlite3.Connection, name: str) -> object:
    return db.execute(f"PRAGMA {name}").fetchone()[0]


def test_every_connection_has_the_settings_the_log_relies_on(path):
    """WAL, full sync, foreign keys, a long wait for locks, few pages kept; SQLite's own defaults are none of these."""
    prepare(path, ALL)
    db = connect(path)

    names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "cache_size")
    assert [pragma(db, name) for name in names] == ["wal", 2, 1, BUSY_MS, -CACHE_KB]
    db.close()


@pytest.mark.threat("T17")
def test_the_file_and_its_folder_are_private(path):
    """Nobody else on the machine reads along, whatever the umask says."""
    before = os.umask(0)
    try:
        prepare(path, ALL)
        db = connect(path)
        db.execute("BEGIN IMMEDIATE")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        db.close()
    finally:
        os.umask(before)

    assert set(modes.values()) == {0o600}
    assert "agi.sqlite-wal" in modes
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_steps_are_taken_once(path):
    """A second start changes nothing; an added step is all that runs."""
    taken: list[str] = []
    prepare(path, (*ALL, lambda db: taken.append("three")))
    prepare(path, (*ALL, lambda db: taken.append("three"), lambda db: taken.append("four")))

    assert taken == ["three", "four"]
    db = connect(path)
    assert pragma(db, "user_version") == len(ALL) + 2
    db.close()


@pytest.mark.threat("T55")
def test_a_step_that_fails_leaves_the_file_as_it_was(path):
    """All steps are taken in one transaction."""
    prepare(path, STEPS)

    def fail(db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE half (x)")
        raise sqlite3.IntegrityError("no")

    with pytest.raises(StorageError):
        prepare(path, (*STEPS, fail))

    db = connect(path)
    assert pragma(db, "user_version") == 1
    assert db.execute("SELECT count(*) FROM sqlite_master WHERE name='half'").fetchone()[0] == 0
    db.close()


KILLED = """
import os, signal, sys
from pathlib import Path
from agi.eventlog.schema import STEPS, prepare

def half(db):
    db.execute("CREATE TABLE half (x)")
    db.execute("INSERT INTO half VALUES (zeroblob(1000000))")
    os.kill(os.getpid(), signal.SIGKILL)

prepare(Path(sys.argv[1]), (*STEPS, half))
"""


@pytest.mark.threat("T55")
def test_a_step_that_is_killed_leaves_the_file_as_it_was(path):
    """Old or new, never half: the next start finds what was there before, and can take the step."""
    prepare(path, STEPS)
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], env={"PYTHONPATH": SOURCE}, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr

    db = connect(path)
    assert pragma(db, "user_version") == len(STEPS)
    assert db.execute("SELECT count(*) FROM sqlite_master WHERE name='half'").fetchone()[0] == 0
    assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    db.close()
    prepare(path, (*STEPS, lambda db: db.execute("CREATE TABLE half (x)")))


@pytest.mark.threat("T55")
def test_a_file_of_a_newer_version_is_refused_and_not_touched(path):
    """An old agi does not write into a new database."""
    prepare(path, ALL)
    db = connect(path)
    db.execute("PRAGMA user_version=99")
    db.close()
    before = path.read_bytes()

    with pytest.raises(StorageError) as refused:
        prepare(path, ALL)

    assert refused.value.code == "database_too_new"
    assert refused.value.hint
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be looked at" * 40, os.urandom(8192)])
def test_a_file_that_is_no_database_is_damaged(path, content):
    """It is named as damaged, with the way out, and left as it is."""
    path.parent.mkdir()
    path.write_bytes(content)

    with pytest.raises(Damaged) as refused:
        prepare(path, ALL)

    assert "agi repair" in refused.value.hint
    assert path.read_bytes() == content


def test_damage_that_sqlite_has_no_words_for_is_damage(path):
    """What it says about a damaged table quotes the damage, which need not be text."""
    prepare(path, ALL)
    content = path.read_bytes()
    assert content.count(b"CREATE TABLE leases") == 1
    path.write_bytes(content.replace(b"CREATE TABLE leases", b"CREATE T\xd0BLE leases"))

    for reading in (connect, lambda path: prepare(path, ALL)):
        with pytest.raises(Damaged):
            reading(path)


@pytest.mark.parametrize(
    ("error", "is_damage"),
    [
        (sqlite3.DatabaseError("file is not a database"), True),
        (sqlite3.DatabaseError("database disk image is malformed"), True),
        (sqlite3.OperationalError("malformed database schema (events)"), True),
        (sqlite3.DatabaseError("file is encrypted or is not a database"), True),
        (sqlite3.OperationalError("unsupported file format"), True),
        (sqlite3.OperationalError("Could not decode to UTF-8 column 'data' with text 'my own'"), True),
        (sqlite3.OperationalError("database is locked"), False),
        (sqlite3.OperationalError("disk I/O error"), False),
        (sqlite3.OperationalError("unable to open database file"), False),
        (sqlite3.OperationalError("attempt to write a readonly database"), False),
        (sqlite3.IntegrityError("UNIQUE constraint failed"), False),
    ],
    ids=str,
)
def test_only_what_is_not_what_was_written_is_damage(path, error, is_damage):
    """A good database that is out of reach at the moment is not to be replaced."""
    explained = unreadable(path, error)

    assert isinstance(explained, Damaged) == is_damage
    assert explained.hint


def test_a_rotted_text_is_not_quoted_and_only_the_mirrors_help(path):
    """The pages are whole, so `agi repair` by itself would find nothing to rebuild; and what rotted is private."""
    explained = unreadable(path, sqlite3.OperationalError("Could not decode to UTF-8 column 'data' with text 'my own'"))

    assert "agi repair --from-mirrors" in explained.hint
    assert "my own" not in explained.message


def test_what_cannot_be_opened_is_a_storage_error(tmp_path):
    """A folder in its place, a file where the folder should be, a link to nowhere: our error, not Python's."""
    (tmp_path / "folder.sqlite").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "elsewhere.sqlite")

    for path in (tmp_path / "folder.sqlite", tmp_path / "file" / "agi.sqlite", tmp_path / "link.sqlite"):
        with pytest.raises(StorageError) as refused:
            prepare(path, ALL)
        assert refused.value.hint
    assert not (tmp_path / "elsewhere.sqlite").exists()


def test_many_starts_at_once_make_one_database(tmp_path):
    """Processes that start together on an empty folder neither collide nor meet a lock."""
    failures: list[Exception] = []

    def start(path, barrier: threading.Barrier) -> None:
        barrier.wait()
        try:
            prepare(path, ALL)
        except Exception as error:
            failures.append(error)

    for n in range(12):
        barrier = threading.Barrier(8)
        threads = [threading.Thread(target=start, args=(tmp_path / str(n) / "x.sqlite", barrier)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert failures == []


def test_ids_are_never_used_again(path):
    """Whoever has seen the newest id knows that a later event has a higher one, also after a deletion."""
    prepare(path, STEPS)
    db = connect(path)
    insert = "INSERT INTO events (session_id, seq, ts, type, data) VALUES ('s', ?, 't', 'x', '{}')"
    db.execute(insert, (1,))
    db.execute("DELETE FROM events")

    assert db.execute(insert, (1,)).lastrowid == 2
    with pytest.raises(sqlite3.IntegrityError):
        db.execute(insert, (1,))
    db.close()
