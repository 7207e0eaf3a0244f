"""Seed 003's messages: one JSON object each over a WebSocket, told apart by `type`; fields are camelCase.

Values only. What each means is server/chat's business. May import: protocol.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from agi.protocol.commands import Name, Reason
from agi.protocol.events import DeltaKind
from agi.protocol.grants import Remember
from agi.protocol.hunks import Hunk
from agi.protocol.messages import StopReason, Urgency, Usage
from agi.protocol.parts import Artifact, Audio, File, Image, InputPart, Json, Text
from agi.protocol.preflight import PreflightStep
from agi.protocol.sessions import Activity, Risk, SessionStatus

Id = Annotated[str, Meta(min_length=1, max_length=200, description="The client's own; the answer repeats it.")]


class ClientMessage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel", tag_field="type"):
    """What a client may say."""


class Auth(ClientMessage, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="auth"):
    """The first message of a client that could not send the token as a header."""

    token: Annotated[str, Meta(max_length=1000)]
    id: Id | UnsetType = UNSET


class ChatSend(ClientMessage, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="chat.send"):
    """Say something, in a session or in a new one."""

    id: Id
    session_id: Name | UnsetType = UNSET
    content: Annotated[str, Meta(min_length=1, max_length=1_000_000)] | UnsetType = UNSET
    parts: Annotated[list[InputPart], Meta(min_length=1, max_length=200)] | UnsetType = UNSET
    agent: Name | UnsetType = UNSET
    provider: Name | UnsetType = UNSET
    model: Name | UnsetType = UNSET
    options: Json | UnsetType = UNSET
    preflight: bool | UnsetType = UNSET
    """Whether the agent proposes its steps first; absent is as configured."""
    mode: Urgency = "queue"
    """While a turn runs: wait for it, be taken up by it at its next step (`steer`), or stop it (`interrupt`)."""


class ChatCancel(ClientMessage, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="chat.cancel"):
    """Stop one turn, or all that a session does."""

    id: Id
    request_id: Name | UnsetType = UNSET
    session_id: Name | UnsetType = UNSET


class ToolApprovalResponse(
    ClientMessage, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="tool.approval.response"
):
    """Answer a `tool.approval.request`; with `sessionApprove` that tool runs unasked for the rest of the session."""

    id: Id
    tool_call_id: Name
    approved: bool
    session_approve: bool = False
    reason: Reason = ""
    digest: Annotated[str, Meta(max_length=200)] | UnsetType = UNSET
    """The digest of the request that was seen; another one is refused."""
    hunks: Annotated[tuple[Name, ...], Meta(max_length=1000)] | UnsetType = UNSET
    """The hunks that are accepted, where not all are."""


class EditedStepTold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A step as the user wants it; see `EditedStep`."""

    description: Annotated[str, Meta(min_length=1, max_length=2000)]
    tool_name: Name | UnsetType = UNSET
    skip: bool = False
    id: Name | UnsetType = UNSET
    target: Annotated[str, Meta(max_length=10_000)] | UnsetType = UNSET


class PreflightApproval(ClientMessage, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="preflight.approval"):
    """Answer a `preflight.checklist`; with `editedSteps` just these are approved."""

    id: Id
    request_id: Name
    approved: bool
    edited_steps: Annotated[list[EditedStepTold], Meta(max_length=200)] | UnsetType = UNSET
    reason: Reason = ""
    digest: Annotated[str, Meta(max_length=200)] | UnsetType = UNSET
    """The digest of the checklist that was seen; another one is refused."""


class SessionAttach(ClientMessage, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="session.attach"):
    """Follow a session: from `after`, the `cursor` of the last message seen, or from now."""

    id: Id
    session_id: Name
    after: Annotated[str, Meta(max_length=60)] | UnsetType = UNSET


class SessionDetach(ClientMessage, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="session.detach"):
    """Follow it no longer."""

    id: Id
    session_id: Name


class Ping(ClientMessage, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="ping"):
    """Are you there?"""

    id: Id | UnsetType = UNSET


ClientSays = (
    Auth | ChatSend | ChatCancel | ToolApprovalResponse | PreflightApproval | SessionAttach | SessionDetach | Ping
)
"""Everything a client may say."""


class ServerMessage(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type"):
    """What the daemon says."""


class Told(ServerMessage, frozen=True, kw_only=True):
    """What happened in a session: to which turn, and the cursor that stands right behind it."""

    session_id: str
    cursor: str | UnsetType = UNSET


class StreamStart(Told, frozen=True, kw_only=True, tag="chat.stream.start"):
    """A turn begins. `id` is that of the `chat.send` it answers, told only to who sent it."""

    request_id: str
    message_id: str
    id: str | UnsetType = UNSET


class StreamQueued(Told, frozen=True, kw_only=True, tag="chat.queued"):
    """The message waits until what runs is over."""

    request_id: str
    message_id: str
    id: str | UnsetType = UNSET


class StreamDelta(Told, frozen=True, kw_only=True, tag="chat.stream.delta"):
    """A piece of the answer, beginning at character `offset` of its part."""

    request_id: str
    delta: str
    kind: DeltaKind
    offset: int
    message_id: str
    part_id: str


class ChatUsage(Struct, frozen=True, kw_only=True, rename="camel"):
    """Tokens and money; an unknown price is null."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    requests: int
    cost_usd: float | None

    @classmethod
    def of(cls, usage: Usage) -> ChatUsage:
        """The same in camelCase."""
        return cls(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            requests=usage.requests,
            cost_usd=usage.cost_usd,
        )


class StreamEnd(Told, frozen=True, kw_only=True, omit_defaults=True, tag="chat.stream.end"):
    """A turn is over."""

    request_id: str
    stop_reason: StopReason
    usage: ChatUsage
    verification: str = ""
    note: str = ""
    steered_into: str | UnsetType = UNSET
    """The turn that took up its message, where that is why it never began."""


class ToolCallTold(Told, frozen=True, kw_only=True, tag="tool.call"):
    """A tool begins to run."""

    request_id: str
    tool_call_id: str
    tool_name: str
    args: Raw


class ToolDeltaTold(Told, frozen=True, kw_only=True, tag="tool.delta"):
    """A piece of what a tool says while it runs."""

    request_id: str
    tool_call_id: str
    channel: str
    chunk: str
    offset: int


class ToolOutcome(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What came of a call: `parts` is what the model is shown, `result` the same for programs."""

    ok: bool
    parts: tuple[Text | Image | Audio | File, ...] = ()
    result: Json | UnsetType = UNSET
    artifact: Artifact | UnsetType = UNSET
    error: str = ""
    interrupted: bool = False
    blocked: bool = False


class ToolResultTold(Told, frozen=True, kw_only=True, tag="tool.result"):
    """A call has its result."""

    request_id: str
    tool_call_id: str
    tool_name: str
    result: ToolOutcome


class ToolApprovalRequest(Told, frozen=True, kw_only=True, omit_defaults=True, tag="tool.approval.request"):
    """A call waits for a person."""

    request_id: str
    tool_call_id: str
    tool_name: str
    args: Raw
    risk: Risk
    rule: str = ""
    reason: str = ""
    preview: str = ""
    hunks: tuple[Hunk, ...] = ()
    digest: str = ""
    shown: str = ""
    remember: Remember | UnsetType = UNSET


class ToolApprovalResolved(Told, frozen=True, kw_only=True, omit_defaults=True, tag="tool.approval.resolved"):
    """A question was answered, by whomever; `cause` tells a refusal from a time-out, a cancel and a rule."""

    request_id: str
    tool_call_id: str
    tool_name: str
    approved: bool
    cause: str = ""
    reason: str = ""


class StepTold(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One step of a checklist."""

    description: str
    tool_name: str = ""
    risk: Risk
    needs_approval: bool
    id: str
    target: str = ""

    @classmethod
    def of(cls, step: PreflightStep) -> StepTold:
        """The same in camelCase."""
        return cls(
            description=step.description,
            tool_name=step.tool_name,
            risk=step.risk,
            needs_approval=step.needs_approval,
            id=step.id,
            target=step.target,
        )


class CostTold(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the steps are expected to cost; an unknown price is null."""

    input_tokens: int
    output_tokens: int
    estimated_usd: float | None = field(name="estimatedUSD")
    low_usd: float | None = field(name="lowUSD")
    high_usd: float | None = field(name="highUSD")


class PreflightChecklist(Told, frozen=True, kw_only=True, tag="preflight.checklist"):
    """The agent has proposed its steps; nothing runs before somebody has answered."""

    request_id: str
    steps: tuple[StepTold, ...]
    estimated_cost: CostTold
    required_permissions: tuple[str, ...]
    warnings: tuple[str, ...]
    digest: str


class PreflightResolvedTold(Told, frozen=True, kw_only=True, omit_defaults=True, tag="preflight.resolved"):
    """A checklist was answered, by whomever: the steps as approved, and those that were left out."""

    request_id: str
    approved: bool
    cause: str
    steps: tuple[StepTold, ...] = ()
    skipped: tuple[StepTold, ...] = ()
    reason: str = ""


class OpenText(Struct, frozen=True, kw_only=True, rename="camel"):
    """A part that is being written, as far as it has come; the deltas that follow go on from its end."""

    message_id: str
    part_id: str
    kind: DeltaKind
    text: str


class SessionAttached(ServerMessage, frozen=True, kw_only=True, tag="session.attached"):
    """The session is followed; this is how it stands, and what waits for an answer."""

    id: str
    session_id: str
    seq: int
    status: SessionStatus
    activity: Activity
    pending: tuple[ToolApprovalRequest, ...]
    pending_preflight: PreflightChecklist | None = None
    open_text: tuple[OpenText, ...] = ()


class SessionResync(ServerMessage, frozen=True, kw_only=True, tag="session.resync"):
    """The cursor is of another log: forget what you had of the session; what follows comes after `seq`."""

    session_id: str
    seq: int


class Acknowledged(ServerMessage, frozen=True, kw_only=True, tag="ok"):
    """What was asked for is done."""

    id: str | UnsetType = UNSET


class Pong(ServerMessage, frozen=True, kw_only=True, tag="pong"):
    """Here."""

    id: str | UnsetType = UNSET


class ErrorTold(ServerMessage, frozen=True, kw_only=True, omit_defaults=True, tag="error"):
    """What went wrong: with the message `id`, or in the turn `requestId`."""

    code: str
    message: str
    hint: str = ""
    id: str | UnsetType = UNSET
    request_id: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    cursor: str | UnsetType = UNSET
    status: Literal["failed"] | UnsetType = UNSET
