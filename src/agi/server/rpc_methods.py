"""What each method of `/v1/rpc` does: a translation of the verbs of sessions. May import: errors, protocol, sessions,
server.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from msgspec import UNSET, UnsetType

from agi.errors import Conflict
from agi.protocol import rpc
from agi.protocol.chat import ChatUsage
from agi.protocol.commands import Approve, Cancel, Compact
from agi.protocol.drafts import ListedTask, Roles
from agi.protocol.resources import Resource
from agi.server.rpc_words import Who, pending
from agi.sessions.below import in_scope, states_below
from agi.sessions.harness import Harness
from agi.sessions.team import create_project, roles_of
from agi.views import pool, queries

CHANNEL = "rpc"
SLOW = frozenset({"await_agent", "compact"})
"""Methods that may take long: meanwhile the client's next messages are heard."""
T = TypeVar("T")


class Methods:
    """The methods for one client, which speaks of one project at a time; `attend` is told which."""

    def __init__(self, harness: Harness, attend: Callable[[Resource], None]) -> None:
        self._harness = harness
        self._crew = harness.crew
        self._attend = attend
        self._project: str | None = None
        """The project the client drafted in last; what names no project is about this one, or the daemon's own."""
        self._by_name: dict[str, Callable[[Any], Awaitable[object]]] = {
            "auth": self._auth,
            "draft": self._draft,
            "undraft": self._undraft,
            "get_draft_status": self._status,
            "submit_prompt": self._submit,
            "list_projects": self._projects,
            "create_project": self._create_project,
            "list_tasks": self._tasks,
            "create_task": self._create_task,
            "list_roles": self._roles,
            "list_agents": self._agents,
            "await_agent": self._await,
            "kill_agent": self._kill,
            "cancel": self._cancel,
            "compact": self._compact,
            "approve": self._approve,
        }

    async def call(self, params: rpc.Params) -> object:
        """Do what is asked for; raises what is wrong with it."""
        return await self._by_name[params.METHOD](params)

    def project(self, name: str | UnsetType = UNSET) -> Resource:
        """The project that is meant; the client is told of what happens there from now on."""
        wanted = _given(name) or self._project
        found = self._crew.projects.find("repositories", wanted) if wanted else self._own()
        self._attend(found)
        return found

    async def _auth(self, params: rpc.Auth) -> rpc.Done:
        return rpc.Done()  # known already, which does no harm

    async def _draft(self, params: rpc.DraftParams) -> rpc.Drafted:
        project = self.project(params.project)
        drafted = await self._crew.drafts.create_draft(
            role=params.role, project=project, task_slug=params.task, channel_id=CHANNEL
        )
        self._project = project.name
        return rpc.Drafted(session_id=drafted.session_id, task_slug=drafted.task_slug, project=drafted.project)

    async def _undraft(self, params: rpc.Undraft) -> rpc.Undrafted:
        closed = await self._crew.drafts.close_draft(self._crew.drafts.active(self.project(params.project)))
        return rpc.Undrafted(
            session_id=closed.session_id,
            task_slug=closed.task_slug,
            turns=closed.turns,
            cost=closed.cost,
            duration_s=closed.seconds,
        )

    async def _status(self, params: rpc.GetDraftStatus) -> rpc.DraftStatusResult:
        project = self.project(params.project)
        session_id = pool.open_draft(self._harness.log.db, project.path)
        if session_id is None or not self._crew.drafts.is_whole(session_id):
            if session_id is not None:
                await self._crew.drafts.close_damaged(session_id)
            closed = self._crew.drafts.closed_by_harness(project.path)
            return rpc.DraftStatusResult(active=False, closed=UNSET if closed is None else closed)
        draft = self._crew.drafts.draft(session_id)
        return rpc.DraftStatusResult(active=True, session=draft, pending=self._pending(session_id))

    async def _submit(self, params: rpc.SubmitPrompt) -> rpc.Submitted:
        project = self.project(params.project)
        session_id = pool.open_draft(self._harness.log.db, project.path)
        agent_id: str | UnsetType = UNSET
        if session_id is not None:
            posted = await self._crew.drafts.resume_draft(session_id, params.content, mode=params.mode)
            turn_id, message_id, queued = posted.turn_id or "", posted.message_id, posted.queued
        else:
            session_id = agent_id = await self._crew.dispatching.dispatch(
                project=project, role=_given(params.role), content=params.content, task_slug=_given(params.task_slug)
            )
            turn_id = self._harness.state(session_id).last_turn_id or ""
            message_id, queued = self._harness.turn(session_id, turn_id).message_id, False
        state = self._harness.state(session_id)
        who = state.draft or state.worker
        return rpc.Submitted(
            session_id=session_id,
            task_slug=who.task_slug if who else "",
            turn_id=turn_id,
            message_id=message_id,
            queued=queued,
            agent_id=agent_id,
        )

    async def _projects(self, params: rpc.ListProjects) -> rpc.ProjectList:
        found = self._crew.projects.all("repositories")
        return rpc.ProjectList(projects=tuple(self._told(one) for one in found))

    async def _create_project(self, params: rpc.CreateProject) -> rpc.Project:
        return self._told(create_project(self._crew, params.name, params.path))

    async def _tasks(self, params: rpc.ListTasks) -> rpc.TaskList:
        site = self._harness.site(self.project(params.project).path)
        return rpc.TaskList(tasks=tuple(self._crew.tasks.all(site.workspace)))

    async def _create_task(self, params: rpc.CreateTask) -> rpc.TaskCreated:
        site = self._harness.site(self.project(params.project).path)
        made: ListedTask = self._crew.tasks.create(site.workspace, params.title, _given(params.slug))
        return rpc.TaskCreated(task_slug=made.task_slug, task_dir=made.task_dir)

    async def _roles(self, params: rpc.ListRoles) -> Roles:
        return roles_of(self._harness.site(self.project(params.project).path).agents)

    async def _agents(self, params: rpc.ListAgents) -> rpc.AgentList:
        return rpc.AgentList(agents=tuple(self._crew.pool.agents()))

    async def _await(self, params: rpc.AwaitAgent) -> rpc.AgentResult:
        result = await self._crew.dispatching.await_agent(params.agent_id, _given(params.timeout_s))
        return rpc.AgentResult(
            agent_id=result.agent_id,
            status=result.status,
            summary=result.summary,
            changes=result.changes,
            artifacts=result.artifacts,
            verification=result.verification,
            usage=ChatUsage.of(result.usage),
            stop_reason=result.stop_reason,
            merge=result.merge,
        )

    async def _kill(self, params: rpc.KillAgent) -> rpc.Killed:
        return rpc.Killed(killed=await self._crew.dispatching.kill_agent(params.agent_id))

    async def _cancel(self, params: rpc.CancelParams) -> rpc.Canceled:
        session_id = _given(params.session_id) or self._crew.drafts.active(self.project(params.project))
        command = Cancel(reason="canceled by the user", scope="turn")
        canceled: list[str] = []
        problem: Conflict | None = None
        for one in (session_id, *in_scope(self._harness.log.db, session_id, params.scope, None)):
            try:
                canceled += await self._harness.cancel(one, command)
            except Conflict as error:  # it does nothing
                problem = error
        if problem is not None and not canceled:
            raise problem
        return rpc.Canceled(canceled=tuple(canceled))

    async def _compact(self, params: rpc.CompactParams) -> rpc.CompactedResult:
        session_id = _given(params.session_id) or self._crew.drafts.active(self.project(params.project))
        done = await self._harness.compact(session_id, Compact(focus=params.focus))
        return rpc.CompactedResult(pre_tokens=done.pre_tokens, post_tokens=done.post_tokens, status=done.status)

    async def _approve(self, params: rpc.ApproveParams) -> rpc.Done:
        command = Approve(
            tool_call_id=params.tool_call_id,
            action=params.action,
            turn_id=_given(params.turn_id),
            reason=params.reason,
            remember=params.remember,
            digest=_given(params.digest),
            hunks=_given(params.hunks),
            client="rpc",
        )
        session_id = queries.session_of_call(self._harness.log.db, params.tool_call_id)
        await self._harness.approve(session_id, command)
        return rpc.Done()

    def _own(self) -> Resource:
        """The daemon's own project, under whatever name it has."""
        project = self._harness.project
        own = Resource(kind="repositories", name=project.name or "root", path=str(project))
        return next((one for one in self._crew.projects.all("repositories") if one.path == own.path), own)

    def _told(self, project: Resource) -> rpc.Project:
        draft = pool.open_draft(self._harness.log.db, project.path)
        return rpc.Project(name=project.name, path=project.path, draft=draft)

    def _pending(self, session_id: str) -> tuple[rpc.ApprovalRequested, ...]:
        """What waits for a person: the draft's own questions, and those of its workers."""
        found: list[rpc.ApprovalRequested] = []
        for state in (self._harness.state(session_id), *states_below(self._harness.log.db, session_id)):
            who = Who.of(state)
            if who is not None and state.turn is not None:
                found += [pending(who, asked) for asked in state.turn.pending]
        return tuple(found)


def _given(value: T | UnsetType) -> T | None:
    return None if value is UNSET else value
