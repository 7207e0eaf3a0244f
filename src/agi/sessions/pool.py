"""The pool: the drafts and workers that are alive, and who wants to hear when that changes.

The log says who is in it; here is only who listens. May import: errors, eventlog, protocol, views.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from agi.errors import AgiError
from agi.eventlog.base import ENDINGS
from agi.eventlog.log import EventLog
from agi.protocol.drafts import PooledAgent
from agi.protocol.events import Event
from agi.views import queries
from agi.views.pool import Row, is_open, open_rows
from agi.views.state import SessionState

UNREADABLE = (AgiError, msgspec.MsgspecError, ValueError, RecursionError)
"""What reading a damaged session may raise."""
CHANGES = ENDINGS | {
    "draft_opened",
    "draft_closed",
    "agent_dispatched",
    "message_added",
    "turn_started",
    "turn_resumed",
    "approval_requested",
    "approval_granted",
    "approval_denied",
    "model_backed_off",
    "context_compacted",
    "compaction_undone",
    "session_deleted",
}
"""The events after which one of them may stand otherwise."""

_LAST = ENDINGS | {"draft_closed", "session_deleted"}
"""After one of these, a session may be alive no more."""

Heard = Callable[[Event], None]


class Pool:
    """Who is alive. `on_event` hears each event of theirs."""

    def __init__(self, log: EventLog, on_event: Heard) -> None:
        self._log = log
        self._on_event = on_event
        self._listened: set[str] = set()
        self._watchers: set[Callable[[], None]] = set()
        self._told = False
        for row in open_rows(log.db):
            self.add(row.session_id)

    def agents(self) -> list[PooledAgent]:
        """Everyone who is alive, the oldest first; one whose session cannot be read is left out."""
        found = [pooled(row, state) for row in open_rows(self._log.db) if (state := self._state(row)) is not None]
        return [one for one in found if one is not None]

    def add(self, session_id: str) -> None:
        """Listen to one more."""
        if session_id not in self._listened:
            self._listened.add(session_id)
            self._log.listen(session_id, self._hear)
        self._tell()

    def watch(self, told: Callable[[], None]) -> Callable[[], None]:
        """Have `told` called whenever something changes; gives how to end that."""
        self._watchers.add(told)
        return lambda: self._watchers.discard(told)

    def close(self) -> None:
        """Listen no longer."""
        for session_id in self._listened:
            self._log.hub.unlisten(session_id, self._hear)
        self._listened.clear()
        self._watchers.clear()

    def _state(self, row: Row) -> SessionState | None:
        try:
            return queries.session_state(self._log.db, row.session_id)
        except UNREADABLE:
            return None

    def _hear(self, event: Event) -> None:
        if event.type in CHANGES:
            self._tell()
        self._on_event(event)
        if event.type in _LAST and not is_open(self._log.db, event.session_id):
            self._listened.discard(event.session_id)
            self._log.hub.unlisten(event.session_id, self._hear)

    def _tell(self) -> None:
        """Once for all that happens at one moment."""
        if self._told or not self._watchers:
            return
        self._told = True
        asyncio.get_running_loop().call_soon(self._tell_now)

    def _tell_now(self) -> None:
        self._told = False
        for told in tuple(self._watchers):
            told()


def pooled(row: Row, state: SessionState) -> PooledAgent | None:
    """One of them as clients see it."""
    who = state.draft if row.kind == "draft" else state.worker
    if who is None:
        return None
    return PooledAgent(
        agent_id=row.session_id,
        role=who.role,
        kind=row.kind,
        status=state.activity,
        session_id=row.session_id,
        task_slug=row.task_slug,
        project=who.project,
        parent_id=row.parent,
        started_at=who.started_at,
    )
