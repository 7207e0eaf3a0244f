"""The tools by which a drafted agent deals with the harness: who is there, what is to be done, workers of its own.

Which of them an agent gets depends on its role's permissions. What they do is behind a small port, so that this file
knows no session. May import: errors, protocol, tools.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import msgspec
from msgspec import Meta, Struct

from agi.errors import AgiError
from agi.protocol.parts import Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult, failed
from agi.tools.base import Tool, ToolContext
from agi.tools.schema import input_schema, read_input

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from agi.tools.changes import Operation

LONGEST_WAIT_S = 3600.0
Name = Annotated[str, Meta(min_length=1, max_length=200)]
READ_ONLY = ("list_agents", "list_roles", "list_tasks")
NAMES = (*READ_ONLY, "draft_agent", "await_agent", "kill_agent", "merge_agent", "list_projects", "create_project")
"""Every tool there can be; which of them are there is the role's business."""
REPEATABLE = (*READ_ONLY, "draft_agent", "await_agent", "kill_agent", "list_projects")
"""Those that a crash may cut off: made again, they do nothing twice."""


class Team(Protocol):
    """The harness as one session's agent may deal with it; answers are values that can be written as JSON."""

    permissions: tuple[str, ...]

    async def draft_agent(self, call_id: str, asked: DraftAgent) -> object:
        """Start a worker."""

    async def await_agent(self, asked: AwaitAgent) -> object:
        """Wait for one of its own workers."""

    async def kill_agent(self, agent_id: str) -> object:
        """Stop one of its own workers."""

    async def ready_to_merge(self, agent_id: str) -> AbstractAsyncContextManager[None]:
        """Hold off other merges; raises if there is nothing that can be merged."""

    def merging(self, agent_id: str) -> Operation:
        """What a worker changed, as one change of the files here; asked in a thread."""

    async def merged(self, agent_id: str, files: list[str]) -> None:
        """The change was made."""

    async def bounced(self, agent_id: str) -> str:
        """The change conflicts; says what is done about it."""

    async def look(self, what: str) -> object:
        """`agents`, `roles`, `tasks` or `projects`, as a list."""

    async def create_project(self, name: str, path: str) -> object:
        """Register a project."""


class Nothing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """No arguments."""


class DraftAgent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who is to do what."""

    role: Annotated[Name, Meta(description="Who does it; list_roles names them.")] | None = None
    prompt: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=200_000,
            description="Everything the worker needs to know: it sees nothing of this conversation.",
        ),
    ]
    task_slug: Annotated[Name, Meta(description="The task it works on; without it, yours.")] | None = None
    project: Annotated[Name, Meta(description="Another project; needs the permission projects-list.")] | None = None
    agent_id: (
        Annotated[Name, Meta(description="A worker of yours that is to work on, in the place of a new one.")] | None
    ) = None
    max_usd: Annotated[float, Meta(gt=0, le=1e9, description="What it may cost at most.")] | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=10**12, description="Tokens it may use at most.")] | None = None


class AwaitAgent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which worker, and how long."""

    agent_id: Annotated[Name, Meta(description="What draft_agent gave you.")]
    timeout_s: (
        Annotated[float, Meta(gt=0, le=LONGEST_WAIT_S, description="Wait no longer than so many seconds; it goes on.")]
        | None
    ) = None


class KillAgent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which worker."""

    agent_id: Annotated[Name, Meta(description="What draft_agent gave you.")]


class CreateProject(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A folder, and what it is to be called."""

    name: Annotated[Name, Meta(description="Letters, digits, '.', '_' and '-'.")]
    path: Annotated[str, Meta(min_length=1, max_length=4096, description="An absolute path of a folder that is there.")]


class TeamTool:
    """One of them: a definition, and what is done with its input."""

    def __init__(
        self, definition: ToolDefinition, kind: type[Struct], run: Callable[[ToolCall, Any], Awaitable[object]]
    ) -> None:
        self._definition = definition
        self._kind = kind
        self._run = run

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return self._definition

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Do it, and show what came of it as JSON."""
        try:
            found = msgspec.to_builtins(await self._run(call, read_input(call, self._kind)))
        except AgiError as error:
            return refused(call, error)
        text = msgspec.json.format(msgspec.json.encode(found), indent=2).decode()
        return ToolResult(id=call.id, ok=True, parts=(Text(text=text),), result=found)


def refused(call: ToolCall, error: AgiError) -> ToolResult:
    """A refusal as a result: for the model in words, for programs with its code."""
    facts = {"code": error.code, "message": error.message, "hint": error.hint}
    return msgspec.structs.replace(failed(call, f"{error.message} {error.hint}".strip()), result=facts)


def team_tools(team: Team, *, may_draft: bool) -> tuple[Tool, ...]:
    """What the role's permissions allow; `may_draft` says whether workers can be started here at all."""
    from agi.tools.merge_agent import MergeAgentTool  # here: it knows the team too

    tools: list[Tool] = [_looking(team, name.removeprefix("list_"), words) for name, words in _LISTS.items()]
    if "projects-list" in team.permissions:
        tools.append(_looking(team, "projects", "The projects that can be worked in: their names and folders."))
    if "projects-create" in team.permissions:
        tools.append(_creating(team))
    if "agent-draft" in team.permissions and may_draft:
        tools += [*_drafting(team), MergeAgentTool(team)]
    return tuple(tools)


_LISTS = {
    "list_agents": "Who is alive: drafted agents and workers, and what each is doing.",
    "list_roles": "Who can be drafted: roles, what each is for and what it may do.",
    "list_tasks": "The project's tasks, and who has worked on each with what result.",
}


def _looking(team: Team, what: str, words: str) -> TeamTool:
    async def look(call: ToolCall, asked: Nothing) -> object:
        return {what: await team.look(what)}  # a tool's result is an object, in the log and on every surface

    return _tool(f"list_{what}", words, Nothing, look)


def _creating(team: Team) -> TeamTool:
    words = "Register a folder as a project, under a name. The user is asked."
    return _tool(
        "create_project",
        words,
        CreateProject,
        lambda call, asked: team.create_project(asked.name, asked.path),
        kind=ToolKind.WRITE,
        requires_approval=True,
    )


def _drafting(team: Team) -> list[TeamTool]:
    # Started again after a crash, a call finds the worker it has started; stopping twice does no harm. So none of them
    # does anything twice, and each thing a worker does is asked about by itself.
    return [
        _tool(
            "draft_agent",
            "Have another agent do a part of the work by itself, in the background; gives its agent_id. Await it for "
            "its result. With the agent_id of a worker that has ended, that one works on.",
            DraftAgent,
            lambda call, asked: team.draft_agent(call.id, asked),
        ),
        _tool(
            "await_agent",
            "Wait until a worker has ended; gives its status, summary, changes, artifacts, verification and usage. "
            "Where `merge` is `pending`, its changes are not in your files yet: merge_agent takes them.",
            AwaitAgent,
            lambda call, asked: team.await_agent(asked),
            polling=True,
        ),
        _tool(
            "kill_agent",
            "Stop a worker. What it has done so far stays.",
            KillAgent,
            lambda call, asked: team.kill_agent(asked.agent_id),
        ),
    ]


def _tool(
    name: str,
    words: str,
    shape: type[Struct],
    run: Callable[[ToolCall, Any], Awaitable[object]],
    *,
    kind: ToolKind = ToolKind.READ,
    requires_approval: bool = False,
    polling: bool = False,
) -> TeamTool:
    definition = ToolDefinition(
        name=name,
        description=words,
        input_schema=input_schema(shape),
        kind=kind,
        requires_approval=requires_approval,
        polling=polling,
    )
    return TeamTool(definition, shape, run)
