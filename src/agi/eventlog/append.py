"""Events of one session on their way to disk: numbered, chained, stored and projected at once, mirrored, then told.

Runs on the writer's thread, save for the telling. May import: errors, protocol, eventlog.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Protocol

from agi.errors import NotFound
from agi.eventlog import chain, leases
from agi.eventlog.base import Check, Lease, Projection
from agi.eventlog.mirror import STATE_CHANGES, Mirror
from agi.eventlog.older import Ends
from agi.eventlog.rows import NO_TEXT, insert
from agi.eventlog.watch import Watch
from agi.eventlog.writer import Job
from agi.protocol.events import Event, SessionCreated

Encoded = tuple[str | None, str, bytes]
"""An event that has no number yet: its turn, its type, its data as one line of JSON."""
Find = Callable[[sqlite3.Connection], Sequence[Encoded]]
"""Tells, inside the transaction, what is to be appended."""


class Target(Protocol):
    """What an append needs of the log."""

    projection: Projection
    mirror: Mirror
    ends: Ends
    watch: Watch

    def observed(self, events: Sequence[Event]) -> None:
        """Show them to whoever observes what this process writes."""


class Append(Job[list[Event]]):
    """One append, all or nothing; of nothing, if nothing is found to append."""

    __slots__ = ("_check", "_find", "_last_id", "_lease", "_log", "_session_id", "_snapshot", "_ts")

    def __init__(
        self, log: Target, session_id: str, ts: str, find: Find, lease: Lease | None, check: Check | None
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
        events = self._numbered(db, self._find(db))
        if not events:
            return []
        for event in events:
            self._last_id = insert(db, event)
        self._log.projection.apply(db, self._session_id, events)
        if any(event.type in STATE_CHANGES for event in events):
            self._snapshot = self._log.projection.snapshot(db, self._session_id)
        return events

    def _numbered(self, db: sqlite3.Connection, found: Sequence[Encoded]) -> list[Event]:
        newest = "SELECT seq, hash FROM events WHERE session_id=? ORDER BY seq DESC LIMIT 1"
        seq, before = db.execute(newest, (self._session_id,)).fetchone() or (0, "")
        if not isinstance(before, str):
            raise sqlite3.DatabaseError(NO_TEXT)
        if found and not seq and found[0][1] != SessionCreated.TYPE:
            raise no_session(self._session_id)  # deleted meanwhile: a late word must not bring back half of it
        if found:
            self._log.ends.compare(self._session_id, seq)
        events: list[Event] = []
        for n, (turn_id, kind, raw) in enumerate(found, 1):
            event = Event(seq + n, self._ts, self._session_id, turn_id, kind, raw)
            before = event.hash = chain.link(before, event)
            events.append(event)
        return events

    def committed(self) -> None:
        """The mirror follows."""
        if self.result:
            self._log.mirror.follow(self._session_id, self.result, self._snapshot)

    def told(self) -> None:
        """Everybody hears of it."""
        if self.result:
            self._log.watch.hear(self.result, self._last_id)
            self._log.observed(self.result)


def no_session(session_id: str) -> NotFound:
    """Make the error of a session that is not, or no longer, there."""
    return NotFound(
        f"There is no session {session_id[:80]!r}.",
        code="session_not_found",
        hint="List the sessions with GET /v1/sessions or `agi sessions`.",
    )


def one_line(raw: bytes) -> bytes:
    """The same JSON as one line of a mirror: a model may have written its arguments over several."""
    return raw.replace(b"\n", b" ").replace(b"\r", b" ") if b"\n" in raw or b"\r" in raw else raw
