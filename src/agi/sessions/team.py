"""The harness as one drafted agent, or a worker, may deal with it. May import: errors, protocol, tools, sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agi.agents.base import Agent
from agi.errors import NotAllowed, NotFound
from agi.protocol.drafts import Role, Roles
from agi.protocol.resources import PutResource, Resource
from agi.sessions.dispatching import Parent
from agi.tools.team import AwaitAgent, DraftAgent
from agi.views import pool
from agi.views.state import SessionState

if TYPE_CHECKING:
    from agi.agents.base import Agents
    from agi.sessions.crew import Crew
    from agi.sessions.harness import Harness


class SessionTeam:
    """What one session's agent may see and start."""

    def __init__(self, harness: Harness, crew: Crew, state: SessionState, turn_id: str, agent: Agent) -> None:
        self.permissions = agent.permissions
        self._harness = harness
        self._crew = crew
        self._session_id = state.id
        self._turn_id = turn_id
        self._workspace_path = state.workspace_path
        self._task_slug = state.draft.task_slug if state.draft else state.worker.task_slug if state.worker else ""
        self._project = state.draft.project if state.draft else state.worker.project if state.worker else ""

    async def draft_agent(self, call_id: str, asked: DraftAgent) -> object:
        """Start a worker, in this project or one that the role may see."""
        parent = Parent(session_id=self._session_id, turn_id=self._turn_id, call_id=call_id)
        agent_id = await self._crew.dispatching.dispatch(
            project=self._where(asked.project),
            role=asked.role,
            content=asked.prompt,
            task_slug=asked.task_slug or (None if asked.project else self._task_slug or None),
            parent=parent,
        )
        return {"agent_id": agent_id}

    async def await_agent(self, asked: AwaitAgent) -> object:
        """Wait for a worker of this session."""
        self._refuse_others(asked.agent_id)
        return await self._crew.dispatching.await_agent(asked.agent_id, asked.timeout_s)

    async def kill_agent(self, agent_id: str) -> object:
        """Stop a worker of this session."""
        self._refuse_others(agent_id)
        return {"killed": await self._crew.dispatching.kill_agent(agent_id)}

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
        if agent_id not in {row.session_id for row in pool.children(self._harness.log.db, self._session_id)}:
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
    from agi.errors import Conflict

    if any(one.name == name for one in crew.projects.all("repositories")):
        raise Conflict(f"There is a project {name!r} already.", code="project_exists", hint="Choose another name.")
    return crew.projects.put("repositories", name, PutResource(path=path))[0]
