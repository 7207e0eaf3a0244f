"""Workers: a session in which a role's agent answers one message by itself, and what came of it.

A worker belongs to the daemon, not to whoever asked for it: it goes on when a client leaves, and after a restart. Its
result is read from its log. May import: errors, protocol, views, sessions.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from agi.errors import AgiError, Conflict, NotFound
from agi.protocol import events as ev
from agi.protocol.commands import CreateSession, PostMessage
from agi.protocol.drafts import DispatchResult, WorkChange
from agi.protocol.messages import Usage
from agi.protocol.parts import plain_text
from agi.protocol.resources import Resource
from agi.protocol.sessions import ErrorInfo
from agi.sessions.composing import clean_title
from agi.sessions.drafts import about_task, budget_of
from agi.views import pool, queries
from agi.views.state import SessionState

if TYPE_CHECKING:
    from agi.sessions.crew import Crew
    from agi.sessions.harness import Harness

MOST_ALIVE = 8
"""How many workers of one parent may be alive at the same time."""
MOST_IN_ALL = 100
"""How many workers one parent may start altogether."""
LONGEST_SUMMARY = 20_000
MOST_LISTED = 200


class Parent(Struct, frozen=True, kw_only=True):
    """Whose agent asks for a worker, and by which call; a call that is repeated after a crash asks for the same one."""

    session_id: str
    turn_id: str
    call_id: str


class _Outcome(Struct, frozen=True):
    """How a turn ended, as far as a worker's result needs it."""

    message_id: str | None = None
    usage: Usage = Usage()
    verification: str = "not_run"
    reason: str = ""
    error: ErrorInfo | None = None
    note: str = ""


class Dispatching:
    """Starts workers, waits for them, stops them."""

    def __init__(self, harness: Harness, crew: Crew) -> None:
        self._harness = harness
        self._crew = crew

    async def dispatch(
        self, *, project: Resource, role: str | None, content: str, task_slug: str | None, parent: Parent | None = None
    ) -> str:
        """Start a worker; gives its id, which is that of its session."""
        if parent is not None:
            if found := pool.worker_of_call(self._harness.log.db, parent.session_id, parent.turn_id, parent.call_id):
                return found
            self._refuse_too_many(parent.session_id)
        site = self._harness.site(project.path)
        agent = site.agents.find(role) if role else site.agents.default(site.config)
        task = self._crew.tasks.find(site.workspace, task_slug) if task_slug else None
        began = ev.AgentDispatched(
            role=agent.name,
            project=project.name,
            task_slug=task_slug or "",
            parent_session_id=parent.session_id if parent else "",
            parent_turn_id=parent.turn_id if parent else "",
            parent_call_id=parent.call_id if parent else "",
        )
        command = CreateSession(
            workspace_path=str(site.workspace.root),
            agent=agent.name,
            title=clean_title(content),
            system_prompt=about_task(task.title, task.task_slug) if task else None,
            budget=budget_of(agent, site),
        )
        session = await self._harness.create_session(command, also=(began,))
        self._crew.pool.add(session.id)
        await self._harness.post_message(session.id, PostMessage(content=content, auto_run=True))
        return session.id

    async def await_agent(self, agent_id: str, timeout_s: float | None = None) -> DispatchResult:
        """Wait for a worker's end; one that is not over in time is still running, and says so."""
        state = self._worker(agent_id)
        if state.last_turn_id is not None and (state.turn is not None or state.queue):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._harness.wait_turn(agent_id, state.last_turn_id)
        return await self.result(agent_id)

    async def kill_agent(self, agent_id: str) -> bool:
        """Stop a worker, and the workers it asked for; False if it was over already. Its session stays."""
        self._worker(agent_id)
        for row in pool.children(self._harness.log.db, agent_id):
            if row.open:
                await self._crew.stop(row.session_id, "its parent was killed")
        return await self._crew.stop(agent_id, "killed")

    async def result(self, agent_id: str) -> DispatchResult:
        """What came of a worker so far."""
        state = self._worker(agent_id)
        if state.last_turn_id is None:
            return DispatchResult(agent_id=agent_id, status="canceled", summary="It was never told what to do.")
        turn = queries.turn(self._harness.log.db, agent_id, state.last_turn_id)
        if turn.status == "queued" or turn.status == "running":
            asks = state.turn is not None and state.turn.pending
            said = "It waits for an approval." if asks else "It is not over yet."
            return DispatchResult(agent_id=agent_id, status="running", summary=said, usage=state.usage)
        outcome = msgspec.json.decode(turn.outcome or b"{}", type=_Outcome)
        return DispatchResult(
            agent_id=agent_id,
            status=turn.status,
            summary=self._summary(agent_id, outcome),
            changes=await self._changes(agent_id),
            artifacts=self.artifacts(agent_id),
            verification=outcome.verification,
            usage=outcome.usage,
        )

    def summary(self, agent_id: str) -> str:
        """The last thing a worker said, or why there is nothing; empty while it works."""
        state = self._worker(agent_id)
        if state.last_turn_id is None:
            return ""
        turn = queries.turn(self._harness.log.db, agent_id, state.last_turn_id)
        if turn.outcome is None:
            return ""
        return self._summary(agent_id, msgspec.json.decode(turn.outcome, type=_Outcome))

    def artifacts(self, session_id: str) -> tuple[str, ...]:
        """The files a session left besides the project's own, as paths from the project's root."""
        rows = self._harness.log.db.execute(
            "SELECT DISTINCT a.path FROM artifacts a JOIN message_parts p ON p.id=a.message_part_id"
            " JOIN messages m ON m.id=p.message_id WHERE m.session_id=? AND a.path IS NOT NULL ORDER BY a.path LIMIT ?",
            (session_id, MOST_LISTED),
        )
        return tuple(path for (path,) in rows)

    def _worker(self, agent_id: str) -> SessionState:
        with contextlib.suppress(NotFound):
            state = self._harness.state(agent_id)
            if state.worker is not None:
                return state
        raise NotFound(
            f"There is no worker {agent_id[:80]!r}.",
            code="agent_not_found",
            hint="`list_agents` lists those that are alive; a draft is ended with `undraft`.",
        )

    def _refuse_too_many(self, parent: str) -> None:
        children = pool.children(self._harness.log.db, parent)
        if len(children) >= MOST_IN_ALL or sum(one.open for one in children) >= MOST_ALIVE:
            raise Conflict(
                f"This session has {sum(one.open for one in children)} workers alive and started {len(children)}.",
                code="too_many_workers",
                hint=f"At most {MOST_ALIVE} may be alive and {MOST_IN_ALL} started: await some, or do it yourself.",
            )

    def _summary(self, agent_id: str, outcome: _Outcome) -> str:
        if outcome.error is not None:
            return f"{outcome.error.message} {outcome.error.hint}".strip()
        if outcome.message_id is None:
            return outcome.reason or outcome.note or "It was stopped before it said anything."
        messages = self._harness.messages(agent_id, limit=MOST_LISTED, before=None)[0]
        said = next((plain_text(one.parts) for one in reversed(messages) if one.id == outcome.message_id), "")
        return said[:LONGEST_SUMMARY]

    async def _changes(self, agent_id: str) -> tuple[WorkChange, ...]:
        try:
            diff = await self._harness.diff(agent_id)
        except AgiError:
            return ()  # checkpoints are switched off, or their store is gone
        return tuple(WorkChange(path=one.path, status=one.status) for one in diff.files[:MOST_LISTED])
