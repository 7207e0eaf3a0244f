"""The log's vocabulary: one struct per event type, and the envelope that numbers and dates it.

Events are past tense and never change their meaning; a reader skips types it does not know. The envelope's `data` is
encoded once, when the event is appended; the same bytes are stored, mirrored and sent. May import: protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from agi.protocol.checkpoints import ChangeCounts, CheckpointCause, Omission
from agi.protocol.compaction import CompactionPolicy, CompactionTrigger, Dropped
from agi.protocol.context import AssemblyCause, ContextSection
from agi.protocol.forks import ForkedFrom
from agi.protocol.grants import Grant, Remember
from agi.protocol.hunks import Hunk
from agi.protocol.messages import Message, Mode, StopReason, Usage
from agi.protocol.parts import InputPart, Json
from agi.protocol.policies import Budget, Budgets, PatchReviewPolicy, ReviewVerdict, VerifyPolicy
from agi.protocol.preflight import EstimatedCost, PreflightCause, PreflightStep
from agi.protocol.reading import reader
from agi.protocol.resources import ResourceTag
from agi.protocol.sessions import ErrorInfo, Risk, TurnOptions
from agi.protocol.tools import ToolCall, ToolResult
from agi.protocol.workers import DispatchResult, KeptApart

DeltaKind = Literal["text", "reasoning"]
DenialCause = Literal["user", "expired", "canceled", "policy"]
CheckStatus = Literal["passed", "failed", "not_run"]
"""What one verification command found."""
Verification = Literal["verified", "failing", "pre_existing", "stale", "not_run"]
"""What a turn's verification amounts to, for the files as they are at its end."""
AnyVerification = Literal[Verification, "passed", "failed"]
"""The same in logs of every age: the last two words are older ones for the first two."""


class EventData(Struct, frozen=True, kw_only=True):
    """What an event says; `TYPE` is its name in the log."""

    TYPE: ClassVar[str] = ""


class SessionCreated(EventData, frozen=True, kw_only=True):
    """A session begins."""

    TYPE: ClassVar[str] = "session_created"
    id: str
    agent: str
    workspace_path: str
    project_path: str
    created_at: str
    title: str | None = None
    provider: str | None = None
    model: str | None = None
    system_prompt: str | None = None
    auto_run: bool = True
    budget: Budgets | None = None
    """Limits of its own, in the place of the configured ones."""
    ephemeral: bool = False
    """A one-shot's session: kept, but not listed unless asked for."""
    resource: ResourceTag | UnsetType = UNSET
    """The resource it was begun for, by name."""
    forked_from: ForkedFrom | UnsetType = UNSET
    """The session it was forked from, and where; absent if it began by itself."""


class SessionForked(EventData, frozen=True, kw_only=True):
    """What stands before this was carried over from another session; from here on the log is this session's own."""

    TYPE: ClassVar[str] = "session_forked"
    session_id: str
    """The session it came from."""
    seq: int
    """The last event there that was looked at."""
    messages: int
    """How many messages were carried over."""


class SessionUpdated(EventData, frozen=True, kw_only=True, omit_defaults=True):
    """Settings of a session were changed; absent fields stay as they were."""

    TYPE: ClassVar[str] = "session_updated"
    title: str | None = None
    agent: str | None = None
    provider: str | None = None
    model: str | None = None
    budget: Budgets | None = None


class MessageAdded(EventData, frozen=True, kw_only=True):
    """Something was said to the agent. With `run`, the envelope's turn answers it, at once or from the queue."""

    TYPE: ClassVar[str] = "message_added"
    message: Message
    run: bool = True
    queued: bool = False
    """Another turn was running, so this one waits."""
    asked: TurnOptions = TurnOptions()
    mode: Mode | UnsetType = UNSET
    """`steer`: the turn that runs takes it up at its next step."""


class MessageEdited(EventData, frozen=True, kw_only=True):
    """A message that waits says something else now."""

    TYPE: ClassVar[str] = "message_edited"
    message_id: str
    parts: tuple[InputPart, ...]


class SteerRequested(EventData, frozen=True, kw_only=True):
    """A message that waits is to be taken up by the running turn at its next step."""

    TYPE: ClassVar[str] = "steer_requested"
    message_id: str


class MessageSteered(EventData, frozen=True, kw_only=True):
    """The envelope's turn takes up a message that waited: the model is told it with the next request."""

    TYPE: ClassVar[str] = "message_steered"
    message_id: str
    queued_turn_id: str
    """The turn that would have answered it, and that ends with this."""


class TurnRequested(EventData, frozen=True, kw_only=True, omit_defaults=True):
    """A message that is there already is to be answered (again) by the envelope's turn."""

    TYPE: ClassVar[str] = "turn_requested"
    message_id: str
    retry_of: str = ""
    asked: TurnOptions = TurnOptions()
    """What the message asked for when it was first sent."""


class TurnSettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The settings that count for a turn, where they are not the usual ones."""

    max_steps: int
    turn_budget: Budget = Budget()
    session_budget: Budget = Budget()
    """The configured ones; a session may have its own."""
    verify: VerifyPolicy = VerifyPolicy()
    verify_asks: bool | UnsetType = UNSET
    """Whether verification is asked about, as where nobody trusts the workspace; logs of older versions do not tell."""
    review: PatchReviewPolicy = PatchReviewPolicy()
    compaction: CompactionPolicy = CompactionPolicy()


class TurnStarted(EventData, frozen=True, kw_only=True, omit_defaults=True):
    """The agent begins to answer a message."""

    TYPE: ClassVar[str] = "turn_started"
    message_id: str
    agent: str
    provider: str
    model: str
    options: Json | None = None
    on_ask: Literal["wait", "deny"] = "wait"
    approval_timeout_s: float | None = None
    """How long a question of it waits, where the settings say nothing."""
    retry_of: str = ""
    preflight: bool = False
    """The agent proposes its steps first, and nothing runs before they are approved."""
    settings: TurnSettings | UnsetType = UNSET
    """What it goes by beside the conversation, so that it can be played again as it was."""


class TurnResumed(EventData, frozen=True, kw_only=True):
    """A turn that a crash cut off goes on from its last event."""

    TYPE: ClassVar[str] = "turn_resumed"
    reason: str = ""


class ContextAssembled(EventData, frozen=True, kw_only=True):
    """What stands at the head of every request from now on; nothing else changes it."""

    TYPE: ClassVar[str] = "context_assembled"
    cause: AssemblyCause
    agent: str
    provider: str
    model: str
    sections: tuple[ContextSection, ...]
    """With their texts, of which the head is made; those that were left out are named too."""


class ContextAdded(EventData, frozen=True, kw_only=True):
    """Sections were told in a message, without touching what was told before: changes, and what belongs to a turn."""

    TYPE: ClassVar[str] = "context_added"
    message_id: str | None
    """The message that tells them; null if all were left out."""
    sections: tuple[ContextSection, ...]
    """Without their texts."""


class ModelOutputDelta(EventData, frozen=True, kw_only=True):
    """A piece of what the model is saying, beginning at character `offset` of its part."""

    TYPE: ClassVar[str] = "model_output_delta"
    message_id: str
    part_id: str
    kind: DeltaKind
    delta: str
    offset: int


class ModelOutputCompleted(EventData, frozen=True, kw_only=True):
    """One model call is over; the message is whole, or as far as it came (status `error`)."""

    TYPE: ClassVar[str] = "model_output_completed"
    message: Message


class ModelBackedOff(EventData, frozen=True, kw_only=True):
    """The provider is busy or hung up; it is asked again at `resume_at`."""

    TYPE: ClassVar[str] = "model_backed_off"
    provider: str
    model: str
    code: str
    reason: str
    attempt: int
    resume_at: str


class ModelSwitched(EventData, frozen=True, kw_only=True):
    """The model of the turn could not answer; another one does from here on."""

    TYPE: ClassVar[str] = "model_switched"
    from_provider: str
    from_model: str
    provider: str
    model: str
    code: str
    reason: str


class PartsWithheld(EventData, frozen=True, kw_only=True):
    """Something of the conversation is no longer told to models: a provider refused it, or it had to make room."""

    TYPE: ClassVar[str] = "parts_withheld"
    ids: tuple[str, ...]
    """Refs of attachments, ids of reasoning parts, ids of tool calls whose output is left out."""
    code: str
    """Why: `part_refused` or `reasoning_refused`; in older logs also `context_overflow`."""
    reason: str


class CompactionRequested(EventData, frozen=True, kw_only=True):
    """Somebody wants the conversation made shorter: before the model is asked next, or now if nothing runs."""

    TYPE: ClassVar[str] = "compaction_requested"
    focus: str = ""
    """What the summary should dwell on."""


class CompactionStarted(EventData, frozen=True, kw_only=True):
    """The conversation is being made shorter; nothing has changed yet."""

    TYPE: ClassVar[str] = "compaction_started"
    trigger: CompactionTrigger
    attempt: int = 1
    pre_tokens: int = 0


class ContextCompacted(EventData, frozen=True, kw_only=True):
    """Models are told the conversation from `first_kept` on; what stands for the rest of it is here.

    The last one that is neither undone nor taken back says by itself what models are told.
    """

    TYPE: ClassVar[str] = "context_compacted"
    compaction_id: str
    trigger: CompactionTrigger
    pre_tokens: int
    post_tokens: int
    first_kept: str = ""
    """The first message that is told as it was; empty if all are."""
    last_message: str = ""
    """The last message there was: costs reported up to it say nothing about what is told from now on."""
    carried: tuple[str, ...] = ()
    """Earlier messages that are told as they were all the same: the user's last one, and those of the system."""
    pruned: tuple[str, ...] = ()
    """Calls whose output is left out of messages that are told."""
    summary: str = ""
    """What happened before `first_kept`, in the words of `summarised_by`."""
    summarised_by: str = ""
    """The model, as `provider/model`; empty if the summary was put together from the log alone."""
    record: str = ""
    """What the log itself knows of that time: the list of things to do, files touched, jobs, verification."""
    dropped: Dropped = Dropped()
    focus: str = ""


class CompactionFailed(EventData, frozen=True, kw_only=True):
    """The conversation could not be made shorter, or need not be; it is as it was."""

    TYPE: ClassVar[str] = "compaction_failed"
    trigger: CompactionTrigger
    code: str
    """`not_shrunk`, `full_again`, `nothing_to_compact`, `canceled`, or the code of an error."""
    reason: str
    pre_tokens: int = 0


class CompactionUndone(EventData, frozen=True, kw_only=True):
    """Models are told again what they were told before a compaction."""

    TYPE: ClassVar[str] = "compaction_undone"
    compaction_id: str
    tokens: int = 0
    """About how much a request is now; 0 in logs of older versions."""


class UsageRecorded(EventData, frozen=True, kw_only=True):
    """What a model call cost."""

    TYPE: ClassVar[str] = "usage_recorded"
    message_id: str
    provider: str
    model: str
    usage: Usage


class ToolCallStarted(EventData, frozen=True, kw_only=True):
    """A tool is about to run; durable before it does."""

    TYPE: ClassVar[str] = "tool_call_started"
    tool_call: ToolCall
    kind: str
    preflight_step: str | UnsetType = UNSET
    """The approved step it runs by, where it would have been asked about otherwise."""


class PreflightRequested(EventData, frozen=True, kw_only=True):
    """The agent has proposed its steps; nothing runs before somebody has answered."""

    TYPE: ClassVar[str] = "preflight_requested"
    steps: tuple[PreflightStep, ...]
    estimated_cost: EstimatedCost
    required_permissions: tuple[str, ...]
    """What the steps take, in words: `write files`, `run commands`, `reach the network`."""
    warnings: tuple[str, ...]
    """What a person should know before saying yes."""
    digest: str
    """A hash of the steps: an answer that names another one counts for nothing."""


class PreflightResolved(EventData, frozen=True, kw_only=True):
    """The checklist was answered: what was approved binds, and a turn whose steps were not approved ends here."""

    TYPE: ClassVar[str] = "preflight_resolved"
    approved: bool
    cause: PreflightCause
    steps: tuple[PreflightStep, ...] = ()
    """The steps as approved: edited, and without those that were left out; none if they were refused."""
    skipped: tuple[PreflightStep, ...] = ()
    """The steps that were left out."""
    reason: str = ""


class ToolOutputDelta(EventData, frozen=True, kw_only=True):
    """A piece of a running tool's output, beginning at character `offset` of its channel."""

    TYPE: ClassVar[str] = "tool_output_delta"
    tool_call_id: str
    channel: Literal["stdout", "stderr", "patch"]
    chunk: str
    offset: int


class ToolCallCompleted(EventData, frozen=True, kw_only=True, omit_defaults=True):
    """A call has its result; durable before the next model call. Refused calls have one too."""

    TYPE: ClassVar[str] = "tool_call_completed"
    tool_call_id: str
    name: str
    tool_result: ToolResult
    message_id: str
    duration_ms: int = 0
    interrupted: bool = False
    """The daemon died, or the turn was canceled, while it ran: what it did is not known."""
    blocked: bool = False
    """It was never run: refused by a person, by policy or by the agent's tool list."""


class ApprovalRequested(EventData, frozen=True, kw_only=True):
    """A call waits for a person."""

    TYPE: ClassVar[str] = "approval_requested"
    tool_call_id: str
    name: str
    input: Raw
    risk: Risk
    rule: str
    reason: str
    preview: str = ""
    """The change it would make, as a diff, where that is known."""
    preview_digest: str = ""
    """A hash of that change, of which the call makes this one or none; empty if none is shown."""
    hunks: tuple[Hunk, ...] = ()
    """The change in pieces that can be accepted one by one; none if only all of it can be."""
    digest: str = ""
    """A hash of the tool, its arguments and what holds it in: an answer counts for nothing else."""
    shown: str = ""
    """The arguments with every character visible, where one of them hides, acts or looks like another."""
    remember: Remember | UnsetType = UNSET
    """What an answer can be remembered as; absent if it can count only once."""


class ApprovalGranted(EventData, frozen=True, kw_only=True):
    """A person let the call run; with `remember`, what the rules say is not asked about again.

    Logs from before there were rules have none; there, `session` means the whole tool.
    """

    TYPE: ClassVar[str] = "approval_granted"
    tool_call_id: str
    name: str
    reason: str = ""
    remember: Literal["once", "session", "workspace"] = "once"
    digest: str = ""
    """The digest of what was asked about."""
    hunks: tuple[str, ...] | UnsetType = UNSET
    """The hunks that were accepted, where not all were."""
    grants: tuple[Grant, ...] = ()
    """What is remembered for the session; what is remembered for a workspace is kept with the user's settings."""
    client: str | UnsetType = UNSET
    """Through what it was answered, where that was told."""


class ApprovalDenied(EventData, frozen=True, kw_only=True):
    """The call will not run; `cause` tells a person's refusal from a time-out, a cancel and a rule."""

    TYPE: ClassVar[str] = "approval_denied"
    tool_call_id: str
    name: str
    cause: DenialCause
    reason: str = ""
    client: str | UnsetType = UNSET
    """Through what it was answered, where that was told."""


class GrantsDropped(EventData, frozen=True, kw_only=True):
    """What was approved for the rest of the session is asked about again."""

    TYPE: ClassVar[str] = "grants_dropped"
    reason: str = ""


class GrantRevoked(EventData, frozen=True, kw_only=True):
    """One thing that was approved for the rest of the session is asked about again."""

    TYPE: ClassVar[str] = "grant_revoked"
    grant_id: str
    reason: str = ""


class PatchProposed(EventData, frozen=True, kw_only=True):
    """A change of files as it would be made, for review."""

    TYPE: ClassVar[str] = "patch_proposed"
    tool_call_id: str
    name: str
    patch: str
    preview_digest: str = ""
    """A hash of the change: the call makes this one or none."""


class PatchReviewed(EventData, frozen=True, kw_only=True):
    """What a reviewing agent thinks of a proposed change; durable before the change is made."""

    TYPE: ClassVar[str] = "patch_reviewed"
    tool_call_id: str
    verdict: ReviewVerdict
    reason: str
    reviewer: str
    """The model that was asked, as `provider/model`; empty if none was."""


class VerificationStarted(EventData, frozen=True, kw_only=True):
    """A verification command is about to run."""

    TYPE: ClassVar[str] = "verification_started"
    verification_id: str
    command: str
    attempt: int
    index: int = 1
    """Which of the commands it is."""
    of: int = 1
    """How many commands there are."""
    baseline: bool = False
    """It runs before the first change, to know what fails already."""


class VerificationCompleted(EventData, frozen=True, kw_only=True):
    """What a verification command found, or why none was run."""

    TYPE: ClassVar[str] = "verification_completed"
    verification_id: str
    command: str
    attempt: int
    status: CheckStatus
    index: int = 1
    of: int = 1
    exit_code: int | None = None
    output: str = ""
    reason: str = ""
    artifacts: tuple[str, ...] = ()
    baseline: bool = False
    known: bool = False
    """It was not run now: the result is of an earlier run on the same files."""
    tool_call_id: str = ""
    """The call that ran it, where the model did."""
    fingerprint: str = ""
    """The files it speaks for; empty if they changed while it ran."""
    fingerprint_before: str = ""
    """The files as they were when it began."""
    failing: tuple[str, ...] | None = None
    """The tests that failed; null where the output does not tell."""
    new: tuple[str, ...] = ()
    """Those of them that did not fail before the first change; none where that is not known."""
    pre_existing: bool = False
    """It failed, and is known to fail only as before."""
    seconds: float = 0.0


class JobStarted(EventData, frozen=True, kw_only=True):
    """A command is about to run in the background, or runs on there; durable before it does."""

    TYPE: ClassVar[str] = "job_started"
    job_id: str
    command: str
    cwd: str
    tool_call_id: str
    output: str
    """The ref of the file its output is kept in."""
    owner: str
    """The process it runs in; it ends with that process."""
    moved: bool = False
    """It was begun in the foreground and moved."""


class JobEnded(EventData, frozen=True, kw_only=True):
    """A job is over: it ended by itself, or was ended for the reason given."""

    TYPE: ClassVar[str] = "job_ended"
    job_id: str
    exit_code: int | None = None
    signal: str = ""
    reason: str = ""
    output_bytes: int = 0
    duration_ms: int = 0


class CancelRequested(EventData, frozen=True, kw_only=True):
    """Somebody asked for the envelope's turn to stop; whoever runs it obeys."""

    TYPE: ClassVar[str] = "cancel_requested"
    reason: str = ""


class TurnCompleted(EventData, frozen=True, kw_only=True):
    """The turn was answered."""

    TYPE: ClassVar[str] = "turn_completed"
    message_id: str | None
    stop_reason: StopReason
    steps: int
    usage: Usage
    verification: AnyVerification = "not_run"
    seconds: float = 0.0
    """Time spent working; waiting for a person does not count."""
    output: Raw | UnsetType = UNSET
    """The answer as a JSON value that fits the schema, where one was asked for."""
    note: str | UnsetType = UNSET
    """Why it ended before it was done, such as which limit was reached."""
    fingerprint: str = ""
    """The files that the verification speaks about; empty where nothing was changed or run."""


class TurnFailed(EventData, frozen=True, kw_only=True):
    """The turn could not be answered; it may be retried."""

    TYPE: ClassVar[str] = "turn_failed"
    error: ErrorInfo
    usage: Usage
    seconds: float = 0.0
    """Time spent working; waiting for a person does not count."""


class TurnCanceled(EventData, frozen=True, kw_only=True):
    """The turn was stopped, running or still queued."""

    TYPE: ClassVar[str] = "turn_canceled"
    reason: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    """Time spent working; waiting for a person does not count."""
    steered_into: str | UnsetType = UNSET
    """The turn that took up its message, where that is why it never began."""


class SessionCompleted(EventData, frozen=True, kw_only=True):
    """The last turn was answered and nothing is queued."""

    TYPE: ClassVar[str] = "session_completed"


class SessionFailed(EventData, frozen=True, kw_only=True):
    """The last turn failed and nothing is queued."""

    TYPE: ClassVar[str] = "session_failed"
    error: ErrorInfo


class SessionCanceled(EventData, frozen=True, kw_only=True):
    """The last turn was canceled and nothing is queued."""

    TYPE: ClassVar[str] = "session_canceled"


class AttachmentAdded(EventData, frozen=True, kw_only=True, omit_defaults=True):
    """A file was stored with the session; the log holds its size and SHA-256."""

    TYPE: ClassVar[str] = "attachment_added"
    ref: str
    filename: str
    mime_type: str
    size: int
    sha256: str
    note: str = ""
    """What its sender should know: that it is not what it was said to be."""


class CheckpointCreated(EventData, frozen=True, kw_only=True, omit_defaults=True):
    """Files changed; what they held before and after can be brought back from here."""

    TYPE: ClassVar[str] = "checkpoint_created"
    checkpoint_id: str
    cause: CheckpointCause
    """A `call`; one that was `interrupted`; a `revert`; or just the `redo_point` before one."""
    tool_call_id: str = ""
    """The call that made the changes."""
    changes: ChangeCounts = ChangeCounts()
    omitted: tuple[Omission, ...] = ()
    """Files that could not be brought back if they changed."""


class ConversationReverted(EventData, frozen=True, kw_only=True):
    """The conversation goes on from an earlier point; what was said after it stays in the log, told to no model."""

    TYPE: ClassVar[str] = "conversation_reverted"
    to: str
    """The point as it was asked for: a turn, a checkpoint or `start`."""
    to_seq: int
    """The last event that counts."""
    messages: int
    """How many messages are left out."""
    last_turn_id: str | None = None
    """The last turn that is part of the conversation."""


class DraftOpened(EventData, frozen=True, kw_only=True):
    """The session is a draft: an agent that a person talks to about a task."""

    TYPE: ClassVar[str] = "draft_opened"
    role: str
    project: str
    """The name of the project."""
    task_slug: str
    task_dir: str
    """The task's folder, from the project's root."""
    channel_id: str = ""
    """Through which surface it was drafted."""


class DraftClosed(EventData, frozen=True, kw_only=True):
    """The draft is over; the session stays."""

    TYPE: ClassVar[str] = "draft_closed"
    reason: str = ""
    """Why the harness closed it; empty if a person did."""


class AgentDispatched(EventData, frozen=True, kw_only=True, omit_defaults=True):
    """The session is a worker's: its agent answers one message by itself."""

    TYPE: ClassVar[str] = "agent_dispatched"
    role: str
    project: str
    task_slug: str = ""
    parent_session_id: str = ""
    """The session whose agent asked for it; empty if a person did."""
    parent_turn_id: str = ""
    parent_call_id: str = ""
    """The call that asked for it: repeated after a crash, it finds this worker instead of starting another."""
    root_session_id: str = ""
    """The session at the top, which a person talks to; empty if a person started this one."""
    root_turn_id: str = ""
    """Its turn, for which all of them work."""
    depth: int = 1
    """How many steps below the root."""
    kept_apart: KeptApart = ""
    """How it is kept apart from the parent's files; empty if it works among them."""


class WorkerStarted(EventData, frozen=True, kw_only=True, omit_defaults=True):
    """An agent of this session has another one work for it, or work on."""

    TYPE: ClassVar[str] = "worker_started"
    agent_id: str
    session_id: str
    role: str
    task: str
    """The beginning of what it is to do."""
    worker_turn_id: str
    kept_apart: KeptApart = ""
    budget: Budget | UnsetType = UNSET
    """What was set aside for it."""
    again: bool = False
    """Whether it had ended, and works on."""
    call_id: str = ""
    """The call that wanted it: repeated after a crash, it does not say the same twice."""


class WorkerCompleted(EventData, frozen=True, kw_only=True):
    """A worker of this session came to its end, well or not."""

    TYPE: ClassVar[str] = "worker_completed"
    agent_id: str
    session_id: str
    worker_turn_id: str
    result: DispatchResult


class WorkerWaiting(EventData, frozen=True, kw_only=True):
    """A worker somewhere below this session waits for a person's answer, which can be given here."""

    TYPE: ClassVar[str] = "worker_waiting"
    agent_id: str
    session_id: str
    worker_turn_id: str
    tool_call_id: str
    name: str
    path: tuple[str, ...]
    """Who it is, from this session's worker down to the one that asks: their roles."""


class WorkerMerged(EventData, frozen=True, kw_only=True, omit_defaults=True):
    """What a worker changed was brought into this session's files, or was not because it conflicts."""

    TYPE: ClassVar[str] = "worker_merged"
    agent_id: str
    session_id: str
    worker_turn_id: str
    files: tuple[str, ...] = ()
    """Those that were changed here."""
    conflicts: tuple[str, ...] = ()
    """Those that stood against it; then nothing was changed."""


class Notice(EventData, frozen=True, kw_only=True):
    """Something a person should know: a weaker sandbox, an ignored setting, a repaired log."""

    TYPE: ClassVar[str] = "notice"
    code: str
    message: str


DISK_FULL = "disk_full"
"""The code of the notice that a turn waits for room on the disk."""
DATA_TYPES: dict[str, type[EventData]] = {kind.TYPE: kind for kind in EventData.__subclasses__()}
"""Every event type by its name in the log."""

_encode = msgspec.json.Encoder().encode
_decoders: dict[str, msgspec.json.Decoder[EventData]] = {}


class Event:
    """One line of the log: its number, time, session, turn and type, and its data as bytes and as a value."""

    __slots__ = ("_data", "frames", "hash", "raw", "seq", "session_id", "ts", "turn_id", "type")

    def __init__(
        self, seq: int, ts: str, session_id: str, turn_id: str | None, type: str, raw: bytes, hash: str = ""
    ) -> None:
        self.seq = seq
        self.ts = ts
        self.session_id = session_id
        self.turn_id = turn_id
        self.type = type
        self.raw = raw
        self.hash = hash
        """Its link in the chain of the log; empty if it has none, as one that is not stored."""
        self._data: EventData | None = None
        self.frames: dict[str, bytes] | None = None
        """The event as each surface sends it, once it has; for all readers alike."""

    @classmethod
    def of(cls, seq: int, ts: str, session_id: str, turn_id: str | None, data: EventData) -> Event:
        """An event that says `data`."""
        event = cls(seq, ts, session_id, turn_id, data.TYPE, encode_data(data))
        event._data = data
        return event

    @property
    def data(self) -> EventData | None:
        """The event's data, or None if this version does not know the type."""
        if self._data is None and self.type in DATA_TYPES:
            self._data = decode_data(self.type, self.raw)
        return self._data

    def says_as(self, other: Event) -> None:
        """Take over what another event of the same type and bytes says, which need not be decoded again."""
        self._data = other.data

    def envelope(self) -> bytes:
        """The event as one JSON object, as sent; the bytes that its hash covers."""
        turn = b"null" if self.turn_id is None else b'"%b"' % self.turn_id.encode()
        return b'{"seq":%d,"ts":"%b","session_id":"%b","turn_id":%b,"type":"%b","data":%b}' % (
            self.seq,
            self.ts.encode(),
            self.session_id.encode(),
            turn,
            self.type.encode(),
            self.raw,
        )

    def line(self) -> bytes:
        """The event as it stands in a mirror: the envelope, and its hash if it has one."""
        envelope = self.envelope()
        return b'%b,"hash":"%b"}' % (envelope[:-1], self.hash.encode()) if self.hash else envelope

    def __repr__(self) -> str:
        return f"Event({self.seq}, {self.type!r}, {self.raw.decode(errors='replace')[:200]})"


class _Envelope(Struct, frozen=True):
    seq: int
    ts: str
    session_id: str
    turn_id: str | None
    type: str
    data: Raw
    hash: str = ""


_decode_envelope: Callable[[bytes | str], _Envelope] = reader(_Envelope)


def in_todays_words(said: AnyVerification) -> Verification:
    """A turn's verification, also one that an older version wrote."""
    if said == "passed":
        return "verified"
    return "failing" if said == "failed" else said


def encode_data(data: EventData) -> bytes:
    """Write an event's data as JSON."""
    return _encode(data)


def decode_data(type: str, raw: bytes) -> EventData:
    """Read an event's data; raises msgspec.ValidationError if it does not fit its type."""
    decoder = _decoders.get(type)
    if decoder is None:
        decoder = _decoders[type] = msgspec.json.Decoder(DATA_TYPES[type])
    return decoder.decode(raw)


def parse_envelope(line: bytes) -> Event:
    """Read one line of a mirror or a stream; raises msgspec.DecodeError on damage."""
    read = _decode_envelope(line)
    return Event(read.seq, read.ts, read.session_id, read.turn_id, read.type, bytes(read.data), read.hash)
