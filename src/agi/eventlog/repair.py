"""Making the database again from the mirrors, and from whatever the old file still tells: losing it loses nothing.

What cannot be read is set aside, never deleted, and its place in the numbering is taken by a notice that says so.
For a data folder that no other process has open.
May import: counts, errors, config.files, protocol, eventlog.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from agi.config.files import no_folder
from agi.counts import counted
from agi.errors import Damaged, StorageError
from agi.eventlog import chain
from agi.eventlog.base import Projection
from agi.eventlog.elsewhere import held_in
from agi.eventlog.rows import insert
from agi.eventlog.salvage import (
    Events,
    Reading,
    Salvaged,
    chosen,
    companions,
    mirrors,
    read_database,
    read_file,
    read_mirror,
    read_snapshot,
    set_aside_lines,
)
from agi.eventlog.schema import FROM_MIRRORS, STEPS, UNREADABLE, connect, look_through, prepare, unreadable
from agi.protocol.events import Event

BATCH = 2000
LOCK = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
"""How a lock is opened: not through a link, and without waiting for the other end of a pipe."""
ORIGIN = "origin"
"""The file that says whose a data folder is; its database says the same."""


class Repair(Struct, kw_only=True):
    """What was done."""

    sessions: int = 0
    events: int = 0
    lost: int = 0
    """Events that stood in no readable place; a notice stands there now."""
    set_aside: list[str] = []
    unread: list[str] = []
    """Files of sessions that could not be read; they stand where they stood."""
    mirrors: int = 0
    """How many `events.ndjson` were written anew,"""
    snapshots: int = 0
    """and how many `session.json`."""
    anew: list[str] = []
    """Where the chain of a log could not be kept, as `session:event`."""

    def leave(self, path: Path) -> None:
        """Note once that a file could not be read."""
        if str(path) not in self.unread:
            self.unread.append(str(path))

    def told(self) -> str:
        """What became of a database that was made again unasked, for the person who did not ask."""
        what = f"{counted(self.sessions, 'session')}, {counted(self.events, 'event')}, {self.lost:,} lost."
        aside = f" Set aside: {', '.join(self.set_aside)}." if self.set_aside else ""
        aside += f" Could not be read: {', '.join(self.unread)}." if self.unread else ""
        return f"the database was missing, damaged or made elsewhere and was rebuilt from its mirrors: {what}{aside}"


def needs_rebuild(database: Path, folder: Path) -> bool:
    """Tell whether the database is damaged, or is missing or empty although there is something to make it from.

    Raises StorageError where that cannot be told: a database that is locked, or out of reach, may be a good one.
    """
    try:
        if database.exists() and _is_told(database):
            return False
        if next(mirrors(folder), None) is None:
            return False
        # Whoever made the database just now may have begun between the two looks; a mirror follows its commit.
        return not (database.exists() and _is_told(database))
    except Damaged:
        return True
    except OSError as error:
        raise StorageError(f"{database} cannot be read: {error.strerror}.", hint="Check who may read it.") from error


def is_anything(database: Path, folder: Path) -> bool:
    """Tell whether there is something to repair: a mirror, or a database that holds a log or cannot say what it holds.

    Makes nothing, unlike whoever opens a database.
    """
    if next(mirrors(folder), None) is not None:
        return True
    if not database.exists() or not database.stat().st_size:
        return False
    held = held_in(database)
    return held is None or "events" in held.names


def is_damaged(database: Path) -> bool:
    """Look whether all pages of a database can be read, and the index of events knows each row as it says itself.

    Raises StorageError where that cannot be told.
    """
    try:
        with closing(connect(database)) as db:
            return bool(look_through(db))
    except UNREADABLE as error:
        failure = unreadable(database, error)
        if not isinstance(failure, Damaged):
            raise failure from error
    except Damaged:
        pass
    return True


def is_used(database: Path) -> bool:
    """Whether another connection has it open; of one that cannot be read, or is missing, nobody can tell."""
    if not database.exists():
        return False
    try:
        with closing(sqlite3.connect(database, timeout=0, isolation_level=None)) as db:
            db.execute("PRAGMA locking_mode=EXCLUSIVE")
            db.execute("BEGIN IMMEDIATE")
            db.execute("ROLLBACK")
    except UNREADABLE as error:
        return "locked" in str(error)
    return False


def refuse_used(database: Path) -> None:
    """See that nobody would go on writing to a file that stands there no more; raises StorageError.

    Call it within `alone_at`: who is not there yet waits, and opens what is there then.
    """
    if is_used(database):
        hint = "Stop the `agi` that has it open, or close what looks at it, then try again."
        raise StorageError(f"{database} is in use.", code="database_in_use", hint=hint)


def rebuild_if_needed(folder: Path, database: Path, projection: Projection) -> Repair | None:
    """Look and rebuild, within `alone_at`: of several processes that find the same damage at once, one does it."""
    return rebuild_database(folder, database, projection) if needs_rebuild(database, folder) else None


@contextmanager
def alone_at(database: Path) -> Iterator[None]:
    """Be the only one who looks whether this database is to be made, or made again; others wait, and then look."""
    try:
        database.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(database.with_name(database.name + ".lock"), LOCK, 0o600)
    except FileExistsError as error:
        raise no_folder(database.parent) from error
    except OSError as error:
        text = f"The data folder {database.parent} cannot be used: {error.strerror}."
        raise StorageError(text, hint="Check that the folder is writable and holds no link of that name.") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def rebuild_database(folder: Path, database: Path, projection: Projection) -> Repair:
    """Make the database from every mirror and whatever the old file still tells; the old file is set aside.

    Raises StorageError while somebody has the old one open.
    """
    refuse_used(database)
    return _rebuild(folder, database, projection, read_database(database), None)


def rebuild_from_text(folder: Path, database: Path, projection: Projection, origin: str) -> Repair:
    """Make a database that is not to be believed again, as `origin`: from its mirrors, and from its events as text.

    What it grants or left open is still in it. Without an id it will be doubted at each start: one that went over
    whole is then set aside under one name, in the place of the one before.
    """
    try:
        return _rebuild(folder, database, projection, read_database(database, is_needed=True), origin)
    except OSError as error:
        text = f"{database} was made elsewhere and cannot be made again: {error.strerror}."
        raise StorageError(text, hint="Remove it, or check who may write to its folder.") from error


def _rebuild(folder: Path, database: Path, projection: Projection, old: Salvaged, origin: str | None) -> Repair:
    """Make it again; `origin` is given if it was somebody else's, and then the mirrors come first."""
    report = Repair()
    fresh = database.with_name(database.name + ".rebuilding")
    _remove(fresh)
    prepare(fresh, (*STEPS, *projection.steps))
    with closing(connect(fresh)) as db:
        db.execute("PRAGMA synchronous=OFF")  # synced once, when it is whole
        projection.epoch = time.time_ns() // 1_000_000
        db.execute("UPDATE meta SET value=? WHERE key='epoch'", (str(projection.epoch),))
        if origin is None:
            _mark_again(db, folder)
        elif origin:
            db.execute("INSERT INTO meta VALUES (?, ?)", (ORIGIN, origin))
        for found in _sessions(folder, old, report, is_foreign=origin is not None):
            _restore(db, folder, found, projection, report)
        db.execute("PRAGMA synchronous=FULL")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if origin is not None:  # before it is there: until what it grants is disowned, by whomever, the folder is nobody's
        (folder / ORIGIN).unlink(missing_ok=True)
    _set_aside(database, report, _aside(database, old, origin))
    os.replace(fresh, database)
    return report


def _mark_again(db: sqlite3.Connection, folder: Path) -> None:
    """Write into a rebuilt database whose it is, as far as its folder tells."""
    with suppress(OSError):
        origin = read_file(folder / ORIGIN)[:100].decode(errors="replace").strip()
        db.execute("INSERT INTO meta VALUES (?, ?)", (ORIGIN, origin))


def _is_told(database: Path) -> bool:
    """Whether it holds events, or holds none for a reason: all were deleted, or the mirrors had none.

    Raises Damaged where a start would come upon damage: it begins with the epoch and the newest event, and goes on
    with the first rows of this table or that.
    """
    with closing(connect(database)) as db:
        try:
            tables = db.execute("SELECT name FROM sqlite_master WHERE type='table' AND rootpage>0").fetchall()
            if ("events",) not in tables:
                return False
            for (name,) in tables:  # the rows themselves: where an index has the answer, SQLite looks no further
                db.execute(f'SELECT 1 FROM "{name}" NOT INDEXED LIMIT 1').fetchone()  # noqa: S608 - it is a table
            indexed = db.execute("SELECT 1 FROM events LIMIT 1").fetchone()
            newest = db.execute("SELECT max(id) FROM events").fetchone()[0]
            counts = dict(db.execute("SELECT key, value FROM meta WHERE key IN ('epoch', 'deletions')").fetchall())
        except UNREADABLE as error:
            raise unreadable(database, error) from error
    if len(counts) != 2 or not all(str(value).isdecimal() for value in counts.values()):
        raise Damaged(f"{database} does not say how it stands.", hint=FROM_MIRRORS)
    return bool(indexed or newest) or counts != {"epoch": "1", "deletions": "0"}


class _Found(Struct, frozen=True):
    """A session's readable events; `is_torn` if its mirror ends in damage and nothing else knows what stood there."""

    session_id: str
    events: Events
    is_torn: bool = False


def _sessions(folder: Path, old: Salvaged, report: Repair, *, is_foreign: bool) -> Iterator[_Found]:
    """Every session's readable events, from its mirror and the old database together."""
    _leave_out_misplaced(folder, old)
    for path in mirrors(folder):
        session_id = path.parent.name
        try:
            events, damaged, is_torn = read_mirror(path)
        except OSError:
            report.leave(path)
            continue
        if damaged:
            report.set_aside.append(str(set_aside_lines(path, damaged)))
        stored = old.sessions.pop(session_id, {})
        whole = chosen(events, stored) if is_foreign else chosen(stored, events)
        if any(whole[seq].envelope() != event.envelope() for seq, event in stored.items()):
            old.is_whole = False
        yield _Found(session_id, whole, is_torn and bool(events) and not stored)
    yield from (_Found(session_id, stored) for session_id, stored in old.sessions.items())


def _leave_out_misplaced(folder: Path, old: Salvaged) -> None:
    """Forget rows whose number or session rotted: each fits in a mirror, in another place, and its hash covers both."""
    strange = [event for events in old.sessions.values() for event in events.values() if not _fits(events, event)]
    hashes = {event.hash for event in strange if event.hash}
    places: dict[str, tuple[str, int]] = {}
    for path in mirrors(folder) if hashes else ():
        with suppress(OSError):
            events = read_mirror(path)[0]
            known = [event for event in events.values() if event.hash in hashes and _fits(events, event)]
            places |= {event.hash: (event.session_id, event.seq) for event in known}
    for event in strange:
        place = event.session_id, event.seq
        if places.get(event.hash, place) != place:
            del old.sessions[event.session_id][event.seq]
            old.is_whole = False


def _fits(events: Events, event: Event) -> bool:
    before = events.get(event.seq - 1)
    return chain.fits(before.hash if before else "", event)


def _restore(db: sqlite3.Connection, folder: Path, found: _Found, projection: Projection, report: Repair) -> None:
    """Put a session's events in, dense from 1."""
    session_id = found.session_id
    mirror = folder / "sessions" / session_id / "events.ndjson"
    session = Reading(session_id, found.events)
    if not session.has_beginning():
        session.begin_from(read_snapshot(mirror.with_name("session.json")), folder.parent)
    whole = session.dense(is_torn=found.is_torn)
    db.execute("BEGIN")
    for start in range(0, len(whole), BATCH):
        _put(db, whole[start : start + BATCH], projection, session)
    db.execute("COMMIT")
    if session.strange:
        mirror.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lines = [event.line() for event in session.strange]
        report.set_aside.append(str(set_aside_lines(mirror, lines)))
    report.sessions += bool(whole)
    report.events += len(whole) - session.lost
    report.lost += session.lost
    report.anew += [f"{session_id}:{seq}" for seq in session.chaining.anew]


def _put(db: sqlite3.Connection, page: list[Event], projection: Projection, session: Reading) -> None:
    """Insert and project; an event that does not fit those before it is found by halves and replaced by a notice."""
    db.execute("SAVEPOINT page")
    mark = session.chaining.mark()
    try:
        chained = [session.chaining.add(event) for event in page]
        for event in chained:
            insert(db, event)
        projection.apply(db, session.id, chained)
    except sqlite3.OperationalError:
        raise
    except Exception:  # whatever a record that was tampered with makes of the fold or the tables
        db.execute("ROLLBACK TO page")
        projection.rolled_back()
        session.chaining.back_to(mark)
        half = len(page) // 2
        for part in (page[:half], page[half:]) if half else ([session.replaced(page[0])],):
            _put(db, part, projection, session)
    db.execute("RELEASE page")


def _set_aside(database: Path, report: Repair, name: str) -> None:
    """Keep the old files under another name; the database stands in its place until the new one takes it.

    A journal that is still there is one that nobody could apply. It goes last, when it and its database have another
    name: a new database would take it for its own.
    """
    aside = database.with_name(f"{database.name}.{name}")
    old = [file for file in (database, *companions(database)) if file.exists()]
    for file in old:
        _name_again(file, kept := aside.with_name(file.name.replace(database.name, aside.name, 1)))
        report.set_aside.append(str(kept))
    for file in (*companions(database), database.with_name(database.name + "-shm")):
        file.unlink(missing_ok=True)


def _name_again(file: Path, kept: Path) -> None:
    """Give a file a second name, or where there are none of those, another."""
    beside = kept.with_name(kept.name + ".new")
    try:
        beside.unlink(missing_ok=True)
        os.link(file, beside)
        os.replace(beside, kept)
        beside.unlink(missing_ok=True)  # two names of one file are not replaced
    except OSError:
        os.replace(file, kept)


def _aside(database: Path, old: Salvaged, origin: str | None) -> str:
    if origin == "" and old.is_whole and not companions(database):
        return "foreign"  # the next start doubts again, and nothing is in it that is not in the new one
    return f"{'damaged' if origin is None else 'foreign'}-{time.time_ns() // 1_000_000}"


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
