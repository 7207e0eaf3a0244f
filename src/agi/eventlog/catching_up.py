"""Catching up at a start: what killed processes kept from the mirrors is made up for from the database.

Looks, on the mirror's thread, at each session that was written to since all mirrors were last known to be whole, in
slices so short that whoever waits for the mirror does not notice. Snapshots are made by the writer, and the mirror
follows its commits in order, so nothing is mirrored twice. May import: protocol, eventlog.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from pathlib import Path

from msgspec import Struct

from agi.eventlog.base import Projection
from agi.eventlog.mirror import STATE_CHANGES, Mirror, last_seq, session_folder
from agi.eventlog.salvage import read_snapshot
from agi.eventlog.schema import connect
from agi.eventlog.writer import Job, Writer
from agi.protocol.ids import SESSION, is_id

SLICE_S = 0.02
PAUSE_S = 0.005
MOST_LAGGING = 64
"""Sessions that are made whole before others are looked at."""


class Slice(Struct):
    """What a part of the looking found: sessions that lag, and the last session it came to; None behind them all."""

    lagging: list[str]
    after: str | None


class CatchingUp:
    """One look at all mirrors."""

    def __init__(
        self, db: sqlite3.Connection, database: Path, mirror: Mirror, projection: Projection, writer: Writer
    ) -> None:
        self._database = database
        self._mirror = mirror
        self._projection = projection
        self._writer = writer
        mark = db.execute("SELECT CAST(value AS INTEGER) FROM meta WHERE key='mirrored'").fetchone()
        self._mark = mark[0] if mark else 0
        """The mirrors hold every event up to this id, as far as anybody found out."""
        self._newest: int = db.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0]
        self._is_whole = False
        self._failures = 0
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def wait(self) -> None:
        """Return when it is over."""
        await asyncio.shield(self._task)

    async def stop(self) -> None:
        """Look no further."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def record(self, db: sqlite3.Connection) -> None:
        """Remember, if all went well, how far the mirrors are known to be whole; inside a writer's transaction."""
        # Only what was there at the start: other processes write too, and may be killed before they mirror it.
        if self._is_whole and self._newest > self._mark:
            db.execute(
                "INSERT INTO meta VALUES ('mirrored', ?) ON CONFLICT (key) DO UPDATE SET value=excluded.value",
                (str(self._newest),),
            )

    async def _run(self) -> None:
        after: str | None = ""
        try:
            while after is not None:
                found = await asyncio.wrap_future(self._mirror.ask(partial(self._look, after)))
                await self._restore(found.lagging)
                after = found.after
                await asyncio.sleep(PAUSE_S)
        except Exception as error:
            self._note(error)
        self._is_whole = not self._failures

    def _look(self, after: str) -> Slice:
        """Look at the sessions behind `after`: at one at least, then for as long as a slice takes."""
        lagging: list[str] = []
        until = time.monotonic() + SLICE_S
        with closing(connect(self._database)) as db:
            while (session_id := _next(db, after)) is not None:
                after = session_id
                if self._lags(db, session_id):
                    lagging.append(session_id)
                if len(lagging) == MOST_LAGGING or time.monotonic() > until:
                    return Slice(lagging, after)
        return Slice(lagging, None)

    def _lags(self, db: sqlite3.Connection, session_id: str) -> bool:
        try:
            newest = "SELECT seq, id FROM events WHERE session_id=? ORDER BY seq DESC LIMIT 1"
            seq, last_id = db.execute(newest, (session_id,)).fetchone() or (0, 0)
            if last_id <= self._mark or not is_id(session_id, SESSION):
                return False  # looked at before, or none of ours: as a path it might lead anywhere
            folder = session_folder(self._mirror.folder, session_id)
            return not (_holds(folder, session_id, seq) and _is_current(db, folder, session_id, seq))
        except Exception as error:  # whatever is wrong with one session, the others are looked at
            self._note(error)
            return False

    async def _restore(self, session_ids: list[str]) -> None:
        jobs = [_Restore(session_id, self._mirror, self._projection) for session_id in session_ids]
        outcomes = await asyncio.gather(*map(self._writer.submit, jobs), return_exceptions=True)
        answers = [asyncio.wrap_future(job.answer) for job in jobs if job.answer is not None]
        for outcome in outcomes + await asyncio.gather(*answers, return_exceptions=True):
            if isinstance(outcome, Exception):
                self._note(outcome)

    def _note(self, error: Exception) -> None:
        self._failures += 1
        self._mirror.failure = error


class _Restore(Job[tuple[int, bytes | None]]):
    """How a session stands: what its files should hold, in the order of the commits."""

    __slots__ = ("_mirror", "_projection", "_session_id", "answer")

    def __init__(self, session_id: str, mirror: Mirror, projection: Projection) -> None:
        super().__init__(self._read)
        self._session_id = session_id
        self._mirror = mirror
        self._projection = projection
        self.answer: Future[None] | None = None

    def _read(self, db: sqlite3.Connection) -> tuple[int, bytes | None]:
        row = db.execute("SELECT max(seq) FROM events WHERE session_id=?", (self._session_id,)).fetchone()
        return row[0] or 0, self._projection.snapshot(db, self._session_id)

    def committed(self) -> None:
        """The mirror makes up for it, unless the session was deleted meanwhile."""
        through, snapshot = self.result
        if through:
            self.answer = self._mirror.ask(partial(self._mirror.restore, self._session_id, through, snapshot))


def _next(db: sqlite3.Connection, after: str) -> str | None:
    found: str | None = db.execute("SELECT min(session_id) FROM events WHERE session_id>?", (after,)).fetchone()[0]
    return found


def _holds(folder: Path, session_id: str, seq: int) -> bool:
    """Whether the mirror ends with the session's last event."""
    try:
        fd = os.open(folder / "events.ndjson", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return False
    try:
        return last_seq(fd, session_id, seq) == seq
    finally:
        os.close(fd)


def _is_current(db: sqlite3.Connection, folder: Path, session_id: str, seq: int) -> bool:
    """Whether nothing that would change `session.json` came after it was written."""
    snapshot = read_snapshot(folder / "session.json")
    if snapshot is None or snapshot.last_seq >= seq:
        return snapshot is not None
    later = db.execute("SELECT type FROM events WHERE session_id=? AND seq>?", (session_id, snapshot.last_seq))
    return not any(kind in STATE_CHANGES for (kind,) in later)
