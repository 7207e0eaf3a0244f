"""The one writer: a thread that commits what everybody asked for, many jobs to a transaction.

While one transaction is being synced to disk, the next jobs gather; so a lone job is committed at once and a crowd
shares its syncs. A job that fails fails alone. Knows nothing of events.
May import: errors, eventlog.reserve, eventlog.schema.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from agi.errors import Damaged, DiskFull, StorageError, Unavailable
from agi.eventlog.reserve import Reserve
from agi.eventlog.schema import connect, unreadable

T = TypeVar("T")
GROUP = 256


class Job(Generic[T]):
    """Work inside a transaction, what follows it, and who waits for it. Subclasses may override the three methods."""

    __slots__ = ("error", "future", "is_last_word", "loop", "result", "work")

    def __init__(self, work: Callable[[sqlite3.Connection], T]) -> None:
        self.work = work
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self.loop.create_future()
        self.result: T
        self.error: BaseException | None = None
        self.is_last_word = False
        """Whether it may take the room that is set aside."""

    def committed(self) -> None:
        """On the writer's thread, after the commit and before anybody is told: whoever is told may rely on it."""

    def told(self) -> None:
        """On the event loop, just before the future is set."""


class Writer:
    """Runs jobs in order, durably, in group commits."""

    def __init__(self, path: Path, rolled_back: Callable[[], None]) -> None:
        self._path = path
        self._db = connect(path, any_thread=True)
        self._file = path.stat()
        self.reserve = Reserve(path)
        self._rolled_back = rolled_back
        self._jobs: queue.SimpleQueue[Job[object] | None] = queue.SimpleQueue()
        self._closed = False
        self._broken: StorageError | None = None
        self._thread = threading.Thread(target=self._run, name="agi-log-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Job[T]) -> asyncio.Future[T]:
        """Queue a job; the future is set once it is on disk."""
        if self._closed:
            raise Unavailable("The log is closed.", hint="The daemon is shutting down; try again when it is back.")
        self._jobs.put(job)  # type: ignore[arg-type]  # the queue holds jobs of every result type
        return job.future

    def stop(self) -> None:
        """Take no more jobs; what is queued is still done. On the same thread as `submit`."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)

    def join(self) -> None:
        """Wait until everything is done."""
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._serve(self._db):
                pass
        finally:
            self._db.close()

    def _serve(self, db: sqlite3.Connection) -> bool:
        first = self._jobs.get()
        group: list[Job[object]] = []
        job: Job[object] | None = first
        while job is not None:
            group.append(job)
            if len(group) == GROUP or self._jobs.empty():
                break
            job = self._jobs.get()
        if group:
            self._commit(db, group)
            for done in group:
                if done.error is None:
                    done.committed()
            self._tell(group)
            self.reserve.tend()
        return job is not None

    def _commit(self, db: sqlite3.Connection, group: list[Job[object]]) -> None:
        admitted = self._admitted(group)
        if admitted:
            self._try(db, admitted)

    def _admitted(self, group: list[Job[object]]) -> list[Job[object]]:
        """Those that may be written now; the others are told why not."""
        if self._broken is None and (not self.reserve.is_spent or self.reserve.keep()):
            return group
        for job in group:
            if self._broken is not None or not job.is_last_word:
                job.error = self._broken or _disk_full()
        return [job for job in group if job.error is None]

    def _try(self, db: sqlite3.Connection, group: list[Job[object]]) -> None:
        try:
            self._transact(db, group)
        except Exception as error:
            # One bad job must not take the others with it: try each in a transaction of its own. But a failing disk or
            # a lock that was waited for in vain is nobody's job, and after a failed sync trying again would be a lie.
            explained = self._explain(error)
            if isinstance(explained, DiskFull) and all(job.is_last_word for job in group) and self.reserve.give_up():
                self._try(db, group)  # at most once more: now there is nothing left to give up
                return
            if len(group) == 1 or self._broken is not None or _is_locked(error):
                for job in group:
                    job.error = explained
                return
            for job in group:
                self._commit(db, [job])

    def _transact(self, db: sqlite3.Connection, group: list[Job[object]]) -> None:
        db.execute("BEGIN IMMEDIATE")
        try:
            self._refuse_replaced()
            for job in group:
                job.result = job.work(db)
            db.execute("COMMIT")
        except BaseException:
            self._rolled_back()
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def _refuse_replaced(self) -> None:
        """Write no more where the file was made again meanwhile: what would be told of is not in the new one."""
        try:
            is_other = not os.path.samestat(self._path.stat(), self._file)
        except OSError:
            return  # taken away, and not made again: the mirrors are written on, and bring it back
        if is_other:
            text = f"{self._path} was made again while this process had it open; nothing more is written."
            self._broken = StorageError(text, hint="Start agi again.")
            raise self._broken

    def _explain(self, error: Exception) -> Exception:
        if not isinstance(error, sqlite3.Error):
            return error
        if "full" in str(error):
            return _disk_full()
        if isinstance(damage := unreadable(self._path, error), Damaged):
            return damage
        failure = StorageError(f"The log could not be written: {error}.", hint="See `agi doctor`.")
        if "I/O" in str(error):
            # After a failed sync nobody knows what reached the disk, so nothing more is claimed to.
            self._broken = StorageError(
                f"The disk failed ({error}); the log takes no more events.", hint="Check the disk, then restart agi."
            )
        return failure

    @staticmethod
    def _tell(group: list[Job[object]]) -> None:
        loops = {job.loop for job in group}
        for loop in loops:
            jobs = [job for job in group if job.loop is loop]
            try:
                loop.call_soon_threadsafe(_deliver, jobs)
            except RuntimeError:  # the loop is gone; the work is on disk all the same
                continue


def _disk_full() -> DiskFull:
    return DiskFull("The disk is full; nothing was written.", hint="Free some space and try again.")


def _is_locked(error: Exception) -> bool:
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def _deliver(jobs: list[Job[object]]) -> None:
    """On the event loop: first everybody hears of the new events, then the callers go on."""
    for job in jobs:
        if job.error is None:
            try:
                job.told()
            except Exception as error:  # a listener's failure is not the writer's: the work is on disk
                job.loop.call_exception_handler({"message": "Telling of new events failed.", "exception": error})
    for job in jobs:
        if job.future.cancelled():
            continue
        if job.error is None:
            job.future.set_result(job.result)
        else:
            job.future.set_exception(job.error)
