"""A database that was named is a log of ours, or is left alone."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agi.errors import AgiError
from agi.eventlog.elsewhere import refuse_other
from agi.eventlog.schema import STEPS, prepare, prepared


def refusal(database: Path, folder: Path) -> AgiError | None:
    """What is said against it; whatever it is, nothing changes."""
    before = sorted((path, path.lstat().st_mtime_ns) for path in database.parent.glob("*"))
    try:
        refuse_other(database, folder)
    except AgiError as error:
        return error
    finally:
        assert sorted((path, path.lstat().st_mtime_ns) for path in database.parent.glob("*")) == before
    return None


@pytest.fixture
def usual(tmp_path: Path) -> Path:
    (tmp_path / ".agi").mkdir()
    return tmp_path / ".agi"


def test_a_file_that_is_no_database_is_refused(tmp_path: Path, usual: Path) -> None:
    """Somebody's notes are no damaged log."""
    notes = tmp_path / "notes.md"
    notes.write_text("# Notes\n")

    error = refusal(notes, usual)

    assert error is not None
    assert (error.code, error.message) == ("database_not_ours", f"{notes} is not a database.")


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_database_of_another_program_is_refused(tmp_path: Path, usual: Path, mode: str) -> None:
    """Its tables say whose it is, also where they are not in the file yet; and no table of ours joins them."""
    path = tmp_path / "places #1?.sqlite"
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA journal_mode={mode}")
    db.execute("CREATE TABLE places (url TEXT)")
    db.commit()

    error = refusal(path, usual)
    db.close()

    assert error is not None
    assert (error.code, error.message) == ("database_not_ours", f"{path} is a database that agi did not make.")
    assert refusal(path, usual) is not None


def test_a_link_to_a_database_of_another_program_is_looked_through(tmp_path: Path, usual: Path) -> None:
    """Its journal lies beside the file, not beside the link, and may hold all there is."""
    path, link = tmp_path / "places.sqlite", tmp_path / "link.sqlite"
    link.symlink_to(path)
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE places (url TEXT)")
    db.commit()

    error = refusal(link, usual)
    db.close()

    assert error is not None
    assert error.message == f"{link} is a database that agi did not make."


def test_a_link_that_leads_to_nothing_is_refused(tmp_path: Path, usual: Path) -> None:
    """A database is not made wherever somebody's link leads."""
    link = tmp_path / "link.sqlite"
    link.symlink_to(tmp_path / "gone.sqlite")

    error = refusal(link, usual)

    assert error is not None
    assert error.message == f"{link} is a link that leads to nothing."


def test_tables_by_the_names_of_ours_make_no_log(tmp_path: Path, usual: Path) -> None:
    """Other programs have events, too; their columns are others."""
    path = tmp_path / "calendar.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE events (id INTEGER PRIMARY KEY, starts TEXT, title TEXT)")
        db.execute("CREATE TABLE meta (key TEXT, value TEXT)")
        db.execute("CREATE TABLE leases (id INTEGER, flat TEXT)")

    error = refusal(path, usual)

    assert error is not None
    assert error.message == f"{path} is a database that agi did not make."


def test_a_database_that_cannot_be_read_is_nobodys_damaged_log(tmp_path: Path, usual: Path) -> None:
    """One of a newer SQLite, say, or a damaged one: in a place that was named, nothing is made in its stead."""
    newer, damaged = tmp_path / "newer.sqlite", tmp_path / "damaged.sqlite"
    with closing(sqlite3.connect(newer)) as db:
        db.execute("CREATE TABLE notes (text TEXT)")
        db.execute("PRAGMA writable_schema=ON")
        db.execute("UPDATE sqlite_master SET sql='CREATE TABLE notes (text TEXT) FROM THE FUTURE'")
        db.commit()
    prepare(damaged, STEPS)
    bytes_ = damaged.read_bytes()
    damaged.write_bytes(bytes_[:100] + os.urandom(len(bytes_) - 100))

    for path in (newer, damaged):
        error = refusal(path, usual)

        assert error is not None
        assert error.message == f"{path} is a database that cannot be read, so nobody can tell whose it is."
        assert "move it away" in error.hint


def test_a_database_that_was_left_in_the_middle_is_looked_at_without_a_trace(tmp_path: Path, usual: Path) -> None:
    """What a killed program had written stands in its journal only: that tells whose it is, and stays as it is."""
    living, left = tmp_path / "living.sqlite", tmp_path / "left.sqlite"
    db = sqlite3.connect(living)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE places (url TEXT)")
    db.commit()
    for ending in ("", "-wal"):
        shutil.copy(f"{living}{ending}", f"{left}{ending}")
    db.close()

    error = refusal(left, usual)

    assert error is not None
    assert "agi did not make" in error.message


def test_a_log_of_ours_that_was_left_in_the_middle_is_taken(tmp_path: Path, usual: Path) -> None:
    """Its tables may all be in the journal still."""
    living, left = tmp_path / "living.sqlite", tmp_path / "left.sqlite"
    db = prepared(living, STEPS)
    for ending in ("", "-wal"):
        shutil.copy(f"{living}{ending}", f"{left}{ending}")
    db.close()

    assert left.with_name("left.sqlite-wal").stat().st_size
    assert refusal(left, usual) is None


def test_a_journal_that_its_owner_removes_meanwhile_is_none(
    tmp_path: Path, usual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever closes a database last takes its journal away, whether somebody looks at that moment or not."""
    path = tmp_path / "other.sqlite"
    prepare(path, STEPS)
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda self: self.name.endswith("-wal") or exists(self))

    refuse_other(path, usual)


@pytest.mark.parametrize("mark", ["user_version", "application_id"])
def test_a_database_that_is_marked_and_holds_nothing_yet_is_refused(tmp_path: Path, usual: Path, mark: str) -> None:
    """Some program made it and has put nothing into it so far; one that nobody marked is as good as none."""
    marked, blank = tmp_path / "marked.sqlite", tmp_path / "blank.sqlite"
    for path, number in ((marked, 7), (blank, 0)):
        db = sqlite3.connect(path)
        db.execute("VACUUM")
        db.execute(f"PRAGMA {mark}={number}")
        db.close()

    error = refusal(marked, usual)

    assert error is not None
    assert "agi did not make" in error.message
    assert refusal(blank, usual) is None


def test_a_log_of_ours_is_taken(tmp_path: Path, usual: Path) -> None:
    """As are one whose rows are damaged, an empty file, and none."""
    whole, damaged, empty = (tmp_path / name for name in ("a.sqlite", "b.sqlite", "c.sqlite"))
    prepare(whole, STEPS)
    bytes_ = whole.read_bytes()
    damaged.write_bytes(bytes_[:-4096] + os.urandom(4096))
    empty.touch()

    assert [refusal(path, usual) for path in (whole, damaged, empty, tmp_path / "none.sqlite")] == [None] * 4


def test_in_the_usual_place_anything_is_a_damaged_log(usual: Path) -> None:
    """That it is made again from its mirrors is the promise there."""
    (usual / "agi.sqlite").write_text("damage")

    assert refusal(usual / "agi.sqlite", usual) is None
    assert refusal(usual / ".." / ".agi" / "agi.sqlite", usual) is None


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path, usual: Path) -> None:
    """It is a slip of the keyboard more often than a wish."""
    error = refusal(tmp_path / "nope" / "x.sqlite", usual)

    assert error is not None
    assert "There is no folder" in error.message
    assert error.hint
    assert not (tmp_path / "nope").exists()


def test_what_is_no_file_is_refused(tmp_path: Path, usual: Path) -> None:
    """A folder, a pipe."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()

    for name in ("pipe", "folder"):
        assert "is not a regular file" in str(refusal(tmp_path / name, usual))
