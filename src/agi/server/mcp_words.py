"""The words of our MCP tools: what each takes and gives, in snake_case, and how values of the house become them.

Where a tool is a method of `/v1/rpc`, its arguments are that method's. Values only: what a tool does is in mcp_tools.
May import: protocol.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from agi.protocol.commands import Name, Path, Reason
from agi.protocol.messages import Urgency, Usage
from agi.protocol.sessions import Activity, ErrorInfo, PendingApproval, Risk, SessionStatus, TurnStatus
from agi.protocol.workers import DispatchResult, MergeState, Scope, WorkChange, WorkStatus

PATIENCE_S = 45.0
"""How long a call waits unless it says otherwise: many clients give up on one after a minute."""
LONGEST_S = 3600.0
LONGEST_TEXT = 20_000
"""Characters of one text at most; the middle of a longer one is left out."""

Content = Annotated[str, Meta(min_length=1, max_length=1_000_000)]
Project = Annotated[Name, Meta(description="A project by its name; without it, the one that is served here.")]
Seconds = Annotated[
    float, Meta(ge=0, le=LONGEST_S, description="Wait so many seconds at most; the work goes on meanwhile.")
]
Worker = Annotated[Name, Meta(description="What draft_agent gave.")]
SessionId = Annotated[Name, Meta(description="The session's id, sess_…")]


class Takes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a tool takes."""


class Nothing(Takes, frozen=True, kw_only=True):
    """No arguments."""


class DraftAgent(Takes, frozen=True, kw_only=True):
    """Who is to do what."""

    prompt: Annotated[Content, Meta(description="Everything the agent needs to know: it sees nothing else.")]
    role: Annotated[Name, Meta(description="Who does it; list_roles names them.")] | None = None
    task_slug: Annotated[Name, Meta(description="The task it works on; list_tasks names them.")] | None = None
    project: Project | None = None
    agent_id: Annotated[Name, Meta(description="A worker that is to work on, in the place of a new one.")] | None = None


class AwaitAgent(Takes, frozen=True, kw_only=True):
    """Which worker, and how long."""

    agent_id: Worker
    timeout_s: Seconds = PATIENCE_S


class KillAgent(Takes, frozen=True, kw_only=True):
    """Which worker."""

    agent_id: Worker


class InProject(Takes, frozen=True, kw_only=True):
    """Which project."""

    project: Project | None = None


class CreateProject(Takes, frozen=True, kw_only=True):
    """A folder, and what it is to be called."""

    name: Annotated[Name, Meta(description="Letters, digits, '.', '_' and '-'.")]
    path: Annotated[Path, Meta(description="An absolute path of a folder that is there.")]


class CreateTask(Takes, frozen=True, kw_only=True):
    """What is to be done."""

    title: Annotated[str, Meta(min_length=1, max_length=500)]
    slug: Annotated[Name, Meta(description="The name of its folder; made from the title if absent.")] | None = None
    project: Project | None = None


class Draft(Takes, frozen=True, kw_only=True):
    """Whom, and for which task."""

    role: Annotated[Name, Meta(description="list_roles names them.")]
    task: Annotated[Name, Meta(description="The slug of a task that is there; create_task makes one.")]
    project: Project | None = None


class SubmitPrompt(Takes, frozen=True, kw_only=True):
    """What is said to the draft; without one, to a new worker."""

    content: Content
    role: Annotated[Name, Meta(description="Who does it, if no draft is active.")] | None = None
    task_slug: Annotated[Name, Meta(description="For what, if no draft is active.")] | None = None
    project: Project | None = None
    mode: Annotated[Urgency, Meta(description="While the draft works: wait, be taken up next, or stop it.")] = "queue"


class PromptSession(Takes, frozen=True, kw_only=True):
    """What is said, and in which session."""

    prompt: Content
    session_id: Annotated[Name, Meta(description="The session to go on with; without it, a new one begins.")] | None = (
        None
    )
    agent: Annotated[Name, Meta(description="Who answers; list_roles names them.")] | None = None
    provider: Name | None = None
    model: Name | None = None
    title: Annotated[str, Meta(max_length=500, description="The title of a new session.")] | None = None
    project: Project | None = None
    timeout_s: Seconds = PATIENCE_S


class ReadSession(Takes, frozen=True, kw_only=True):
    """Which session, and how much of it."""

    session_id: SessionId
    limit: Annotated[int, Meta(ge=0, le=200, description="How many of the latest messages.")] = 10
    before: Annotated[Name, Meta(description="Messages before the one with this id.")] | None = None


class ListSessions(Takes, frozen=True, kw_only=True):
    """How many."""

    limit: Annotated[int, Meta(ge=1, le=200)] = 20


class CancelSession(Takes, frozen=True, kw_only=True):
    """What is to stop: a session, else the active draft."""

    session_id: SessionId | None = None
    project: Project | None = None
    scope: Annotated[
        Scope, Meta(description="turn: only this session. children: its workers too. all: the whole tree.")
    ] = "children"


class CompactSession(Takes, frozen=True, kw_only=True):
    """Which conversation, and what must stay."""

    session_id: SessionId | None = None
    project: Project | None = None
    focus: Annotated[str, Meta(max_length=10_000, description="What the summary must keep.")] = ""


class ApproveCall(Takes, frozen=True, kw_only=True):
    """Which call, and whether it may run."""

    tool_call_id: Annotated[Name, Meta(description="As `pending` lists it.")]
    action: Literal["approve", "deny"]
    turn_id: Name | None = None
    reason: Annotated[Reason, Meta(description="Told to the agent.")] = ""


class Pending(Struct, frozen=True, kw_only=True):
    """A call that waits for a person."""

    session_id: str
    turn_id: str
    tool_call_id: str
    tool_name: str
    args: str
    """Its arguments as JSON, every character visible."""
    risk: Risk
    reason: str

    @classmethod
    def of(cls, session_id: str, asked: PendingApproval) -> Pending:
        """What is told of a question."""
        return cls(
            session_id=session_id if isinstance(asked.session_id, UnsetType) else asked.session_id,
            turn_id=asked.turn_id,
            tool_call_id=asked.tool_call_id,
            tool_name=asked.name,
            args=clipped(asked.shown or bytes(asked.input).decode(errors="replace")),
            risk=asked.risk,
            reason=asked.reason,
        )


class Drafted(Struct, frozen=True, kw_only=True):
    """A worker works."""

    agent_id: str
    session_id: str


class AgentOutcome(Struct, frozen=True, kw_only=True):
    """What came of a worker, or that it is not over; `pending` lists what it waits for."""

    agent_id: str
    status: WorkStatus
    summary: str
    changes: tuple[WorkChange, ...] = ()
    artifacts: tuple[str, ...] = ()
    verification: str = "not_run"
    usage: Usage = Usage()
    stop_reason: str = ""
    merge: MergeState = "none"
    pending: tuple[Pending, ...] = ()

    @classmethod
    def of(cls, result: DispatchResult, pending: tuple[Pending, ...]) -> AgentOutcome:
        """A result as it is told."""
        given = {name: getattr(result, name) for name in result.__struct_fields__}
        return cls(**{**given, "pending": pending})


class Answered(Struct, frozen=True, kw_only=True):
    """How the turn stands: answered, or still at it, or waiting for what `pending` lists."""

    session_id: str
    turn_id: str
    status: TurnStatus
    activity: Activity
    text: str = ""
    """What the agent said last."""
    stop_reason: str = ""
    error: ErrorInfo | None = None
    pending: tuple[Pending, ...] = ()
    usage: Usage = Usage()


class Said(Struct, frozen=True, kw_only=True):
    """One message."""

    id: str
    role: str
    text: str
    tools: tuple[str, ...] = ()
    """The tools that were called with it."""
    created_at: str


class SessionBrief(Struct, frozen=True, kw_only=True):
    """A session in one line."""

    session_id: str
    title: str | None
    agent: str
    status: SessionStatus
    activity: Activity
    workspace_path: str
    updated_at: str


class SessionList(Struct, frozen=True, kw_only=True):
    """Sessions, most recently touched first."""

    sessions: tuple[SessionBrief, ...]


class SessionRead(Struct, frozen=True, kw_only=True):
    """A session, what was said in it, and what it waits for."""

    session: SessionBrief
    messages: tuple[Said, ...]
    has_more: bool
    pending: tuple[Pending, ...] = ()
    usage: Usage = Usage()


def clipped(text: str, most: int = LONGEST_TEXT) -> str:
    """A text within bounds: its beginning and its end, and how much is left out between them."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out …]\n{text[-half:]}"


def told(value: object) -> Any:
    """A value of the house as JSON can have it: fields by their own names, in snake_case; what is unset is left out."""
    if isinstance(value, Raw):
        return msgspec.json.decode(value)
    if isinstance(value, Struct):
        pairs = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return {name: told(one) for name, one in pairs if one is not UNSET}
    if isinstance(value, list | tuple):
        return [told(one) for one in value]
    return clipped(value) if isinstance(value, str) else value


def schema_of(kind: type[Struct]) -> dict[str, Any]:
    """The JSON schema of such a value, without references."""
    (top,), parts = msgspec.json.schema_components([kind])
    return cast("dict[str, Any]", _plain(top, parts, _snake))


def input_schema_of(kind: type[Struct]) -> dict[str, Any]:
    """The JSON schema of what a tool takes."""
    from agi.tools.schema import input_schema

    return cast("dict[str, Any]", input_schema(kind))


def _plain(node: Any, parts: dict[str, Any], rename: Callable[[str], str]) -> Any:
    if isinstance(node, list):
        return [_plain(one, parts, rename) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _plain(parts[str(node["$ref"]).rpartition("/")[2]], parts, rename)
    plain = {key: _plain(value, parts, rename) for key, value in node.items() if key not in ("title", "default")}
    if isinstance(node.get("properties"), dict):
        fields = node["properties"].items()
        plain["properties"] = {rename(name): _plain(value, parts, rename) for name, value in fields}
        plain["required"] = [rename(name) for name in node.get("required", ())]
    return plain


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[1].lower(), name)
