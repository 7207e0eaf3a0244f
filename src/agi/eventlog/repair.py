"""Making the database again from the mirrors, and the mirrors again from the database: losing one loses nothing.

What cannot be read is set aside, never deleted, and its place in the numbering is taken by a notice that says so.
For a data folder that no other process has open. May import: errors, protocol, eventlog.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from agi.errors import Damaged, StorageError
from agi.eventlog.base import Projection
from agi.eventlog.mirror import replace_file, session_folder
from agi.eventlog.rows import insert, read_page
from agi.eventlog.salvage import (
    Events,
    Reading,
    mirrors,
    read_database,
    read_file,
    read_mirror,
    read_snapshot,
    set_aside_lines,
)
from agi.eventlog.schema import STEPS, UNREADABLE, connect, prepare, unreadable
from agi.protocol.events import Event
from agi.protocol.ids import SESSION, is_id

BATCH = 2000


class Repair(Struct, kw_only=True):
    """What was done."""

    sessions: int = 0
    events: int = 0
    lost: int = 0
    """Events that stood in no readable place; a notice stands there now."""
    set_aside: list[str] = []
    mirrors: int = 0


def needs_rebuild(database: Path, folder: Path) -> bool:
    """Tell whether the database is damaged, or is missing or empty although there is something to make it from.

    Raises StorageError where that cannot be told: a database that is locked, or out of reach, may be a good one.
    """
    try:
        if database.exists() and _is_told(database):
            return False
    except Damaged:
        return True
    except OSError as error:
        raise StorageError(f"{database} cannot be read: {error.strerror}.", hint="Check who may read it.") from error
    return next(mirrors(folder), None) is not None


def rebuild_if_needed(folder: Path, database: Path, projection: Projection) -> Repair | None:
    """Look and rebuild; of several processes that find the same damage at the same time, one does it."""
    if not needs_rebuild(database, folder):
        return None
    database.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = os.open(database.with_name(database.name + ".lock"), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return rebuild_database(folder, database, projection) if needs_rebuild(database, folder) else None
    finally:
        os.close(lock)


def rebuild_database(folder: Path, database: Path, projection: Projection) -> Repair:
    """Make the database from every mirror and whatever the old file still tells; the old file is set aside."""
    report = Repair()
    fresh = database.with_name(database.name + ".rebuilding")
    _remove(fresh)
    prepare(fresh, (*STEPS, *projection.steps))
    with closing(connect(fresh)) as db:
        db.execute("PRAGMA synchronous=OFF")  # synced once, when it is whole
        projection.epoch = time.time_ns() // 1_000_000
        db.execute("UPDATE meta SET value=? WHERE key='epoch'", (str(projection.epoch),))
        for session_id, events in _sessions(folder, database, report):
            _restore(db, folder, session_id, events, projection, report)
        db.execute("PRAGMA synchronous=FULL")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    _set_aside(database, report)
    os.replace(fresh, database)
    return report


def rebuild_mirrors(folder: Path, database: Path, projection: Projection) -> Repair:
    """Write anew every mirror that does not say exactly what the database says."""
    report = Repair()
    with closing(connect(database)) as db:
        _refuse_holes(db, database)
        projection.epoch = int(db.execute("SELECT value FROM meta WHERE key='epoch'").fetchone()[0])
        for (session_id,) in db.execute("SELECT DISTINCT session_id FROM events ORDER BY session_id").fetchall():
            if not is_id(session_id, SESSION):
                continue  # none of ours; as a path it might lead anywhere
            path = session_folder(folder / "sessions", session_id) / "events.ndjson"
            report.sessions += 1
            report.mirrors += _mirror_again(path, [event.envelope() for event in _stored(db, session_id)], report)
            snapshot = projection.snapshot(db, session_id)
            if snapshot is not None:
                replace_file(path.with_name("session.json"), snapshot)
    return report


def _is_told(database: Path) -> bool:
    """Whether it holds events, or holds none for a reason: all were deleted, or the mirrors had none."""
    with closing(connect(database)) as db:
        try:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name='events'").fetchone():
                return False
            reason = "SELECT 1 FROM meta WHERE (key='deletions' AND value<>'0') OR (key='epoch' AND value<>'1')"
            return bool(db.execute("SELECT 1 FROM events LIMIT 1").fetchone() or db.execute(reason).fetchone())
        except UNREADABLE as error:
            raise unreadable(database, error) from error


def _refuse_holes(db: sqlite3.Connection, database: Path) -> None:
    """What the database lost may be in the mirrors, so they are not to be made from it."""
    holes = "SELECT session_id FROM events GROUP BY session_id HAVING count(*)<>max(seq) OR min(seq)<>1"
    if (row := db.execute(holes).fetchone()) is not None:
        raise Damaged(f"{database} lacks events of {row[0]}.", hint="Run `agi repair --from-mirrors` to make it again.")


def _mirror_again(path: Path, lines: list[bytes], report: Repair) -> bool:
    """Write a mirror unless it is right; what stood in it and is not in the database is kept beside it."""
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        old = read_file(path)
    except OSError:
        old = b""
    new = b"".join(b"%b\n" % line for line in lines)
    if old == new:
        return False
    known = {*lines, b""}
    strange = [line for line in old.split(b"\n") if line not in known]
    if strange:
        report.set_aside.append(str(set_aside_lines(path, strange)))
    replace_file(path, new, durable=True)
    return True


def _sessions(folder: Path, database: Path, report: Repair) -> Iterator[tuple[str, Events]]:
    """Every session's readable events, from its mirror and the old database together."""
    salvaged = read_database(database)
    for path in mirrors(folder):
        session_id = path.parent.name
        try:
            events, damaged = read_mirror(path)
        except OSError:
            report.set_aside.append(str(path))  # stays where it is: it cannot be read, but others can
            continue
        if damaged:
            report.set_aside.append(str(set_aside_lines(path, damaged)))
        yield session_id, events | salvaged.pop(session_id, {})
    yield from salvaged.items()


def _restore(
    db: sqlite3.Connection, folder: Path, session_id: str, events: Events, projection: Projection, report: Repair
) -> None:
    """Put a session's events in, dense from 1."""
    mirror = folder / "sessions" / session_id / "events.ndjson"
    session = Reading(session_id, events)
    if not session.has_beginning():
        session.begin_from(read_snapshot(mirror.with_name("session.json")), folder.parent)
    whole = session.dense()
    db.execute("BEGIN")
    for start in range(0, len(whole), BATCH):
        _put(db, whole[start : start + BATCH], projection, session)
    db.execute("COMMIT")
    if session.strange:
        mirror.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lines = [event.envelope() for event in session.strange]
        report.set_aside.append(str(set_aside_lines(mirror, lines)))
    report.sessions += bool(whole)
    report.events += len(whole) - session.lost
    report.lost += session.lost


def _put(db: sqlite3.Connection, page: list[Event], projection: Projection, session: Reading) -> None:
    """Insert and project; an event that does not fit those before it is found by halves and replaced by a notice."""
    db.execute("SAVEPOINT page")
    try:
        for event in page:
            insert(db, event)
        projection.apply(db, session.id, page)
    except sqlite3.OperationalError:
        raise
    except Exception:  # whatever a record that was tampered with makes of the fold or the tables
        db.execute("ROLLBACK TO page")
        projection.rolled_back()
        half = len(page) // 2
        for part in (page[:half], page[half:]) if half else ([session.replaced(page[0])],):
            _put(db, part, projection, session)
    db.execute("RELEASE page")


def _stored(db: sqlite3.Connection, session_id: str) -> Iterator[Event]:
    last = 0
    while page := read_page(db, session_id, last, BATCH):
        yield from page
        last = page[-1].seq


def _set_aside(database: Path, report: Repair) -> None:
    aside = database.with_name(f"{database.name}.damaged-{time.time_ns() // 1_000_000}")
    for suffix in ("", "-wal"):
        if (file := database.with_name(database.name + suffix)).exists():
            kept = aside.with_name(aside.name + suffix)
            os.replace(file, kept)
            report.set_aside.append(str(kept))
    database.with_name(database.name + "-shm").unlink(missing_ok=True)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
