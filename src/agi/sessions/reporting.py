"""What a session's log tells of its workers: that one began, ended, or waits for a person.

Each is said once: whether it was said already is looked at where it is written. May import: errors, protocol, eventlog,
views, sessions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import UNSET

from agi.errors import AgiError, Conflict
from agi.eventlog.log import EventLog
from agi.protocol import events as ev
from agi.protocol.policies import Budget
from agi.sessions.below import path_to
from agi.sessions.work_results import WorkResults
from agi.views import pool, queries

if TYPE_CHECKING:
    from agi.eventlog.base import Check
    from agi.views.drafting import WorkerMark

IsNew = Callable[["WorkerMark | None"], bool]
"""Asked with what the log knows of a worker: is there something to say?"""
TASK_TOLD = 500
"""Characters of what a worker is to do that its parent's log repeats."""


class Reporting:
    """Writes about workers into the logs of those they work for."""

    def __init__(self, log: EventLog, results: WorkResults) -> None:
        self._log = log
        self._results = results

    async def started(
        self, agent_id: str, turn_id: str, task: str, budget: Budget | None, *, again: bool, call_id: str
    ) -> None:
        """Say in the parent's log that a worker began, or works on."""
        worker = self._results.worker(agent_id).worker
        if worker is None or not worker.parent_session_id:
            return
        data = ev.WorkerStarted(
            agent_id=agent_id,
            session_id=agent_id,
            role=worker.role,
            task=task[:TASK_TOLD],
            worker_turn_id=turn_id,
            kept_apart=worker.kept_apart,
            budget=budget if budget is not None else UNSET,
            again=again,
            call_id=call_id,
        )
        await self._say(worker.parent_session_id, data, lambda mark: mark is None or mark.turn_id != turn_id)

    async def ended(self, agent_id: str) -> None:
        """Say in the parent's log what came of a worker, if it has ended and that was not said."""
        worker = self._results.worker(agent_id).worker
        turn_id = self._works_on(worker.parent_session_id, agent_id) if worker else ""
        state = self._results.worker(agent_id)  # behind that: what it is told from now on is another turn
        if worker is None or not turn_id or state.turn is not None or state.queue:
            return
        result = await self._results.result(agent_id)
        data = ev.WorkerCompleted(agent_id=agent_id, session_id=agent_id, worker_turn_id=turn_id, result=result)
        await self._say(
            worker.parent_session_id,
            data,
            lambda mark: mark is not None and not mark.is_over and mark.turn_id == turn_id,
        )

    def _works_on(self, parent: str, agent_id: str) -> str:
        """The turn whose end the parent was not told yet; its last may be another, if that one was dropped."""
        with suppress(AgiError):  # the parent may be gone
            mark = queries.session_state(self._log.db, parent).workers.get(agent_id) if parent else None
            return mark.turn_id if mark is not None and not mark.is_over else ""
        return ""

    async def merged(self, parent: str, data: ev.WorkerMerged) -> None:
        """Say in the parent's log what became of a worker's changes."""
        await self._say(parent, data, lambda mark: mark is not None)

    async def waits(self, event: ev.Event) -> None:
        """Say in the root's log that somebody below it waits for an answer."""
        worker = self._results.worker(event.session_id).worker
        if worker is None or not worker.root_session_id or not isinstance(event.data, ev.ApprovalRequested):
            return
        data = ev.WorkerWaiting(
            agent_id=event.session_id,
            session_id=event.session_id,
            worker_turn_id=event.turn_id or "",
            tool_call_id=event.data.tool_call_id,
            name=event.data.name,
            path=path_to(self._log.db, event.session_id),
        )
        await self._say(worker.root_session_id, data, lambda mark: True)

    async def catch_up(self) -> None:
        """At a start: say of every worker what could not be said before the process ended."""
        parents = {row.parent for row in pool.open_rows(self._log.db) if row.parent}
        for parent in parents | set(queries.live_sessions(self._log.db)):
            with suppress(AgiError):
                for agent_id, mark in queries.session_state(self._log.db, parent).workers.items():
                    if not mark.is_over:
                        await self.ended(agent_id)

    async def _say(self, session_id: str, data: ev.EventData, is_new: IsNew) -> None:
        agent_id = getattr(data, "agent_id", "")

        def entries(db: sqlite3.Connection) -> list[tuple[str | None, ev.EventData]]:
            state = queries.session_state(db, session_id)
            return [(state.turn.id if state.turn else None, data)]

        with suppress(AgiError):  # the session is gone, or it was said before
            await self._log.append(session_id, entries, check=_check(session_id, agent_id, is_new))


def _check(session_id: str, agent_id: str, is_new: IsNew) -> Check:
    def check(db: sqlite3.Connection) -> None:
        if not is_new(queries.session_state(db, session_id).workers.get(agent_id)):
            raise Conflict("This was said already.")

    return check
