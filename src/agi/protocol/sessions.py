"""A session as clients see it: how it stands, what waits for an answer, what is queued. May import: protocol."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Raw, Struct, UnsetType

from agi.protocol.forks import ForkedFrom
from agi.protocol.grants import Remember
from agi.protocol.hunks import Hunk
from agi.protocol.jobs import Job
from agi.protocol.messages import Mode, Usage
from agi.protocol.parts import InputPart, Json
from agi.protocol.policies import Budgets
from agi.protocol.preflight import PendingPreflight
from agi.protocol.resources import ResourceTag

SessionStatus = Literal["active", "waiting_approval", "failed", "completed", "canceled"]
Activity = Literal[
    "idle", "running", "waiting_approval", "waiting_input", "queued", "backing_off", "verifying", "compacting"
]
TurnStatus = Literal["queued", "running", "completed", "failed", "canceled"]
Risk = Literal["low", "medium", "high"]


class PendingApproval(Struct, frozen=True, kw_only=True):
    """A question nobody has answered yet."""

    turn_id: str
    tool_call_id: str
    name: str
    input: Raw
    risk: Risk
    rule: str
    reason: str
    requested_at: str
    preview: str = ""
    preview_digest: str = ""
    """A hash of the change that is shown: this one is made, or none."""
    hunks: tuple[Hunk, ...] = ()
    """The change in pieces that can be accepted one by one."""
    digest: str = ""
    """What an answer may name, to be sure that it is about these very arguments."""
    shown: str = ""
    """The arguments with every character visible, where one of them hides."""
    remember: Remember | UnsetType = UNSET
    """What an answer can be remembered as."""
    session_id: str | UnsetType = UNSET
    """The worker that asks, where it is one below this session."""
    path: tuple[str, ...] | UnsetType = UNSET
    """The roles from this session's worker down to the one that asks."""


class TurnOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a message asked for itself; absent means as the session has it."""

    agent: str | None = None
    provider: str | None = None
    model: str | None = None
    options: Json | None = None
    on_ask: Literal["wait", "deny"] = "wait"
    """What to do where a person would be asked: wait for one, or refuse at once because there is none."""
    approval_timeout_s: float | None = None
    """How long a question waits before it expires, where the settings say nothing."""
    preflight: bool | None = None
    """Whether the agent proposes its steps first; None is as configured."""


class QueuedTurn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message that waits for its turn."""

    turn_id: str
    message_id: str
    asked: TurnOptions = TurnOptions()
    retry_of: str = ""
    mode: Mode = "queue"
    """`steer`: the running turn takes it up at its next step; only if it ends before that, this turn begins."""


class QueuedMessage(Struct, frozen=True, kw_only=True):
    """A message that waits, with what it says; the next one to be taken up is the first of the list."""

    message_id: str
    turn_id: str
    """The turn that answers it, if no other takes it up before."""
    mode: Mode
    parts: tuple[InputPart, ...]
    text: str
    """Its text alone."""
    created_at: str
    retry_of: str = ""
    """The turn that is tried again; what it says was said already, and is not changed any more."""


class Session(Struct, frozen=True, kw_only=True):
    """The whole of a session's metadata and latest state; `session_id` repeats `id`."""

    id: str
    session_id: str
    title: str | None
    agent: str
    provider: str | None
    model: str | None
    workspace_path: str
    project_path: str
    system_prompt: str | None
    auto_run: bool
    created_at: str
    updated_at: str
    status: SessionStatus
    activity: Activity
    last_turn_id: str | None
    last_seq: int
    epoch: int
    queue: tuple[QueuedTurn, ...]
    pending_approvals: tuple[PendingApproval, ...]
    usage: Usage
    budget: Budgets | None = None
    pending_preflight: PendingPreflight | None = None
    """The steps that wait for an answer before the turn begins."""
    jobs: tuple[Job, ...] = ()
    """What runs in the background."""
    resource: ResourceTag | UnsetType = UNSET
    """The resource it was begun for, if any."""
    forked_from: ForkedFrom | None = None
    """Where it was forked from another session; null if it began by itself."""
    head: str = ""
    """The hash of event `last_seq`; who keeps it elsewhere can tell later that nothing before it was changed."""
    context_tokens: int = 0
    """How much the model was told and said last, by which it is decided when to compact; 0 is unknown."""
    running_turn_id: str | None = None
    """The turn that runs; `last_turn_id` is the last in line."""


class ErrorInfo(Struct, frozen=True, kw_only=True):
    """An error as clients see it: a code for programs, a message and a hint for people."""

    code: str
    message: str
    hint: str = ""
