"""Seed 001's words: the parameters and results of each method of `/v1/rpc`, and what is told unasked; camelCase.

Values only. What each means is server/rpc's business. May import: protocol.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from agi.protocol.chat import ChatUsage
from agi.protocol.commands import Name, Path, Reason
from agi.protocol.drafts import Draft, ListedTask, PooledAgent
from agi.protocol.grants import Remember
from agi.protocol.hunks import Hunk
from agi.protocol.messages import Urgency
from agi.protocol.sessions import Activity, Risk
from agi.protocol.workers import MergeState, Scope, WorkChange, WorkStatus

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_ERROR = -32000
DRAFT_ACTIVE = -32004
NO_DRAFT = -32005

Content = Annotated[str, Meta(min_length=1, max_length=1_000_000)]


class Params(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What a method takes."""

    METHOD: ClassVar[str] = ""


class Auth(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first call of a client that could not send the token as a header."""

    METHOD: ClassVar[str] = "auth"
    token: Annotated[str, Meta(max_length=1000)]


class DraftParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Draft an agent by role into an existing task."""

    METHOD: ClassVar[str] = "draft"
    role: Name
    project: Name | UnsetType = UNSET
    task: Name


class Undraft(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Close the active draft."""

    METHOD: ClassVar[str] = "undraft"
    project: Name | UnsetType = UNSET


class GetDraftStatus(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the active draft stands."""

    METHOD: ClassVar[str] = "get_draft_status"
    project: Name | UnsetType = UNSET


class SubmitPrompt(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Say something to the active draft; without one, have it done by a worker."""

    METHOD: ClassVar[str] = "submit_prompt"
    content: Content
    role: Name | UnsetType = UNSET
    task_slug: Name | UnsetType = UNSET
    project: Name | UnsetType = UNSET
    mode: Urgency = "queue"
    """While the draft works: wait for it, be taken up at its next step (`steer`), or stop it (`interrupt`)."""


class ListProjects(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The projects that can be worked in."""

    METHOD: ClassVar[str] = "list_projects"


class CreateProject(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Register a folder as a project."""

    METHOD: ClassVar[str] = "create_project"
    name: Name
    path: Path


class ListTasks(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The tasks of a project."""

    METHOD: ClassVar[str] = "list_tasks"
    project: Name | UnsetType = UNSET


class CreateTask(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Make a task."""

    METHOD: ClassVar[str] = "create_task"
    project: Name | UnsetType = UNSET
    title: Annotated[str, Meta(min_length=1, max_length=500)]
    slug: Name | UnsetType = UNSET


class ListRoles(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who can be drafted."""

    METHOD: ClassVar[str] = "list_roles"
    project: Name | UnsetType = UNSET


class ListAgents(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who is alive."""

    METHOD: ClassVar[str] = "list_agents"


class AwaitAgent(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Wait for a worker's end."""

    METHOD: ClassVar[str] = "await_agent"
    agent_id: Name
    timeout_s: Annotated[float, Meta(gt=0, le=86_400)] | UnsetType = UNSET


class KillAgent(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Stop a worker."""

    METHOD: ClassVar[str] = "kill_agent"
    agent_id: Name


class CancelParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Stop what the draft, or a session, does: its turn, with `children` its workers too, or `all` of the tree."""

    METHOD: ClassVar[str] = "cancel"
    session_id: Name | UnsetType = UNSET
    project: Name | UnsetType = UNSET
    scope: Scope = "children"


class CompactParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Make the draft's conversation shorter."""

    METHOD: ClassVar[str] = "compact"
    focus: Annotated[str, Meta(max_length=10_000)] = ""
    session_id: Name | UnsetType = UNSET
    project: Name | UnsetType = UNSET


class ApproveParams(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Answer a question, of whatever draft or worker."""

    METHOD: ClassVar[str] = "approve"
    turn_id: Name | UnsetType = UNSET
    tool_call_id: Name
    action: Literal["approve", "deny"]
    reason: Reason = ""
    remember: Literal["once", "session", "workspace", "tool"] = "once"
    digest: Annotated[str, Meta(max_length=200)] | UnsetType = UNSET
    hunks: Annotated[tuple[Name, ...], Meta(max_length=1000)] | UnsetType = UNSET


METHODS: dict[str, type[Params]] = {kind.METHOD: kind for kind in Params.__subclasses__()}
"""Every method by its name, and what it takes."""


class Result(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a method gives back."""


class Drafted(Result, frozen=True, kw_only=True):
    """A draft began."""

    session_id: str
    task_slug: str
    project: str


class Undrafted(Result, frozen=True, kw_only=True):
    """A draft is over."""

    session_id: str
    task_slug: str
    turns: int
    cost: float | None
    duration_s: float


class DraftStatusResult(Result, frozen=True, kw_only=True, omit_defaults=True):
    """How the draft of a project stands; `closed` tells of one that the harness had to close."""

    active: bool
    session: Draft | UnsetType = UNSET
    pending: tuple[ApprovalRequested, ...] = ()
    closed: Draft | UnsetType = UNSET


class Submitted(Result, frozen=True, kw_only=True):
    """What was said is being answered: by the draft, or by the worker `agentId`."""

    session_id: str
    task_slug: str
    turn_id: str
    message_id: str
    queued: bool
    agent_id: str | UnsetType = UNSET


class Project(Result, frozen=True, kw_only=True):
    """A folder that can be worked in."""

    name: str
    path: str
    draft: str | None = None
    """The session of its active draft."""


class ProjectList(Result, frozen=True, kw_only=True):
    """All of them."""

    projects: tuple[Project, ...]


class TaskList(Result, frozen=True, kw_only=True):
    """A project's tasks."""

    tasks: tuple[ListedTask, ...]


class TaskCreated(Result, frozen=True, kw_only=True):
    """A task was made."""

    task_slug: str
    task_dir: str


class AgentList(Result, frozen=True, kw_only=True):
    """The pool."""

    agents: tuple[PooledAgent, ...]


class AgentResult(Result, frozen=True, kw_only=True):
    """Seed 001's DispatchResult: what came of a worker, or that it is not over."""

    agent_id: str
    status: WorkStatus
    summary: str
    changes: tuple[WorkChange, ...]
    artifacts: tuple[str, ...]
    verification: str
    usage: ChatUsage
    stop_reason: str = ""
    merge: MergeState = "none"


class Killed(Result, frozen=True, kw_only=True):
    """Whether there was something to stop."""

    killed: bool


class Canceled(Result, frozen=True, kw_only=True):
    """The turns that end."""

    canceled: tuple[str, ...]


class CompactedResult(Result, frozen=True, kw_only=True):
    """How long the conversation was and is; `queued` if the running turn comes to it first."""

    pre_tokens: int
    post_tokens: int
    status: str = "compacted"


class Done(Result, frozen=True, kw_only=True):
    """It is done."""

    ok: bool = True


class Notification(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is told unasked."""

    METHOD: ClassVar[str] = ""


class ChannelMessage(Notification, frozen=True, kw_only=True, omit_defaults=True):
    """Something was said or begun: `user`, `text` and `reasoning` as they come, `final`, `tool`, `notice`, `error`."""

    METHOD: ClassVar[str] = "channel_message"
    session_id: str
    project: str
    task_slug: str
    role: str
    kind: Literal["user", "text", "reasoning", "final", "tool", "notice", "error"]
    content: str
    turn_id: str = ""
    message_id: str = ""
    part_id: str = ""
    offset: int | UnsetType = UNSET
    tool_call_id: str = ""
    tool_name: str = ""
    code: str = ""
    hint: str = ""


class DraftStatusTold(Notification, frozen=True, kw_only=True):
    """How a draft stands after a turn, and when it begins and ends."""

    METHOD: ClassVar[str] = "draft_status"
    session_id: str
    role: str
    turn_count: int
    cost_usd: float | None
    context_pct: float | None
    last_activity: str
    project: str
    task_slug: str
    status: Literal["active", "closed"]
    activity: Activity
    reason: str = ""
    """Why the harness closed it."""


class ContextCompactedTold(Notification, frozen=True, kw_only=True):
    """A conversation was made shorter."""

    METHOD: ClassVar[str] = "context_compacted"
    session_id: str
    pre_tokens: int
    trigger: str
    post_tokens: int


class PoolStatus(Notification, frozen=True, kw_only=True):
    """Who is alive now."""

    METHOD: ClassVar[str] = "pool_status"
    agents: tuple[PooledAgent, ...]


class ApprovalRequested(Notification, frozen=True, kw_only=True, omit_defaults=True):
    """A call waits for a person; or, with another `state`, was answered, by whomever."""

    METHOD: ClassVar[str] = "approval_requested"
    session_id: str
    project: str
    task_slug: str
    role: str
    turn_id: str
    tool_call_id: str
    tool_name: str
    state: Literal["pending", "approved", "denied"]
    args: Raw | UnsetType = UNSET
    risk: Risk | UnsetType = UNSET
    rule: str = ""
    reason: str = ""
    cause: str = ""
    preview: str = ""
    hunks: tuple[Hunk, ...] = ()
    digest: str = ""
    shown: str = ""
    remember: Remember | UnsetType = UNSET


class RpcError(Struct, frozen=True, kw_only=True):
    """What went wrong; `data` says what to do."""

    code: int
    message: str
    data: ErrorData


class ErrorData(Struct, frozen=True, kw_only=True):
    """A code for programs, a hint for people."""

    code: str
    hint: str
