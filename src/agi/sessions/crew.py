"""The crew: drafts, workers, the pool of both, and the tasks they work on, as one harness has them.

May import: errors, protocol, views, sessions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from agi.errors import AgiError, Conflict
from agi.eventlog.base import ENDINGS
from agi.protocol.commands import Cancel
from agi.protocol.drafts import Work
from agi.protocol.events import Event
from agi.sessions.dispatching import Dispatching
from agi.sessions.drafts import Drafts
from agi.sessions.pool import UNREADABLE, Pool
from agi.sessions.reporting import Reporting
from agi.sessions.resources import Resources
from agi.sessions.tasks import Tasks
from agi.tools.base import Tool
from agi.views import pool, queries
from agi.views.state import SessionState, TurnState

if TYPE_CHECKING:
    from agi.agents.base import Agent
    from agi.sessions.harness import Harness

STOPPED_S = 10.0
"""How long a turn that was told to stop is waited for."""
RECORDED_SUMMARY = 2_000


class Crew:
    """Everybody who works for a harness, and on what."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self.merging = asyncio.Lock()
        """One worker's changes after the other."""
        self._recording: set[asyncio.Task[None]] = set()
        self.projects = Resources(harness)
        self.tasks = Tasks(harness.log.db, self._work_of)
        self.drafts = Drafts(harness, self)
        self.apart = harness.apart
        self.dispatching = Dispatching(harness, self)
        self.reporting = Reporting(harness.log, self.dispatching.results)
        self.pool = Pool(harness.log, self._hear)

    async def catch_up(self) -> None:
        """At a start: bring files up to the log, and close drafts that cannot go on."""
        await self.drafts.catch_up()
        await self.reporting.catch_up()
        for row in pool.open_rows(self._harness.log.db):
            if row.kind == "worker" and not is_at_work(self._harness.state(row.session_id)):
                # It was never told what to do.
                await self._harness.log.maintain(partial(pool.close_row, session_id=row.session_id))
        await self.sweep()

    async def sweep(self) -> None:
        """Let the folders of workers go whose sessions are gone."""
        found = self.apart.sweep(lambda name: queries.exists(self._harness.log.db, name))
        for name in found:
            await self.apart.remove(name, None)

    async def close(self) -> None:
        """Listen no longer, and finish what is being written."""
        self.pool.close()
        await self.drafts.close()
        await asyncio.gather(*self._recording, return_exceptions=True)

    async def stop(self, session_id: str, reason: str) -> bool:
        """Cancel whatever a session does, and wait until it has ended; False if it did nothing."""
        try:
            turns = await self._harness.cancel(session_id, Cancel(reason=reason))
        except Conflict:
            return False  # over by itself
        with suppress(TimeoutError):
            async with asyncio.timeout(STOPPED_S):
                for turn_id in turns:
                    await self._harness.wait_turn(session_id, turn_id)
        return True

    async def recorded(self, project_path: str, task_slug: str) -> None:
        """Write down in a task's file who has worked on it; where that is not possible, the log has it all the same."""
        if task_slug:
            with suppress(AgiError, OSError):
                self.tasks.record(self._harness.site(project_path).workspace, task_slug)

    def team(self, state: SessionState, turn: TurnState, agent: Agent) -> tuple[Tool, ...]:
        """The tools by which a drafted agent, or a worker, deals with the harness; as its role permits."""
        from agi.sessions.team import SessionTeam  # late: most sessions have no team
        from agi.tools.team import team_tools

        policy = self._harness.site(state.workspace_path).config.workers
        depth = state.worker.depth if state.worker is not None and state.worker.root_session_id else 0
        team = SessionTeam(self._harness, self, state, turn.id, agent)
        return team_tools(team, may_draft=depth < policy.max_depth)

    def _hear(self, event: Event) -> None:
        self.drafts.hear(event)
        if event.type in ENDINGS:
            self._record(self._worker_over(event.session_id), event.session_id)
        elif event.type == "approval_requested":
            self._record(self.reporting.waits(event), event.session_id)

    def _record(self, work: Coroutine[None, None, None], session_id: str) -> None:
        task = asyncio.create_task(work, name=f"record {session_id}")
        self._recording.add(task)
        task.add_done_callback(self._recording.discard)

    async def _worker_over(self, session_id: str) -> None:
        try:
            state = self._harness.state(session_id)
        except UNREADABLE:
            return
        if state.worker is not None:
            with suppress(AgiError):
                await self.reporting.ended(session_id)
            await self.recorded(state.project_path, state.worker.task_slug)

    def _work_of(self, row: pool.Row) -> Work:
        """What came of one draft or worker, for the task's record."""
        try:
            state = self._harness.state(row.session_id)
        except UNREADABLE:
            return Work(session_id=row.session_id, role="", kind=row.kind, status="damaged", started_at="")
        if state.draft is not None:
            return Work(
                session_id=state.id,
                role=state.draft.role,
                kind="draft",
                status=state.draft.status,
                started_at=state.draft.started_at,
                ended_at=state.draft.closed_at,
                turns=state.draft.turn_count,
                cost_usd=state.usage.cost_usd,
                summary=state.draft.closed_reason,
                artifacts=self.dispatching.results.artifacts(state.id),
            )
        if state.worker is None:  # the table of who worked is ahead of a log that was rebuilt
            return Work(session_id=state.id, role="", kind="worker", status=state.status, started_at="")
        running = is_at_work(state)
        came = self.dispatching.results.recorded(state.id)
        return Work(
            session_id=state.id,
            role=state.worker.role,
            kind="worker",
            status="running" if running else came.status,
            started_at=state.worker.started_at,
            ended_at="" if running else state.updated_at,
            turns=queries.count_turns(self._harness.log.db, state.id),
            cost_usd=state.usage.cost_usd,
            summary=came.summary[:RECORDED_SUMMARY],
            artifacts=came.artifacts,
        )


def is_at_work(state: SessionState) -> bool:
    """Whether a session has something to do."""
    return state.turn is not None or bool(state.queue)
