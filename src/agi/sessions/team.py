"""The harness as one drafted agent, or a worker, may deal with it. May import: errors, protocol, tools, sessions."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from agi.agents.base import Agent
from agi.errors import Conflict, Invalid, NotAllowed, NotFound
from agi.protocol import events as ev
from agi.protocol.drafts import Role, Roles
from agi.protocol.policies import Budget
from agi.protocol.resources import PutResource, Resource
from agi.sessions.dispatching import Parent
from agi.tools.team import AwaitAgent, DraftAgent
from agi.views import pool
from agi.views.state import SessionState

if TYPE_CHECKING:
    from agi.agents.base import Agents
    from agi.sessions.crew import Crew
    from agi.sessions.harness import Harness
    from agi.sessions.merging import Merging
    from agi.tools.changes import Operation


class SessionTeam:
    """What one session's agent may see and start."""

    def __init__(self, harness: Harness, crew: Crew, state: SessionState, turn_id: str, agent: Agent) -> None:
        self.permissions = agent.permissions
        self._harness = harness
        self._crew = crew
        self._session_id = state.id
        self._own = {row.session_id for row in pool.children(harness.log.db, state.id)}
        self._merging: Merging | None = None
        self._turn_id = turn_id
        self._workspace_path = state.workspace_path
        self._task_slug = state.draft.task_slug if state.draft else state.worker.task_slug if state.worker else ""
        self._project = state.draft.project if state.draft else state.worker.project if state.worker else ""

    async def draft_agent(self, call_id: str, asked: DraftAgent) -> object:
        """Start a worker, in this project or one that the role may see; or have one work on."""
        most = Budget(usd=asked.max_usd, tokens=asked.max_tokens)
        if asked.agent_id is not None:
            self._refuse_others(asked.agent_id)
            return {"agent_id": await self._crew.dispatching.go_on(asked.agent_id, asked.prompt, most, call_id)}
        if asked.role is None:
            raise Invalid("Nobody is named to do it.", hint="Name a role, or the worker that is to work on.")
        parent = Parent(session_id=self._session_id, turn_id=self._turn_id, call_id=call_id)
        agent_id = await self._crew.dispatching.dispatch(
            project=self._where(asked.project),
            role=asked.role,
            content=asked.prompt,
            task_slug=asked.task_slug or (None if asked.project else self._task_slug or None),
            parent=parent,
            most=most,
        )
        self._own.add(agent_id)
        return {"agent_id": agent_id}

    async def await_agent(self, asked: AwaitAgent) -> object:
        """Wait for a worker of this session."""
        self._refuse_others(asked.agent_id)
        return await self._crew.dispatching.await_agent(asked.agent_id, asked.timeout_s)

    async def kill_agent(self, agent_id: str) -> object:
        """Stop a worker of this session."""
        self._refuse_others(agent_id)
        return {"killed": await self._crew.dispatching.kill_agent(agent_id)}

    async def ready_to_merge(self, agent_id: str) -> AbstractAsyncContextManager[None]:
        """Hold off other merges; raises if there is nothing that can be merged."""
        self._refuse_others(agent_id)
        state = self._crew.dispatching.results.worker(agent_id)
        if state.turn is not None or state.queue:
            raise Conflict("The worker is not over yet.", code="worker_running", hint="Await it first.")
        if state.worker is None or not state.worker.kept_apart or not self._crew.apart.is_there(agent_id):
            hint = "It changed no file, or worked in your own files, or was merged already."
            raise Conflict("There is nothing to merge from this worker.", code="nothing_to_merge", hint=hint)
        return self._crew.merging

    def merging(self, agent_id: str) -> Operation:
        """What a worker changed; looks at files only, since it is asked in a thread."""
        from agi.sessions.merging import Merging  # late: the edit engine

        if agent_id not in self._own:
            raise NotFound(f"You have no worker {agent_id[:80]!r}.", hint="draft_agent gives you the id of one.")
        apart = self._crew.apart
        self._merging = Merging(apart.files(agent_id), apart.base(agent_id), apart.kept)
        return self._merging.operation()

    async def merged(self, agent_id: str, files: list[str]) -> None:
        """Say so, and let the worker's folder go."""
        turn_id = self._harness.state(agent_id).last_turn_id or ""
        data = ev.WorkerMerged(agent_id=agent_id, session_id=agent_id, worker_turn_id=turn_id, files=tuple(files))
        await self._crew.reporting.merged(self._session_id, data)
        workspace = self._harness.site(self._workspace_path).workspace
        await self._crew.apart.remove(agent_id, workspace)
        await self._harness.sites.forget(self._crew.apart.files(agent_id))

    async def bounced(self, agent_id: str) -> str:
        """Tell the worker, once; the second time it is for the agent here to decide."""
        merging = self._merging
        state = self._harness.state(self._session_id)
        mark = state.workers.get(agent_id)
        paths = tuple(one.path for one in merging.clashes) if merging is not None else ()
        turn_id = self._harness.state(agent_id).last_turn_id or ""
        data = ev.WorkerMerged(agent_id=agent_id, session_id=agent_id, worker_turn_id=turn_id, conflicts=paths)
        await self._crew.reporting.merged(self._session_id, data)
        if merging is None or (mark is not None and mark.bounced):
            return "Nothing was changed. It conflicted before: make the change yourself, or tell the worker what to do."
        begins = await asyncio.to_thread(merging.hand_back)
        await asyncio.to_thread(self._crew.apart.rebase, agent_id, begins)
        await self._crew.dispatching.go_on(agent_id, merging.message())
        return "Nothing was changed. The worker was told and works on it: await it, then merge it again."

    async def look(self, what: str) -> object:
        """What there is; only this project's, unless it is projects that are asked for."""
        if what == "projects":
            return [{"name": one.name, "path": one.path} for one in self._crew.projects.all("repositories")]
        site = self._harness.site(self._workspace_path)
        if what == "roles":
            return roles_of(site.agents).roles
        if what == "tasks":
            return self._crew.tasks.all(site.workspace)
        return [one for one in self._crew.pool.agents() if one.project == self._project]

    async def create_project(self, name: str, path: str) -> object:
        """Register a folder under a name that is free; a person has been asked."""
        made = create_project(self._crew, name, path)
        return {"name": made.name, "path": made.path}

    def _where(self, name: str | None) -> Resource:
        if name is None or name == self._project:
            return Resource(kind="repositories", name=self._project, path=self._workspace_path)
        if "projects-list" not in self.permissions:
            hint = "Leave `project` out, to have it done here."
            raise NotAllowed("This role may not work in other projects.", hint=hint)
        return self._crew.projects.find("repositories", name)

    def _refuse_others(self, agent_id: str) -> None:
        if agent_id not in self._own:
            raise NotFound(f"You have no worker {agent_id[:80]!r}.", hint="draft_agent gives you the id of one.")


def roles_of(agents: Agents) -> Roles:
    """Everyone who can be drafted, and which files do not count."""
    found = tuple(
        Role(name=one.name, description=one.description, permissions=one.permissions, source=one.source)
        for one in agents.all()
    )
    return Roles(roles=found, problems=agents.problems)


def create_project(crew: Crew, name: str, path: str) -> Resource:
    """Register a folder as a project, under a name that nobody has."""
    if any(one.name == name for one in crew.projects.all("repositories")):
        raise Conflict(f"There is a project {name!r} already.", code="project_exists", hint="Choose another name.")
    return crew.projects.put("repositories", name, PutResource(path=path))[0]
