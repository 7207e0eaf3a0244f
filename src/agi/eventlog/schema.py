"""The database file: how it is opened, and the numbered steps that gave it its shape.

Steps are applied once, in one transaction, and recorded in `user_version`; a file from a newer version is refused.
May import: errors, eventlog.base, eventlog.chain, eventlog.rows, eventlog.texts.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from agi.errors import Damaged, StorageError
from agi.eventlog import chain, texts
from agi.eventlog.base import Step
from agi.eventlog.rows import NO_TEXT

BUSY_MS = 20_000
NEVER = 1000
"""So many steps no version will have: a number that rotted."""
CACHE_KB = 96
"""Pages each connection keeps; the system has the rest of the file in its memory once, for all of them."""
UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What reading a database may raise; SQLite's own words about a damaged one may not even be text."""
_DAMAGE = ("malformed", "not a database", "file is encrypted", "unsupported file format")
_ROTTED = ("Could not decode to UTF-8", NO_TEXT)
FROM_MIRRORS = "Stop agi and run `agi repair --from-mirrors`."
"""What helps wherever the database is damaged: `agi repair` by itself looks at its pages only."""


def _events(db: sqlite3.Connection) -> None:
    db.execute(
        "CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, seq INTEGER NOT NULL,"
        " ts TEXT NOT NULL, turn_id TEXT, type TEXT NOT NULL, data TEXT NOT NULL, UNIQUE (session_id, seq))"
    )  # AUTOINCREMENT: an id is never used again, so whoever has seen id n knows all up to n
    db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
    db.execute("INSERT INTO meta VALUES ('epoch', '1'), ('deletions', '0')")
    db.execute(
        "CREATE TABLE leases (session_id TEXT PRIMARY KEY, owner TEXT NOT NULL, generation INTEGER NOT NULL,"
        " expires_at INTEGER NOT NULL)"
    )
    chain.add_column(db)  # files that took this step before there were hashes get them by a projection's step,
    texts.make(db)  # and likewise room for texts that are kept once


STEPS: tuple[Step, ...] = (_events,)
"""The log's own steps; a projection's follow them."""


def connect(path: Path, *, any_thread: bool = False) -> sqlite3.Connection:
    """Open the file with the settings the log relies on; every connection goes through here."""
    refuse_no_file(path)
    try:
        db = sqlite3.connect(
            path,
            timeout=BUSY_MS / 1000,
            isolation_level=None,
            cached_statements=256,
            check_same_thread=not any_thread,
        )
    except UNREADABLE as error:
        raise unreadable(path, error) from error
    try:
        if not path.stat().st_size:  # a new file; one that is there would be written to
            db.execute("PRAGMA auto_vacuum=INCREMENTAL")  # what is freed can be given back to the disk step by step
        _use_wal(db)
        db.execute("PRAGMA synchronous=FULL")
        db.execute("PRAGMA foreign_keys=ON")
        db.execute(f"PRAGMA cache_size=-{CACHE_KB}")
        db.execute("PRAGMA wal_autocheckpoint=4000")
    except UNREADABLE as error:
        db.close()
        raise unreadable(path, error) from error
    return db


def look_through(db: sqlite3.Connection) -> str:
    """What is wrong with the pages of a database, or between its indexes and its rows; empty if nothing is."""
    rows = db.execute("PRAGMA integrity_check(10)").fetchall()
    said = [bytes(row[0]).decode(errors="replace") if isinstance(row[0], bytes) else str(row[0]) for row in rows]
    # A connection that only reads cannot look into an index of words.
    found = [one for one in said if one != "ok" and "inverted index" not in one]
    return found[0] if found else ""


def refuse_no_file(path: Path) -> None:
    """See that what stands there can be a database: SQLite calls a folder a bad disk, and waits at a pipe."""
    if path.is_file() or not path.exists():
        return
    what = "a folder, not a database" if path.is_dir() else "not a regular file, and no database"
    hint = "Move it away; `agi repair` makes the database again from the mirrors."
    raise StorageError(f"{path} is {what}.", hint=hint)


def _use_wal(db: sqlite3.Connection) -> None:
    """Switch the journal; of all statements this one does not wait while others do the same, so we do."""
    give_up = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            time.sleep(0.005)


def prepare(path: Path, steps: Sequence[Step]) -> None:
    """Make the file if it is missing (0600) and bring it to the newest shape."""
    prepared(path, steps).close()


def prepared(path: Path, steps: Sequence[Step]) -> sqlite3.Connection:
    """The same, and open it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    except OSError as error:
        text = f"{path} cannot be made: {error.strerror}."
        raise StorageError(text, hint="Check that the folder is writable and holds no link of that name.") from error
    db = connect(path)
    try:
        if _version(db) != len(steps):
            _take_steps(db, path, steps)
    except BaseException as error:
        db.close()
        if isinstance(error, UNREADABLE):
            raise unreadable(path, error) from error
        raise
    return db


def shapeless(path: Path) -> Damaged:
    """Make the error of a database whose number of steps rotted."""
    return Damaged(f"{path} does not have the shape that it says it has.", hint=FROM_MIRRORS)


def refuse_shape(path: Path, db: sqlite3.Connection, steps: Sequence[Step]) -> None:
    """See that this version knows the shape of a database; one that is older is brought up."""
    done = _version(db)
    if not 0 <= done < NEVER:
        raise shapeless(path)
    if done > len(steps):
        raise StorageError(
            f"{path} was written by a newer version (shape {done}, this version knows {len(steps)}).",
            code="database_too_new",
            hint="Update agi, or point --db at another file. If none is newer, `agi repair --from-mirrors` helps.",
        )


def _take_steps(db: sqlite3.Connection, path: Path, steps: Sequence[Step]) -> None:
    db.execute("BEGIN IMMEDIATE")
    refuse_shape(path, db, steps)
    try:
        for step in steps[_version(db) :]:
            step(db)
    except sqlite3.OperationalError as error:
        if "already exists" in str(error) or "duplicate column" in str(error):
            raise shapeless(path) from error
        raise
    db.execute(f"PRAGMA user_version={len(steps)}")
    db.execute("COMMIT")


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def unreadable(path: Path, error: Exception) -> StorageError:
    """Make the error of a database that cannot be read; a lock, a missing permission or a failing disk is no damage."""
    if any(words in str(error) for words in _ROTTED):  # what SQLite goes on with stands there, and is nobody's business
        return Damaged(f"{path} is damaged: a text in it is not as it was written.", hint=FROM_MIRRORS)
    if isinstance(error, UnicodeDecodeError) or any(word in str(error) for word in _DAMAGE):
        return Damaged(f"{path} is not a readable database: {error}.", hint=FROM_MIRRORS)
    return StorageError(
        f"{path} cannot be read: {error}.", hint="Check the disk, that the folder is writable, and who else uses it."
    )
