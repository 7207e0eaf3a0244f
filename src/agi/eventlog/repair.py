"""Making the database again from the mirrors, and the mirrors again from the database: losing one loses nothing.

What cannot be read is set aside, never deleted, and its place in the numbering is taken by a notice that says so.
May import: errors, protocol, eventlog.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from agi.errors import Damaged
from agi.eventlog.base import Projection
from agi.eventlog.log import insert
from agi.eventlog.schema import STEPS, connect, prepare
from agi.protocol.events import Event, Notice, encode_data, parse_envelope

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
    """Tell whether the database is missing or unreadable although there is something to rebuild it from."""
    if not database.exists():
        return next(_mirrors(folder), None) is not None
    try:
        db = connect(database)
        try:
            db.execute("SELECT count(*) FROM (SELECT 1 FROM events LIMIT 1)").fetchone()
        finally:
            db.close()
    except (Damaged, sqlite3.DatabaseError) as error:
        return isinstance(error, Damaged) or "no such table" not in str(error)
    return False


def rebuild_database(folder: Path, database: Path, projection: Projection) -> Repair:
    """Make the database from every mirror and whatever the old file still tells; the old file is set aside."""
    report = Repair(set_aside=[])
    fresh = database.with_name(database.name + ".rebuilding")
    _remove(fresh)
    prepare(fresh, (*STEPS, *projection.steps))
    db = connect(fresh)
    try:
        db.execute("PRAGMA synchronous=OFF")  # synced once, when it is whole
        epoch = int(time.time())
        projection.epoch = epoch
        db.execute("UPDATE meta SET value=? WHERE key='epoch'", (str(epoch),))
        for session_id, events in _sessions(folder, database, report):
            _restore(db, session_id, events, projection, report)
        db.execute("PRAGMA synchronous=FULL")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        db.close()
    _set_aside(database, report)
    os.replace(fresh, database)
    return report


def rebuild_mirrors(folder: Path, database: Path, projection: Projection, report: Repair | None = None) -> Repair:
    """Write anew every mirror that does not say exactly what the database says."""
    report = report or Repair(set_aside=[])
    db = connect(database)
    try:
        for (session_id,) in db.execute("SELECT id FROM sessions ORDER BY id").fetchall():
            lines = b"".join(b"%b\n" % event.envelope() for event in _stored(db, session_id))
            path = folder / "sessions" / session_id / "events.ndjson"
            if not path.exists() or path.read_bytes() != lines:
                _write_mirror(path, lines)
                report.mirrors += 1
    finally:
        db.close()
    return report


def _restore(
    db: sqlite3.Connection, session_id: str, events: dict[int, Event], projection: Projection, report: Repair
) -> None:
    """Put a session's events in, dense from 1; a hole becomes a notice."""
    whole = [events.get(seq) or _hole(session_id, seq, events) for seq in range(1, max(events) + 1)]
    report.lost += len(whole) - len(events)
    db.execute("BEGIN")
    for start in range(0, len(whole), BATCH):
        page = whole[start : start + BATCH]
        for event in page:
            insert(db, event)
        projection.apply(db, session_id, page)
    db.execute("COMMIT")
    report.sessions += 1
    report.events += len(events)


def _hole(session_id: str, seq: int, events: dict[int, Event]) -> Event:
    known = events[min(events, key=lambda other: abs(other - seq))]
    notice = Notice(code="damaged", message=f"Event {seq} could not be read when the log was rebuilt.")
    return Event(seq, known.ts, session_id, None, notice.TYPE, encode_data(notice))


def _sessions(folder: Path, database: Path, report: Repair) -> Iterator[tuple[str, dict[int, Event]]]:
    """Every session's readable events by number, from its mirror and the old database together."""
    salvaged = _salvage(database)
    for path in _mirrors(folder):
        session_id = path.parent.name
        events = salvaged.pop(session_id, {})
        for event in _readable(path, report):
            if event.session_id == session_id:
                events.setdefault(event.seq, event)
        if 1 in events:
            yield session_id, events
    for session_id, events in salvaged.items():
        if 1 in events:
            yield session_id, events


def _mirrors(folder: Path) -> Iterator[Path]:
    yield from sorted((folder / "sessions").glob("sess_*/events.ndjson"))


def _readable(path: Path, report: Repair) -> Iterator[Event]:
    damaged = []
    for line in path.read_bytes().split(b"\n"):
        if not line:
            continue
        try:
            event = parse_envelope(line)
            _ = event.data
            yield event
        except (msgspec.DecodeError, UnicodeDecodeError):
            damaged.append(line)
    if damaged:
        aside = path.with_name("events.ndjson.damaged")
        aside.write_bytes(b"\n".join(damaged) + b"\n")
        report.set_aside.append(str(aside))


def _salvage(database: Path) -> dict[str, dict[int, Event]]:
    """Read what can be read of the old database."""
    found: dict[str, dict[int, Event]] = {}
    if not database.exists():
        return found
    try:
        db = connect(database)
    except Damaged:
        return found
    try:
        for seq, ts, session_id, turn_id, kind, data in db.execute(
            "SELECT seq, ts, session_id, turn_id, type, data FROM events ORDER BY id"
        ):
            event = Event(seq, ts, session_id, turn_id, kind, data.encode())
            _ = event.data
            found.setdefault(session_id, {})[seq] = event
    except (sqlite3.DatabaseError, msgspec.DecodeError, AttributeError):
        pass  # the rest is unreadable here; the mirrors have it
    finally:
        db.close()
    return found


def _stored(db: sqlite3.Connection, session_id: str) -> Iterator[Event]:
    for seq, ts, turn_id, kind, data in db.execute(
        "SELECT seq, ts, turn_id, type, data FROM events WHERE session_id=? ORDER BY seq", (session_id,)
    ):
        yield Event(seq, ts, session_id, turn_id, kind, data.encode())


def _write_mirror(path: Path, lines: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = path.with_name(".events.ndjson.new")
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(lines)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def _set_aside(database: Path, report: Repair) -> None:
    if database.exists():
        aside = database.with_name(f"{database.name}.damaged-{int(time.time())}")
        os.replace(database, aside)
        report.set_aside.append(str(aside))
    for suffix in ("-wal", "-shm"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
