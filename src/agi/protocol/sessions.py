"""A session as clients see it: how it stands, what waits for an answer, what is queued. May import: protocol."""

from __future__ import annotations

from typing import Literal

from msgspec import Raw, Struct

from agi.protocol.messages import Usage
from agi.protocol.parts import Json
from agi.protocol.policies import Budgets

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


class TurnOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a message asked for itself; absent means as the session has it."""

    agent: str | None = None
    provider: str | None = None
    model: str | None = None
    options: Json | None = None
    on_ask: Literal["wait", "deny"] = "wait"
    """What to do where a person would be asked: wait for one, or refuse at once because there is none."""


class QueuedTurn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message that waits for its turn."""

    turn_id: str
    message_id: str
    asked: TurnOptions = TurnOptions()
    retry_of: str = ""


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


class ErrorInfo(Struct, frozen=True, kw_only=True):
    """An error as clients see it: a code for programs, a message and a hint for people."""

    code: str
    message: str
    hint: str = ""
