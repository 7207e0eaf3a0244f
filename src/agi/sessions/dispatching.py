"""Workers: sessions in which a role's agent works by itself on what another agent, or a person, wants done.

A worker belongs to the daemon, not to whoever asked for it: it goes on when a client leaves, and after a restart. How
many there may be, and what is set aside for each, is decided where it is written. May import: errors, protocol, views,
sessions.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from agi.errors import Conflict, Invalid, NotAllowed, NotFound
from agi.protocol import events as ev
from agi.protocol.commands import CreateSession, PostMessage, UpdateSession
from agi.protocol.ids import SESSION, new_id
from agi.protocol.parts import Json
from agi.protocol.policies import Budget, Budgets
from agi.protocol.resources import Resource
from agi.protocol.tools import ToolKind
from agi.protocol.workers import REPORT_SCHEMA, DispatchResult, KeptApart, WorkerPolicy
from agi.sessions.composing import clean_title
from agi.sessions.drafts import about_task, budget_of
from agi.sessions.reserving import fits, is_limited, left_of, more, refuse_too_little, share
from agi.sessions.work_results import WorkResults
from agi.views import pool, queries
from agi.views.state import SessionState, TurnState

if TYPE_CHECKING:
    from agi.agents.base import Agent
    from agi.sessions.crew import Crew
    from agi.sessions.harness import Harness
    from agi.sessions.sites import Site

CHANGING = (ToolKind.WRITE, ToolKind.EXEC)
MANNERS = (
    "You work for another agent, which sees nothing of what you do but your last answer: say there what you did and "
    "found, and what is open. Nobody answers questions; where something is missing that you cannot find out, say so."
)


class Parent(Struct, frozen=True, kw_only=True):
    """Whose agent asks for a worker, and by which call; a call that is repeated after a crash asks for the same one."""

    session_id: str
    turn_id: str
    call_id: str


class Asked(Struct, frozen=True, kw_only=True):
    """What a worker is for, and what it may use up at most."""

    project: Resource
    role: str | None
    content: str
    task_slug: str | None = None
    most: Budget = Budget()


class Dispatching:
    """Starts workers, waits for them, stops them."""

    def __init__(self, harness: Harness, crew: Crew) -> None:
        self._harness = harness
        self._crew = crew
        self.results = WorkResults(harness)

    async def dispatch(
        self,
        *,
        project: Resource,
        role: str | None,
        content: str,
        task_slug: str | None,
        parent: Parent | None = None,
        most: Budget | None = None,
    ) -> str:
        """Start a worker; gives its id, which is that of its session."""
        asked = Asked(project=project, role=role, content=content, task_slug=task_slug, most=most or Budget())
        if parent is None:
            agent_id = await self._create(asked, None)
        else:
            known = pool.worker_of_call(self._harness.log.db, parent.session_id, parent.turn_id, parent.call_id)
            agent_id = known or await self._create(asked, parent)
        self._crew.pool.add(agent_id)
        state = self._harness.state(agent_id)
        if state.last_turn_id is None and not state.queue:  # else a call was repeated after a crash, and it works
            await self._tell(state, content, again=False, call_id=parent.call_id if parent else "")
        return agent_id

    async def go_on(self, agent_id: str, content: str, most: Budget | None = None, call_id: str = "") -> str:
        """Say something more to a worker, which then works on; one that works hears it when it has ended."""
        state = self.results.worker(agent_id)
        worker = state.worker
        if call_id and self._was_told(state, call_id):
            return agent_id
        if worker is not None and worker.parent_session_id and not pool.is_open(self._harness.log.db, agent_id):
            above = self._harness.state(worker.parent_session_id)
            policy = self._harness.site(above.workspace_path).config.workers
            self._refuse_too_many(self._harness.log.db, policy, worker.root_session_id, "", worker.depth)
            await self._set_aside_again(state, above, most or Budget())
        self._crew.pool.add(agent_id)
        await self._tell(self._harness.state(agent_id), content, again=True, call_id=call_id)
        return agent_id

    async def await_agent(self, agent_id: str, timeout_s: float | None = None) -> DispatchResult:
        """Wait for a worker's end; one that is not over in time is still running, and says so."""
        state = self.results.worker(agent_id)
        if state.last_turn_id is not None and (state.turn is not None or state.queue):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._harness.wait_turn(agent_id, state.last_turn_id)
        return await self.results.result(agent_id)

    async def kill_agent(self, agent_id: str) -> bool:
        """Stop a worker, and the workers below it; False if all were over already. Their sessions stay."""
        self.results.worker(agent_id)
        stopped = await self._crew.stop(agent_id, "killed")
        for row in pool.children(self._harness.log.db, agent_id):
            stopped = await self.kill_agent(row.session_id) or stopped
        return stopped

    async def result(self, agent_id: str) -> DispatchResult:
        """What came of a worker so far."""
        return await self.results.result(agent_id)

    async def _create(self, asked: Asked, parent: Parent | None) -> str:
        site = self._harness.site(asked.project.path)
        agent = site.agents.find(asked.role) if asked.role else site.agents.default(site.config)
        task = self._crew.tasks.find(site.workspace, asked.task_slug) if asked.task_slug else None
        about = about_task(task.title, task.task_slug) if task else ""
        if parent is None:
            began = ev.AgentDispatched(role=agent.name, project=asked.project.name, task_slug=asked.task_slug or "")
            budget = budget_of(agent, site)
            command = _command(str(site.workspace.root), agent, asked.content, about, budget)
            return (await self._harness.create_session(command, also=(began,))).id
        return await self._create_below(asked, parent, site, agent, about)

    async def _create_below(self, asked: Asked, parent: Parent, site: Site, agent: Agent, about: str) -> str:
        """Begin a worker for another agent: within the limits, out of its budget, and apart if it can write."""
        above = self._harness.state(parent.session_id)
        began = _lineage(above, parent, asked, agent)
        policy, db = site.config.workers, self._harness.log.db
        self._refuse_too_many(db, policy, began.root_session_id, began.root_turn_id, began.depth)
        budget = self._share(db, above, policy, _lowest(budget_of(agent, site), asked.most))
        session_id = new_id(SESSION)
        kept_apart = await self._keep_apart(session_id, above, site, agent)
        path = str(self._crew.apart.files(session_id) if kept_apart else site.workspace.root)
        command = _command(path, agent, asked.content, f"{MANNERS}\n\n{about}".strip(), Budgets(per_session=budget))
        began = replace(began, kept_apart=kept_apart)

        def check(db: sqlite3.Connection) -> None:
            self._refuse_too_many(db, policy, began.root_session_id, began.root_turn_id, began.depth)
            now = queries.session_state(db, parent.session_id)
            if not fits(budget, left_of(db, now, self._harness.site(now.workspace_path).config)):
                refuse_too_little(Budget(steps=0))

        try:
            await self._harness.create_session(command, also=(began,), check=check, session_id=session_id)
        except BaseException:
            await self._crew.apart.remove(session_id, site.workspace)
            raise
        return session_id

    async def _keep_apart(self, session_id: str, above: SessionState, site: Site, agent: Agent) -> KeptApart:
        how = site.config.workers.isolate
        here = str(site.workspace.root) == above.workspace_path
        if how == "off" or not here or not self._can_change(agent):
            return ""
        self._crew.apart.lent[session_id] = str(site.project)
        return await self._crew.apart.make(session_id, site.workspace, how)

    def _can_change(self, agent: Agent) -> bool:
        kinds = {one.name: one.kind for one in self._harness.registry.definitions()}
        # A tool that is not known here is a project's own, and may do anything.
        return agent.tools is None or any(kinds.get(name, ToolKind.EXEC) in CHANGING for name in agent.tools)

    def _share(self, db: sqlite3.Connection, above: SessionState, policy: WorkerPolicy, most: Budget) -> Budget:
        alive = sum(row.open for row in pool.children(db, above.id))
        left = left_of(db, above, self._harness.site(above.workspace_path).config)
        budget = share(left, max(2, policy.max_live - alive + 1), most)
        refuse_too_little(budget)
        return budget

    async def _set_aside_again(self, state: SessionState, above: SessionState, most: Budget) -> None:
        """What a worker needs to work on comes from its parent again, on top of what it has used."""
        config = self._harness.site(above.workspace_path).config
        budget = self._share(self._harness.log.db, above, config.workers, most)
        if is_limited(budget):
            raised = Budgets(per_session=more(budget, state.usage, state.seconds))
            await self._harness.update_session(state.id, UpdateSession(budget=raised))

    def _was_told(self, state: SessionState, call_id: str) -> bool:
        """Whether this very call was carried out before a crash."""
        parent = state.worker.parent_session_id if state.worker else ""
        mark = self._harness.state(parent).workers.get(state.id) if parent else None
        return mark is not None and mark.call_id == call_id

    def _turn_above(self, state: SessionState) -> TurnState | None:
        """The turn it works for: where nobody can be asked there, or only so long, a question here waits no longer."""
        parent = state.worker.parent_session_id if state.worker else ""
        with contextlib.suppress(NotFound):  # the parent may be gone
            return self._harness.state(parent).turn if parent else None
        return None

    async def _tell(self, state: SessionState, content: str, *, again: bool, call_id: str) -> None:
        """Give a worker its work; where an agent wants it, the answer has to be a report."""
        worker = state.worker
        for_agent = worker is not None and bool(worker.parent_session_id)
        options: Json | None = {"schema": REPORT_SCHEMA} if for_agent else None
        above = self._turn_above(state)
        message = PostMessage(
            content=content,
            auto_run=True,
            options=options,
            on_ask=above.on_ask if above else "wait",
            approval_timeout_s=above.approval_timeout_s if above else None,
        )
        posted = await self._harness.post_message(state.id, message)
        budget = state.budget.per_session if state.budget is not None else None
        limited = budget if budget is not None and is_limited(budget) else None
        await self._crew.reporting.started(
            state.id, posted.turn_id or "", content, limited, again=again, call_id=call_id
        )

    def _refuse_too_many(
        self, db: sqlite3.Connection, policy: WorkerPolicy, root: str, root_turn: str, depth: int
    ) -> None:
        """Raise if the limits of the tree are reached; without a turn, only what is alive counts."""
        alive = sum(row.open for row in pool.below(db, root))
        started = pool.count_of_turn(db, root, root_turn) if root_turn else 0
        if depth > policy.max_depth:
            problem = f"Workers may stand {policy.max_depth} deep, and this would be {depth}."
            raise NotAllowed(problem, code="workers_max_depth", hint="Do it yourself.")
        if alive >= policy.max_live:
            problem = f"{alive} workers are alive, and no more than {policy.max_live} may be."
            raise Conflict(problem, code="workers_max_live", hint="Await one of them, or kill it.")
        if started >= policy.max_total:
            problem = f"{started} workers were started for this turn, and no more than {policy.max_total} may be."
            raise Conflict(problem, code="workers_max_total", hint="Do the rest yourself.")


def _lineage(above: SessionState, parent: Parent, asked: Asked, agent: Agent) -> ev.AgentDispatched:
    higher = above.worker
    is_top = higher is None or not higher.root_session_id
    return ev.AgentDispatched(
        role=agent.name,
        project=asked.project.name,
        task_slug=asked.task_slug or "",
        parent_session_id=parent.session_id,
        parent_turn_id=parent.turn_id,
        parent_call_id=parent.call_id,
        root_session_id=above.id if is_top or higher is None else higher.root_session_id,
        root_turn_id=parent.turn_id if is_top or higher is None else higher.root_turn_id,
        depth=1 if is_top or higher is None else higher.depth + 1,
    )


def _command(path: str, agent: Agent, content: str, about: str, budget: Budgets | None) -> CreateSession:
    if not content.strip():
        raise Invalid("A worker must be told what to do.", hint="Say it in `prompt`.", code="prompt_empty")
    return CreateSession(
        workspace_path=path,
        agent=agent.name,
        title=clean_title(content),
        system_prompt=about or None,
        budget=budget,
    )


def _lowest(own: Budgets | None, asked: Budget) -> Budget:
    """What the role may cost, and what was asked for: whichever is less."""
    role = own.per_session if own is not None and own.per_session is not None else Budget()
    usd = [one for one in (role.usd, asked.usd) if one is not None]
    return Budget(usd=min(usd, default=None), tokens=asked.tokens, steps=asked.steps, seconds=asked.seconds)
