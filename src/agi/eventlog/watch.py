"""Telling the hub of every event once: our own as they are committed, other processes' as they show up in the file.

Ids are given in the order of commits, so whoever has told of id n has told of all up to n. On the event loop.
May import: protocol, eventlog.
"""

from __future__ import annotations

import asyncio
import sqlite3

from agi.eventlog.hub import Hub
from agi.eventlog.rows import SELECT, from_row
from agi.protocol.events import Event

POLL_S = 0.1
PAGE = 1000


class Watch:
    """How far the file has been told of."""

    def __init__(self, db: sqlite3.Connection, hub: Hub) -> None:
        self._db = db
        self._hub = hub
        self._told = self._newest()
        self._deletions = self._deleted()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Look for what other processes write, as long as somebody listens; called before somebody begins to."""
        self.catch_up()
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._look())

    @property
    def position(self) -> tuple[int, int]:
        """Up to which event of all sessions the hub was told, and how many deletions there had been by then."""
        return self._told, int(self._deletions)

    async def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def hear(self, events: list[Event], last_id: int) -> None:
        """Tell of events of ours that are on disk now, and first of what others wrote before them."""
        if self._told >= last_id:
            return  # they were found in the file before we got here
        if self._told == last_id - len(events) or not self._is_needed():
            self._told = last_id
            self._hub.publish(events)
        else:
            self.catch_up()

    def catch_up(self) -> None:
        """Tell of everything that is in the file; afterwards the hub knows what a reader of the file knows."""
        newest = self._newest()
        if not self._is_needed():
            self._told = max(self._told, newest)
        while self._told < newest:
            rows = self._db.execute(
                f"{SELECT} WHERE id>? AND id<=? ORDER BY id LIMIT ?", (self._told, newest, PAGE)
            ).fetchall()
            self._told = rows[-1][0] if len(rows) == PAGE else newest
            self._hub.publish(from_row(row) for row in rows)

    async def _look(self) -> None:
        version = None
        while self._hub.has_listeners:
            now = self._db.execute("PRAGMA data_version").fetchone()[0]
            if now != version:
                version = now
                self.catch_up()
                self.look_for_deletions()
            await asyncio.sleep(POLL_S)

    def look_for_deletions(self) -> None:
        """Tell whoever listens to a session that is gone, whichever process deleted it."""
        deletions = self._deleted()
        if deletions == self._deletions:
            return
        self._deletions = deletions
        for session_id in self._hub.sessions():
            if not self._db.execute("SELECT 1 FROM events WHERE session_id=? LIMIT 1", (session_id,)).fetchone():
                self._hub.wake_session(session_id)

    def _is_needed(self) -> bool:
        """Whether anybody would hear, or open text is held that others may have closed."""
        return self._hub.has_listeners or bool(self._hub.open)

    def _newest(self) -> int:
        return int(self._db.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0])

    def _deleted(self) -> str:
        return str(self._db.execute("SELECT value FROM meta WHERE key='deletions'").fetchone()[0])
