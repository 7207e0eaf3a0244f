"""The log: append, read, follow.

One object for a data folder. Appends go to the writer's thread and return when they are durable; reads are short
and happen in place; followers get the past from the file and the present from the hub, each event once.
May import: errors, protocol, eventlog.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from agi.errors import NotFound, StorageError
from agi.eventlog import leases
from agi.eventlog.base import Check, Cursor, Entries, Entry, Lease, LiveDelta, Projection
from agi.eventlog.follow import Batch, Follower
from agi.eventlog.hub import Hub
from agi.eventlog.mirror import STATE_CHANGES, Mirror
from agi.eventlog.rows import insert, read_page
from agi.eventlog.schema import STEPS, connect, prepare
from agi.eventlog.watch import Watch
from agi.eventlog.writer import Job, Writer
from agi.protocol.events import Event, ModelOutputDelta, SessionCreated, encode_data
from agi.protocol.times import Clock, to_rfc3339
from agi.redaction import Redactor


Encoded = tuple[str | None, str, bytes]
Find = Callable[[sqlite3.Connection], list[Encoded]]


class EventLog:
    """The log of one data folder (`.agi`)."""

    def __init__(
        self,
        folder: Path,
        projection: Projection,
        *,
        database: Path | None = None,
        clock: Clock = time.time,
        redactor: Redactor | None = None,
    ) -> None:
        self.folder = folder
        self.redactor = redactor or Redactor()
        self.path = database or folder / "agi.sqlite"
        self.hub = Hub()
        self.owner = leases.process_owner()
        self.projection = projection
        self._clock = clock
        prepare(self.path, (*STEPS, *projection.steps))
        self.db = connect(self.path)
        """For reading, on the event loop's thread; never written through."""
        self.epoch = int(self.db.execute("SELECT value FROM meta WHERE key='epoch'").fetchone()[0])
        projection.epoch = self.epoch
        self.watch = Watch(self.db, self.hub)
        self.mirror = Mirror(folder / "sessions", self.path)
        self._writer = Writer(self.path, projection.rolled_back)

    async def append(
        self, session_id: str, entries: Entries, *, lease: Lease | None = None, check: Check | None = None
    ) -> list[Event]:
        """Write events of one session, all or none; returns them, numbered, once they are durable."""
        return await asyncio.shield(self.append_nowait(session_id, entries, lease=lease, check=check))

    def append_nowait(
        self, session_id: str, entries: Entries, *, lease: Lease | None = None, check: Check | None = None
    ) -> asyncio.Future[list[Event]]:
        """Queue the append and return; appends become durable in the order they were made."""
        find: Find
        if callable(entries):
            make = entries
            find = lambda db: self._encoded(make(db))  # noqa: E731 - it closes over what was asked for
        else:
            encoded = self._encoded(entries)
            find = lambda db: encoded  # noqa: E731
        return self._writer.submit(_Append(self, session_id, to_rfc3339(self._clock()), find, lease, check))

    def _encoded(self, entries: Sequence[Entry]) -> list[Encoded]:
        clean = self.redactor.clean
        return [(turn_id, data.TYPE, _one_line(clean(encode_data(data)))) for turn_id, data in entries]

    def say_live(self, session_id: str, turn_id: str | None, seq: int, data: ModelOutputDelta) -> None:
        """Show open text to live followers before it is in the log."""
        clean = self.redactor.clean_text(data.delta)
        if clean != data.delta:
            data = msgspec.structs.replace(data, delta=clean)
        self.hub.publish_live(LiveDelta(seq, to_rfc3339(self._clock()), session_id, turn_id, data))

    def read(self, session_id: str, after: int = 0, limit: int = 1000) -> list[Event]:
        """Read a page of a session's events."""
        return read_page(self.db, session_id, after, limit)

    def last_seq(self, session_id: str) -> int:
        """The number of the session's last event; 0 if there is none."""
        row = self.db.execute("SELECT max(seq) FROM events WHERE session_id=?", (session_id,)).fetchone()
        return row[0] or 0

    async def follow(self, session_id: str, cursor: Cursor | None = None) -> AsyncIterator[Batch]:
        """Yield what comes after `cursor` (default: from now), past and live, until the session is deleted."""
        self.watch.start()
        start = cursor or Cursor(self.last_seq(session_id), None, self.epoch)
        subscription = self.hub.subscribe(session_id)
        try:
            follower = Follower(self, session_id, start, subscription)
            async for batch in follower.batches():
                yield batch
        finally:
            self.hub.unsubscribe(session_id, subscription)

    def listen(self, session_id: str, listener: Callable[[Event], None]) -> None:
        """Call `listener` with each durable event of the session, whichever process wrote it."""
        self.watch.start()
        self.hub.listen(session_id, listener)

    async def delete(self, session_id: str) -> None:
        """Remove a session for good: its events, rows, mirror and files; whoever follows it comes to the end."""

        def work(db: sqlite3.Connection) -> None:
            if not db.execute("DELETE FROM events WHERE session_id=?", (session_id,)).rowcount:
                raise _no_session(session_id)
            self.projection.forget(db, session_id)
            db.execute("DELETE FROM leases WHERE session_id=?", (session_id,))
            db.execute("UPDATE meta SET value=value+1 WHERE key='deletions'")

        await self._writer.submit(_Followed(work, lambda: self.mirror.forget(session_id)))
        self.hub.wake_session(session_id)

    async def take_lease(self, session_id: str) -> Lease:
        """Become the process that runs this session; raises Conflict while another one does."""
        return await self._writer.submit(Job(lambda db: leases.take(db, session_id, self.owner)))

    async def release_lease(self, lease: Lease) -> None:
        """Let another process run the session."""
        await self._writer.submit(Job(lambda db: leases.release(db, lease)))

    async def renew_leases(self) -> None:
        """Hold on to all leases of this process."""
        await self._writer.submit(Job(lambda db: leases.renew(db, self.owner)))

    async def mirrored(self) -> None:
        """Return once the mirror has caught up with what was appended so far."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        tell = partial(self.mirror.call_when_written, partial(_finish_soon, loop, done))
        await self._writer.submit(_Followed(lambda db: None, tell))
        await done

    async def close(self) -> None:
        """Finish what is queued, give back every lease and close every file."""
        await self.watch.stop()
        with contextlib.suppress(StorageError):  # a disk that fails now must not keep us from closing
            await self._writer.submit(Job(lambda db: leases.release_all(db, self.owner)))
        self._writer.stop()
        await asyncio.to_thread(self._writer.join)
        await asyncio.to_thread(self.mirror.close)
        self.db.close()


class _Followed(Job[None]):
    """Work, and what comes after it in the mirror's order: behind what was committed before."""

    __slots__ = ("_then",)

    def __init__(self, work: Callable[[sqlite3.Connection], None], then: Callable[[], object]) -> None:
        super().__init__(work)
        self._then = then

    def committed(self) -> None:
        """The mirror is told."""
        self._then()


class _Append(Job[list[Event]]):
    """Events of one session on their way to disk."""

    __slots__ = ("_check", "_find", "_last_id", "_lease", "_log", "_session_id", "_snapshot", "_ts")

    def __init__(
        self,
        log: EventLog,
        session_id: str,
        ts: str,
        find: Find,
        lease: Lease | None,
        check: Check | None,
    ) -> None:
        super().__init__(self._write)
        self._log = log
        self._session_id = session_id
        self._ts = ts
        self._find = find
        self._lease = lease
        self._check = check
        self._last_id = 0
        self._snapshot: bytes | None = None

    def _write(self, db: sqlite3.Connection) -> list[Event]:
        if self._lease is not None:
            leases.require(db, self._lease)
        if self._check is not None:
            self._check(db)
        seq = db.execute("SELECT max(seq) FROM events WHERE session_id=?", (self._session_id,)).fetchone()[0] or 0
        encoded = self._find(db)
        if not seq and encoded[0][1] != SessionCreated.TYPE:
            raise _no_session(self._session_id)  # deleted meanwhile: a late word must not bring back half of it
        events = [
            Event(seq + n, self._ts, self._session_id, turn_id, kind, raw)
            for n, (turn_id, kind, raw) in enumerate(encoded, 1)
        ]
        for event in events:
            self._last_id = insert(db, event)
        self._log.projection.apply(db, self._session_id, events)
        if any(event.type in STATE_CHANGES for event in events):
            self._snapshot = self._log.projection.snapshot(db, self._session_id)
        return events

    def committed(self) -> None:
        """The mirror follows."""
        self._log.mirror.follow(self._session_id, self.result, self._snapshot)

    def told(self) -> None:
        """Everybody hears of it."""
        self._log.watch.hear(self.result, self._last_id)


def _no_session(session_id: str) -> NotFound:
    return NotFound(
        f"There is no session {session_id[:80]!r}.",
        code="session_not_found",
        hint="List the sessions with GET /v1/sessions or `agi sessions`.",
    )


def _one_line(raw: bytes) -> bytes:
    """The same JSON as one line of a mirror: a model may have written its arguments over several."""
    return raw.replace(b"\n", b" ").replace(b"\r", b" ") if b"\n" in raw or b"\r" in raw else raw


def _finish_soon(loop: asyncio.AbstractEventLoop, done: asyncio.Future[None]) -> None:
    """On the mirror's thread: let somebody go on, if they still wait."""
    try:
        loop.call_soon_threadsafe(_finish, done)
    except RuntimeError:
        return  # their loop is gone


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
