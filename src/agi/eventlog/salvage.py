"""Reading what can be read: damaged mirrors, damaged databases. One bad record hides no other.

Lines that cannot be read, or do not belong where they stand, are set aside beside the mirror, never deleted.
May import: errors, protocol, eventlog.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from agi.errors import StorageError
from agi.eventlog.rows import SELECT
from agi.eventlog.schema import connect
from agi.protocol.events import Event, SessionCreated, parse_envelope
from agi.protocol.sessions import Session
from agi.protocol.times import to_millis

Events = dict[int, Event]
"""A session's events by number."""


def mirrors(folder: Path) -> Iterator[Path]:
    """Every session's mirror; links are not followed, a data folder may come with somebody else's repository."""
    for path in sorted((folder / "sessions").glob("sess_*/events.ndjson")):
        if not path.is_symlink() and not path.parent.is_symlink():
            yield path


def read_mirror(path: Path) -> tuple[Events, list[bytes]]:
    """The events of a mirror, and the lines that are none."""
    events: Events = {}
    damaged = []
    for line in read_file(path).split(b"\n"):
        event = _event_of(line, path.parent.name) if line else None
        if event is not None and (event.seq not in events or events[event.seq].raw == event.raw):
            events[event.seq] = event
        elif line:
            damaged.append(line)
    return events, damaged


def read_database(database: Path) -> dict[str, Events]:
    """The events of a database that may be damaged anywhere, by session."""
    found: dict[str, Events] = {}
    try:
        db = connect(database) if database.exists() else None
    except StorageError:
        db = None
    if db is not None:
        db.text_factory = bytes  # a row that is not UTF-8 any more must not end the reading
        # A damaged page ends a scan; what lies behind it is reached from the other end.
        if not _scan(db, "ORDER BY id", found):
            _scan(db, "ORDER BY id DESC", found)
        db.close()
    return found


def read_snapshot(path: Path) -> Session | None:
    """A `session.json`, if it can be read."""
    try:
        return msgspec.json.decode(read_file(path), type=Session)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def read_file(path: Path) -> bytes:
    """Read a regular file, not through a link; raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise PermissionError(f"{path} is not a regular file")
        return file.read()


def set_aside_lines(mirror: Path, lines: Sequence[bytes]) -> Path:
    """Keep lines that stand in a mirror but cannot be used."""
    aside = mirror.with_name(mirror.name + ".damaged")
    fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.writelines(b"%b\n" % line for line in lines)
    return aside


def _scan(db: sqlite3.Connection, order: str, found: dict[str, Events]) -> bool:
    """Read all rows that can be read; False if the scan broke off."""
    try:
        for _, seq, *texts in db.execute(f"{SELECT} {order}"):
            event = _event_from(seq, texts)
            if event is not None:
                found.setdefault(event.session_id, {})[event.seq] = event
    except sqlite3.DatabaseError:
        return False
    return True


def _event_from(seq: object, texts: list[object]) -> Event | None:
    ts, session_id, turn_id, kind, data = (text.decode(errors="replace") if isinstance(text, bytes) else "" for text in texts)
    raw = texts[4] if isinstance(texts[4], bytes) else b""
    return _checked(Event(seq, ts, session_id, turn_id or None, kind, raw)) if isinstance(seq, int) else None


def _event_of(line: bytes, session_id: str) -> Event | None:
    try:
        event = parse_envelope(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return _checked(event) if event.session_id == session_id else None


def _checked(event: Event) -> Event | None:
    """The event, if it says what an event of its type may say."""
    try:
        event.raw.decode()  # parts kept as they came are not looked at when the data is decoded
        to_millis(event.ts)
        data = event.data
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError):
        return None
    is_other = isinstance(data, SessionCreated) and (data.id != event.session_id or event.seq != 1)
    return None if is_other or event.seq < 1 else event
