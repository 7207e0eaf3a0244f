"""Reading what can be read: damaged mirrors, damaged databases. One bad record hides no other.

Lines that cannot be read, or do not belong where they stand, are set aside beside the mirror, never deleted.
May import: errors, protocol, eventlog.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from agi.errors import StorageError
from agi.eventlog.rows import SELECT
from agi.eventlog.schema import UNREADABLE, connect
from agi.protocol.events import Event, Notice, SessionCreated, encode_data, parse_envelope
from agi.protocol.ids import SESSION, is_id
from agi.protocol.sessions import Session
from agi.protocol.times import to_millis

LONGEST_HOLE = 10_000
"""A number that leaves a larger hole before it is damage itself."""

Events = dict[int, Event]
"""A session's events by number."""


def mirrors(folder: Path) -> Iterator[Path]:
    """Every session's mirror; links are not followed, a data folder may come with somebody else's repository."""
    for path in sorted((folder / "sessions").glob(f"{SESSION}_*/events.ndjson")):
        is_link = path.is_symlink() or path.parent.is_symlink()
        if is_id(path.parent.name, SESSION) and not is_link and path.is_file():
            yield path


def read_mirror(path: Path) -> tuple[Events, list[bytes]]:
    """The events of a mirror, and the lines that are none."""
    lines = [line for line in read_file(path).split(b"\n") if line]
    found = [_event_of(line, path.parent.name) for line in lines]
    best: dict[int, int] = {}
    for n, event in enumerate(found):
        if event is not None and _fit(found, n) > _fit(found, best.get(event.seq)):
            best[event.seq] = n
    events = {seq: event for seq, n in best.items() if (event := found[n]) is not None}
    kept = {lines[n] for n in best.values()}
    return events, [line for line in lines if line not in kept]


def _fit(found: Sequence[Event | None], at: int | None) -> int:
    """How well a line's number goes with those of its neighbours; tells a damaged number from the one it met."""
    event = None if at is None else found[at]
    if at is None or event is None:
        return 0
    before = found[at - 1] if at else None
    after = found[at + 1] if at + 1 < len(found) else None
    return 1 + (before is not None and before.seq == event.seq - 1) + (after is not None and after.seq == event.seq + 1)


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
        snapshot = msgspec.json.decode(read_file(path), type=Session)
        to_millis(snapshot.created_at)
    except (OSError, msgspec.DecodeError, ValueError, RecursionError):
        return None
    return snapshot


def read_file(path: Path) -> bytes:
    """Read a regular file, not through a link; raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise PermissionError(f"{path} is not a regular file")
        return file.read()


def set_aside_lines(mirror: Path, lines: Sequence[bytes]) -> Path:
    """Keep lines that stand in a mirror but cannot be used, in a file of their own."""
    aside = mirror.with_name(f"{mirror.name}.damaged-{time.time_ns()}")
    fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.writelines(b"%b\n" % line for line in lines)
    return aside


class Reading:
    """What was found of one session, and what is made of it: events dense from 1, a notice in every hole."""

    def __init__(self, session_id: str, events: Events) -> None:
        self.id = session_id
        self.events: Events = {}
        self.strange: list[Event] = []
        """Readable, but not fitting the others."""
        self.lost = 0
        last = 0
        for seq, event in sorted(events.items()):
            if seq - last > LONGEST_HOLE or self.strange:
                self.strange.append(event)
            else:
                self.events[seq] = event
                last = seq

    def has_beginning(self) -> bool:
        """Whether the event that all others rest on is there."""
        return 1 in self.events and self.events[1].type == SessionCreated.TYPE

    def begin_from(self, snapshot: Session | None, project: Path) -> None:
        """Make up for a lost beginning, and say so in the end."""
        if not self.events and snapshot is None:
            return
        if 1 in self.events:
            self.strange.append(self.events[1])
        last = max(self.events, default=1)
        known = self.events.get(last)
        ts = snapshot.created_at if snapshot else known.ts if known else ""
        created = _created_again(self.id, snapshot, str(project), ts)
        self.events[1] = Event(1, ts, self.id, None, created.TYPE, encode_data(created))
        self.events[last + 1] = self._notice(last + 1, ts, "The session's first event could not be read.")

    def dense(self) -> list[Event]:
        """All of it, in order."""
        whole: list[Event] = []
        for seq in range(1, max(self.events, default=0) + 1):
            lost = f"Event {seq} could not be read when the log was rebuilt."
            whole.append(self.events.get(seq) or self._notice(seq, whole[-1].ts, lost))
        return whole

    def replaced(self, event: Event) -> Event:
        """A notice in the place of an event that does not fit."""
        self.strange.append(event)
        return self._notice(event.seq, event.ts, f"Event {event.seq} did not fit when the log was rebuilt.")

    def _notice(self, seq: int, ts: str, message: str) -> Event:
        self.lost += 1
        notice = Notice(code="damaged", message=message)
        return Event(seq, ts, self.id, None, notice.TYPE, encode_data(notice))


def _created_again(session_id: str, snapshot: Session | None, project: str, ts: str) -> SessionCreated:
    if snapshot is None:
        return SessionCreated(
            id=session_id, agent="general", workspace_path=project, project_path=project, created_at=ts
        )
    return SessionCreated(
        id=session_id,
        agent=snapshot.agent,
        workspace_path=snapshot.workspace_path,
        project_path=snapshot.project_path,
        created_at=snapshot.created_at,
        title=snapshot.title,
        provider=snapshot.provider,
        model=snapshot.model,
        system_prompt=snapshot.system_prompt,
        auto_run=snapshot.auto_run,
    )


def _scan(db: sqlite3.Connection, order: str, found: dict[str, Events]) -> bool:
    """Read all rows that can be read; False if the scan broke off."""
    try:
        for _, seq, *texts in db.execute(f"{SELECT} {order}"):
            event = _event_from(seq, texts)
            if event is not None:
                found.setdefault(event.session_id, {})[event.seq] = event
    except UNREADABLE:
        return False
    return True


def _event_from(seq: object, texts: list[object]) -> Event | None:
    words = [text if isinstance(text, bytes) else b"" for text in texts]
    try:
        ts, session_id, turn_id, kind = (word.decode() for word in words[:4])
    except UnicodeDecodeError:
        return None
    if not isinstance(seq, int) or not is_id(session_id, SESSION):
        return None
    return _checked(Event(seq, ts, session_id, turn_id or None, kind, words[4]))


def _event_of(line: bytes, session_id: str) -> Event | None:
    try:
        event = parse_envelope(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return _checked(event) if event.session_id == session_id else None


def _checked(event: Event) -> Event | None:
    """The event, if it says what an event of its type may say."""
    try:
        event.raw.decode()  # parts kept as they came are not looked at when the data is decoded
        to_millis(event.ts)
        data = event.data
        if isinstance(data, SessionCreated):
            to_millis(data.created_at)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    is_other = isinstance(data, SessionCreated) and (data.id != event.session_id or event.seq != 1)
    return None if is_other or event.seq < 1 else event
