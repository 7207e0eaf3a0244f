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
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from agi.errors import StorageError, Unavailable
from agi.eventlog import leases, texts
from agi.eventlog.append import Append, Encoded, Find, no_session, one_line
from agi.eventlog.base import Check, Cursor, Entries, Entry, Lease, LiveDelta, Projection
from agi.eventlog.catching_up import CatchingUp
from agi.eventlog.hub import Hub
from agi.eventlog.mirror import Mirror
from agi.eventlog.older import Ends
from agi.eventlog.rows import NO_TEXT, read_page
from agi.eventlog.schema import STEPS, UNREADABLE, prepared, unreadable
from agi.eventlog.watch import Watch
from agi.eventlog.writer import Job, Writer
from agi.protocol.events import Event, ModelOutputDelta, encode_data
from agi.protocol.times import Clock, to_rfc3339
from agi.redaction import Redactor

if TYPE_CHECKING:
    from agi.eventlog.follow import Batch

T = TypeVar("T")


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
        self.db = prepared(self.path, (*STEPS, *projection.steps))
        """For reading, on the event loop's thread; never written through."""
        try:
            self.epoch = int(self.db.execute("SELECT value FROM meta WHERE key='epoch'").fetchone()[0])
            self.watch = Watch(self.db, self.hub)
        except UNREADABLE as error:
            self.db.close()
            raise unreadable(self.path, error) from error
        projection.epoch = self.epoch
        self.mirror = Mirror(folder / "sessions", self.path)
        self.ends = Ends(folder / "sessions", self.path)
        self._writer = Writer(self.path, projection.rolled_back)
        self._catching_up: CatchingUp | None = None
        self.observers: list[Callable[[Sequence[Event]], None]] = []
        """Called with what this process made durable, on the event loop; one that fails keeps nobody from hearing."""

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
        return self._writer.submit(Append(self, session_id, to_rfc3339(self._clock()), find, lease, check))

    async def append_last_word(self, session_id: str, entries: Sequence[Entry], *, lease: Lease) -> list[Event]:
        """Write events although the disk is full, in the room that is set aside; raises DiskFull if there is none."""
        encoded = self._encoded(entries)
        job = Append(self, session_id, to_rfc3339(self._clock()), lambda db: encoded, lease, None)
        job.is_last_word = True
        return await asyncio.shield(self._writer.submit(job))

    async def keep_reserve(self) -> None:
        """Set room aside for last words, once there is some, and see from now on that it is there."""
        self._writer.reserve.want()
        await self._writer.submit(Job(lambda db: None))

    def _encoded(self, entries: Sequence[Entry]) -> list[Encoded]:
        clean = self.redactor.clean
        return [(turn_id, data.TYPE, one_line(clean(encode_data(data)))) for turn_id, data in entries]

    def observed(self, events: Sequence[Event]) -> None:
        """Show the observers what was made durable here."""
        for observer in self.observers:
            try:
                observer(events)
            except Exception as error:
                context = {"message": "An observer of the log failed.", "exception": error}
                asyncio.get_running_loop().call_exception_handler(context)

    def say_live(self, session_id: str, turn_id: str | None, seq: int, data: ModelOutputDelta) -> None:
        """Show open text to live followers before it is in the log."""
        clean = self.redactor.clean_text(data.delta)
        if clean != data.delta:
            data = msgspec.structs.replace(data, delta=clean)
        self.hub.publish_live(LiveDelta(seq, to_rfc3339(self._clock()), session_id, turn_id, data))

    def read(self, session_id: str, after: int = 0, limit: int = 1000) -> list[Event]:
        """Read a page of a session's events; raises StorageError where they cannot be read."""
        try:
            return read_page(self.db, session_id, after, limit)
        except UNREADABLE as error:
            raise unreadable(self.path, error) from error

    def last_seq(self, session_id: str) -> int:
        """The number of the session's last event; 0 if there is none."""
        row = self.db.execute("SELECT max(seq) FROM events WHERE session_id=?", (session_id,)).fetchone()
        if not isinstance(row[0], int | None):
            raise unreadable(self.path, sqlite3.DatabaseError(NO_TEXT))
        return row[0] or 0

    async def follow(self, session_id: str, cursor: Cursor | None = None) -> AsyncIterator[Batch]:
        """Yield what comes after `cursor` (default: from now), past and live, until the session is deleted.

        Raises StorageError where the log cannot be read.
        """
        from agi.eventlog.follow import Follower  # late: a daemon that was just started is followed by nobody

        try:
            self.watch.start()
            start = cursor or Cursor(self.last_seq(session_id), None, self.epoch)
            subscription = self.hub.subscribe(session_id)
            try:
                follower = Follower(self, session_id, start, subscription)
                async for batch in follower.batches():
                    yield batch
            finally:
                self.hub.unsubscribe(session_id, subscription)
        except UNREADABLE as error:
            raise unreadable(self.path, error) from error

    def listen(self, session_id: str, listener: Callable[[Event], None]) -> None:
        """Call `listener` with each durable event of the session, whichever process wrote it."""
        self.watch.start()
        self.hub.listen(session_id, listener)

    async def delete(self, session_id: str, *, check: Check | None = None) -> None:
        """Remove a session for good: its events, rows, mirror and files; whoever follows it comes to the end."""
        from agi.eventlog import deleting  # late: hardly any run deletes something

        def work(db: sqlite3.Connection) -> None:
            if check is not None:
                check(db)
            self.projection.forget(db, session_id)  # first: what it takes out may be made from the events
            shared = texts.of_session(db, session_id)
            if not db.execute("DELETE FROM events WHERE session_id=?", (session_id,)).rowcount:
                raise no_session(session_id)
            texts.drop(db, shared)
            db.execute("DELETE FROM leases WHERE session_id=?", (session_id,))
            db.execute("UPDATE meta SET value=value+1 WHERE key='deletions'")
            deleting.remember(db, session_id)

        await self._writer.submit(_Followed(work, lambda: self.mirror.forget(session_id)))
        self.watch.look_for_deletions()

    async def finish_deletions(self) -> None:
        """See that nothing is left of sessions that were removed, also by processes that were killed meanwhile."""
        from agi.eventlog import deleting  # late, as above

        gone = [one for one in deleting.deleted(self.db) if not self.last_seq(one)]
        for session_id in gone:
            self.mirror.forget(session_id)
        await self.mirrored()
        if gone:
            await self._writer.submit(Job(lambda db: deleting.forget(db, gone)))

    async def take_lease(self, session_id: str) -> Lease:
        """Become the process that runs this session; raises Conflict while another one does."""
        taking = self._writer.submit(Job(lambda db: leases.take(db, session_id, self.owner)))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            taking.add_done_callback(self._give_back)  # nobody will know that it was taken
            raise

    def _give_back(self, taking: asyncio.Future[Lease]) -> None:
        if taking.cancelled() or taking.exception() is not None:
            return
        lease = taking.result()
        with contextlib.suppress(Unavailable):  # a log that closes gives all of them back
            releasing = self._writer.submit(Job(lambda db: leases.release(db, lease)))
            releasing.add_done_callback(lambda done: done.cancelled() or done.exception())  # it expires all the same

    async def release_lease(self, lease: Lease) -> None:
        """Let another process run the session."""
        await self._writer.submit(Job(lambda db: leases.release(db, lease)))

    async def renew_leases(self) -> None:
        """Hold on to all leases of this process."""
        await self._writer.submit(Job(lambda db: leases.renew(db, self.owner)))

    async def maintain(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do work on a view that follows the log at its own pace, in a transaction of the writer's."""
        return await self._writer.submit(Job(work))

    async def mirrored(self) -> None:
        """Return once the mirror has what was appended so far."""
        asked: list[Future[None]] = []
        await self._writer.submit(_Followed(lambda db: None, lambda: asked.append(self.mirror.ask(lambda: None))))
        await asyncio.wrap_future(asked[0])

    def catch_up_mirrors(self) -> CatchingUp:
        """Begin to make up, in the background, for what killed processes kept from the mirrors; once, at a start."""
        if self._catching_up is None:
            self._catching_up = CatchingUp(self.db, self.path, self.mirror, self.projection, self._writer)
        return self._catching_up

    async def close(self) -> None:
        """Finish what is queued, give back every lease and close every file."""
        await self.watch.stop()
        if self._catching_up is not None:
            await self._catching_up.stop()
        with contextlib.suppress(StorageError):  # a disk that fails now must not keep us from closing
            await self._writer.submit(Job(self._leave))
        self._writer.stop()
        await asyncio.to_thread(self._writer.join)
        await asyncio.to_thread(self.mirror.close)
        self.db.close()

    def _leave(self, db: sqlite3.Connection) -> None:
        leases.release_all(db, self.owner)
        if self._catching_up is not None:
            self._catching_up.record(db)


class _Followed(Job[None]):
    """Work, and what comes after it in the mirror's order: behind what was committed before."""

    __slots__ = ("_then",)

    def __init__(self, work: Callable[[sqlite3.Connection], None], then: Callable[[], object]) -> None:
        super().__init__(work)
        self._then = then

    def committed(self) -> None:
        """The mirror is told."""
        self._then()
