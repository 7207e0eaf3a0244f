"""Reading what can be read: damaged mirrors, damaged databases. One bad record hides no other.

Lines that cannot be read, or do not belong where they stand, are set aside beside the mirror, never deleted.
May import: errors, protocol, eventlog.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from agi.errors import Damaged, StorageError
from agi.eventlog import chain, texts
from agi.eventlog.rows import PLAIN
from agi.eventlog.schema import BUSY_MS, UNREADABLE, unreadable
from agi.protocol.events import Event, Notice, SessionCreated, encode_data, parse_envelope
from agi.protocol.ids import SESSION, is_id
from agi.protocol.sessions import Session
from agi.protocol.times import to_millis

MADE = "made"
"""Stands for the hash of an event that we make, in the place of one that was lost."""
TICK = 10_000
"""Steps of SQLite between two looks at the bound."""
LEAST_LENGTH = 100_000
"""Room for what is asked, however small the file is."""
LONGEST_HOLE = 10_000
"""A number that leaves a larger hole before it is damage itself."""

MOST_SHARED = 64
"""How many times the size of a database its events may come to, those that share a text included."""
SHARING = PLAIN.replace(", hash", ", hash, text_id")
HOLDING = PLAIN.replace(", hash", ", hash, NULL")
"""The same of a database whose events hold all of their data."""
OLD = PLAIN.replace(", hash", ", '', NULL")
"""The same of one that has no hashes yet."""

Events = dict[int, Event]
"""A session's events by number."""


def mirrors(folder: Path) -> Iterator[Path]:
    """Every session's mirror, or what stands in its place and only reading it will tell.

    Links are not followed: a data folder may come with somebody else's repository.
    """
    for home in sorted((folder / "sessions").glob(f"{SESSION}_*")):
        path = home / "events.ndjson"
        if is_id(home.name, SESSION) and not home.is_symlink() and _may_hold(path):
            yield path


def _may_hold(path: Path) -> bool:
    """Whether something stands there that is no link; where one is not let in to look, there may be."""
    try:
        return not stat.S_ISLNK(path.lstat().st_mode)
    except FileNotFoundError:
        return False
    except OSError:
        return True


def read_mirror(path: Path) -> tuple[Events, list[bytes], bool]:
    """The events of a mirror, the lines that are none, and whether one of those is its last."""
    lines = [line for line in read_file(path).split(b"\n") if line]
    found = [_event_of(line, path.parent.name) for line in lines]
    best: dict[int, int] = {}
    for n, event in enumerate(found):
        if event is not None and _fit(found, n) > _fit(found, best.get(event.seq)):
            best[event.seq] = n
    events = {seq: event for seq, n in best.items() if (event := found[n]) is not None}
    kept = {lines[n] for n in best.values()}
    return events, [line for line in lines if line not in kept], bool(lines) and lines[-1] not in kept


def _fit(found: Sequence[Event | None], at: int | None) -> int:
    """How well a line's number goes with those of its neighbours; tells a damaged number from the one it met."""
    event = None if at is None else found[at]
    if at is None or event is None:
        return 0
    before = found[at - 1] if at else None
    after = found[at + 1] if at + 1 < len(found) else None
    return 1 + (before is not None and before.seq == event.seq - 1) + (after is not None and after.seq == event.seq + 1)


class Salvaged:
    """What was read of a database, as text: nothing in it is obeyed, and it is not read for longer than it is large."""

    def __init__(self) -> None:
        self.sessions: dict[str, Events] = {}
        self.is_whole = True
        """Whether every row was read."""
        self._texts: dict[object, bytes] = {}
        """What events share, by where it is kept."""
        self._said: dict[tuple[object, object], Event] = {}
        """Of those that share a text, the first of each type: what they say is decoded once, and held once."""
        self._room = 0

    def read(self, database: Path) -> None:
        """Take up all events that can be read; raises StorageError where the file is out of reach."""
        if not database.exists():
            return
        self.is_whole = False
        size = sum(file.stat().st_size for file in (database, *companions(database)))
        try:
            with closing(sqlite3.connect(database, timeout=BUSY_MS / 1000, isolation_level=None)) as db:
                _bound(db, size)
                if _has_table(db, "events"):
                    self.is_whole = True
                    self._read(db, size)
        except UNREADABLE as error:
            failure = unreadable(database, error)
            if not isinstance(failure, Damaged) and "interrupted" not in str(error):
                raise failure from error

    def _read(self, db: sqlite3.Connection, size: int) -> None:
        # A damaged page ends a scan; what lies behind it is reached from the other end.
        select = OLD if _lacks(db, "hash") else HOLDING if _lacks(db, "text_id") else SHARING
        self._room = size * MOST_SHARED
        if select is SHARING and _has_table(db, "texts") and not self._take_texts(db, size, ""):
            self._take_texts(db, size, " ORDER BY id DESC")
        if not self._scan(db, f"{select} ORDER BY id", size):
            self.is_whole = False
            self._scan(db, f"{select} ORDER BY id DESC", size)

    def _take_texts(self, db: sqlite3.Connection, size: int, order: str) -> bool:
        """Read what events share; False if that broke off, and then no event is made up for what is missing."""
        _bound(db, size)
        try:
            for text_id, data in db.execute(f"SELECT id, data FROM texts{order}"):  # noqa: S608 - our own words
                if not isinstance(data, bytes) or len(data) > texts.LONGEST or (size := size - len(data)) < 0:
                    continue
                self._texts[text_id] = data
        except UNREADABLE:
            return False
        return True

    def _event(self, seq: object, words: list[object]) -> Event | None:
        """An event of its columns, with what it shares in its place: as much of that as an honest log can come to."""
        *columns, text_id = words
        shared = self._texts.get(text_id) if text_id is not None else None
        if shared is None or (room := self._room - len(shared)) < 0:
            return _event_from(seq, columns)
        self._room = room
        columns[4] = shared
        like = text_id, columns[3]
        event = _event_from(seq, columns, self._said.get(like))
        if event is not None:
            self._said.setdefault(like, event)
        return event

    def _scan(self, db: sqlite3.Connection, query: str, size: int) -> bool:
        """Read all rows that can be read; False if the scan broke off."""
        _bound(db, size)
        try:
            for _, seq, *words in db.execute(query):
                size -= 1 + sum(len(word) for word in words if isinstance(word, bytes))
                if size < 0:
                    return False  # pages that are shared or go round: more than the file can hold
                event = self._event(seq, words)
                if event is None:
                    self.is_whole = False
                else:
                    self.sessions.setdefault(event.session_id, {})[event.seq] = event
        except UNREADABLE:
            return False
        return True


def read_database(database: Path, *, is_needed: bool = False) -> Salvaged:
    """The events of a database that may be damaged anywhere, or be somebody else's.

    Raises StorageError if it `is_needed` and only out of reach; without that, it then tells nothing.
    """
    salvaged = Salvaged()
    try:
        salvaged.read(database)
    except StorageError:
        if is_needed:
            raise
    return salvaged


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
            raise PermissionError(errno.EPERM, "it is not a regular file", str(path))
        return file.read()


def set_aside_lines(mirror: Path, lines: Sequence[bytes]) -> Path:
    """Keep lines that stand in a mirror but cannot be used, in a file of their own; the same lines once."""
    content = b"".join(b"%b\n" % line for line in lines)
    for kept in mirror.parent.glob(f"{mirror.name}.damaged-*"):
        with suppress(OSError):
            if read_file(kept) == content:
                return kept
    aside = mirror.with_name(f"{mirror.name}.damaged-{time.time_ns()}")
    fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
    return aside


class Chaining:
    """The chain of a log that is put together again: kept as long as it holds, and begun anew, visibly, where not."""

    def __init__(self) -> None:
        self.anew: list[int] = []
        """The events from which on nothing before is vouched for."""
        self._before = ""
        self._found = ""
        """The hash that the last event had when it was found."""

    def mark(self) -> tuple[str, str, int]:
        """Where it stands, to come back to."""
        return self._before, self._found, len(self.anew)

    def back_to(self, mark: tuple[str, str, int]) -> None:
        """Forget what was chained since."""
        self._before, self._found = mark[:2]
        del self.anew[mark[2] :]

    def add(self, event: Event) -> Event:
        """The event with its link."""
        is_whole = chain.fits(self._found, event)
        if is_whole and not self.anew:
            link = event.hash
        elif event.hash == MADE or (event.hash and not is_whole and (self._found or not self.anew)):
            link = chain.begin_anew(event)
            self.anew.append(event.seq)
        else:
            link = chain.link_late(self._before, event)
        self._found = "" if event.hash == MADE else event.hash or link
        self._before = link
        return Event(event.seq, event.ts, event.session_id, event.turn_id, event.type, event.raw, link)


class Reading:
    """What was found of one session, and what is made of it: events dense from 1, a notice in every hole."""

    def __init__(self, session_id: str, events: Events) -> None:
        self.id = session_id
        self.events: Events = {}
        self.strange: list[Event] = []
        """Readable, but not fitting the others."""
        self.lost = 0
        self.chaining = Chaining()
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
        self.events[1] = Event(1, ts, self.id, None, created.TYPE, encode_data(created), MADE)
        self.events[last + 1] = self._notice(last + 1, ts, "The session's first event could not be read.")

    def dense(self, *, is_torn: bool = False) -> list[Event]:
        """All of it, in order; where its end was damaged, that is said there."""
        whole: list[Event] = []
        for seq in range(1, max(self.events, default=0) + 1):
            lost = f"Event {seq} could not be read when the log was rebuilt."
            whole.append(self.events.get(seq) or self._notice(seq, whole[-1].ts, lost))
        if is_torn and whole:
            lost = f"What came behind event {len(whole)} could not be read when the log was rebuilt."
            whole.append(self._notice(len(whole) + 1, whole[-1].ts, lost))
        return whole

    def replaced(self, event: Event) -> Event:
        """A notice in the place of an event that does not fit."""
        self.strange.append(event)
        return self._notice(event.seq, event.ts, f"Event {event.seq} did not fit when the log was rebuilt.")

    def _notice(self, seq: int, ts: str, message: str) -> Event:
        self.lost += 1
        notice = Notice(code="damaged", message=message)
        return Event(seq, ts, self.id, None, notice.TYPE, encode_data(notice), MADE)


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


def chosen(first: Events, second: Events) -> Events:
    """Of two tellings of each event the one that goes with the chain; where both do, or neither, the first."""
    whole: Events = {}
    before = ""
    for seq in sorted({*first, *second}):
        tellings = [events[seq] for events in (first, second) if seq in events]
        whole[seq] = next((one for one in tellings if chain.fits(before, one)), tellings[0])
        before = whole[seq].hash or chain.link_late(before, whole[seq])
    return whole


def _lacks(db: sqlite3.Connection, column: str) -> bool:
    """Whether the events of an older version have no such column yet."""
    try:
        db.execute(f"SELECT {column} FROM events LIMIT 0")  # noqa: S608 - our own word
    except sqlite3.OperationalError as error:
        return "no such column" in str(error)
    except UNREADABLE:
        pass
    return False


def _has_table(db: sqlite3.Connection, name: str) -> bool:
    """Whether a table is rows that are kept; a view, or a column that is worked out, would be somebody's program."""
    db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    try:  # what the list of tables says of itself may be a lie; this asks what SQLite made of it
        db.blobopen(name, "data", 0, readonly=True).close()
    except UNREADABLE as error:
        if str(error).startswith("cannot open"):
            return False
    columns = db.execute(f"PRAGMA table_xinfo({name})").fetchall()
    return bool(columns) and not any(hidden for *_, hidden in columns)


def _bound(db: sqlite3.Connection, size: int) -> None:
    """Obey nothing that stands in the file, and do no more work than a file of this size can ask for."""
    db.execute("PRAGMA trusted_schema=OFF")
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(size, LEAST_LENGTH))
    db.text_factory = bytes  # a row that is not UTF-8 any more must not end the reading
    ticks = iter(range(size // TICK + 100))  # a row takes more bytes than steps
    db.set_progress_handler(lambda: next(ticks, None) is None, TICK)


def companions(database: Path) -> list[Path]:
    """The journals beside a database, without which it may not be whole."""
    beside = (database.with_name(database.name + ending) for ending in ("-wal", "-journal"))
    return [path for path in beside if path.exists()]


def _event_from(seq: object, texts: list[object], like: Event | None = None) -> Event | None:
    words = [text if isinstance(text, bytes) else b"" for text in texts]
    try:
        ts, session_id, turn_id, kind, _, link = (word.decode() for word in words)
    except UnicodeDecodeError:
        return None
    if not isinstance(seq, int) or not is_id(session_id, SESSION):
        return None
    event = Event(seq, ts, session_id, turn_id or None, kind, words[4], link)
    if like is not None:
        event.says_as(like)
    return _checked(event)


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
