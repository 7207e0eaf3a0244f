"""How a session stands: a fold over its events, small enough to be kept beside them.

`fold` is the one place that says what events mean for a session; clients, recovery and the running turn all go by it.
Pure. May import: protocol, views.compactions, views.context, views.drafting, views.ledger.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from agi.protocol import events as ev
from agi.protocol.compaction import CompactionRequest, CompactionTrigger
from agi.protocol.events import Event
from agi.protocol.forks import ForkedFrom
from agi.protocol.grants import Grant
from agi.protocol.ids import GRANT
from agi.protocol.jobs import Job
from agi.protocol.messages import Usage
from agi.protocol.parts import Json
from agi.protocol.policies import Budgets, ReviewVerdict, Rule
from agi.protocol.preflight import PendingPreflight, PreflightAnswer, PreflightStep
from agi.protocol.resources import ResourceTag
from agi.protocol.sessions import Activity, PendingApproval, QueuedTurn, Session, SessionStatus
from agi.views.compactions import MOST_MARKS, Mark
from agi.views.context import ContextState
from agi.views.drafting import DraftState, WorkerMark, WorkerState, mark_worker, note
from agi.views.ledger import Ledger

ENDED_JOBS = 8
"""How many jobs that are over a session remembers."""


class Answer(Struct, frozen=True):
    """How an approval was answered."""

    granted: bool
    cause: str = ""
    reason: str = ""
    digest: str = ""
    """Of what was asked about; the answer counts for nothing else."""
    hunks: tuple[str, ...] | None = None
    """Which pieces of the change were accepted; None is all of them."""


class Review(Struct, frozen=True):
    """What a reviewing agent said about a change."""

    verdict: ReviewVerdict
    reason: str
    reviewer: str = ""


class Agreed(Struct, frozen=True):
    """What a call may do, after all that was shown and answered about it."""

    arguments: str = ""
    """The digest of the arguments a person said yes to; empty if nobody was asked."""
    change: str = ""
    """The digest of the change that was shown; empty if none was."""
    hunks: tuple[str, ...] | None = None
    """Which pieces of it; None is all of them."""
    reason: str = ""
    """What the person said about it."""


class TurnState(Struct, kw_only=True):
    """The turn that is being answered."""

    id: str
    message_id: str
    agent: str
    provider: str
    model: str
    started_at: str
    options: Json | None = None
    on_ask: Literal["wait", "deny"] = "wait"
    approval_timeout_s: float | None = None
    resumes: int = 0
    """How often a crash cut it off since it last came a step further."""
    steps: int = 0
    usage: Usage = Usage()
    pending: list[PendingApproval] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    changes: dict[str, str] = field(default_factory=dict)
    """The change that was shown for a call, by its digest: the call makes this one or none."""
    reviews: dict[str, Review] = field(default_factory=dict)
    """What a reviewing agent said about the change of a call."""
    open_calls: dict[str, str] = field(default_factory=dict)
    """Calls that were started and have no result: id to name."""
    open_message: str = ""
    """The message being streamed, once a piece of it is in the log."""
    open_seq: int = 0
    """Where in the log that first piece is."""
    last_message: str | None = None
    """The last whole answer of the model."""
    backing_off: str = ""
    """When the provider is asked again, while that is waited for."""
    changed: bool = False
    """Whether a call may have changed the workspace."""
    verifying: str = ""
    """The verification that was started and has no outcome."""
    baselining: bool = False
    """Whether that one runs before the first change, so that the call which waits for it has not run."""
    baselined: bool = False
    """Whether it is known what failed before the first change, or why that is not known."""
    attempts: int = 0
    """How often verification has failed after a change."""
    cancel_requested: bool = False
    cancel_reason: str = ""
    preflight: bool = False
    """Whether its steps are to be approved before anything runs."""
    pending_preflight: PendingPreflight | None = None
    """The steps that wait for an answer."""
    preflight_answer: PreflightAnswer | None = None
    """The answer, once there is one."""
    approved_steps: list[PreflightStep] = field(default_factory=list)
    """What was approved: each lets one call run unasked."""
    skipped_steps: list[PreflightStep] = field(default_factory=list)
    """What was proposed and left out."""
    used_steps: dict[str, str] = field(default_factory=dict)
    """The call that ran by a step, by the step's id."""

    @property
    def waits_for_a_person(self) -> bool:
        """Whether somebody has to answer something."""
        return bool(self.pending) or self.pending_preflight is not None

    def agreed(self, call_id: str) -> Agreed:
        """What a call may do; nothing is said of one that nobody was shown or asked about."""
        answer = self.answers.get(call_id)
        change = self.changes.get(call_id, "")
        if answer is None or not answer.granted:
            return Agreed(change=change)
        return Agreed(answer.digest, change, answer.hunks, answer.reason)


class SessionState(Struct, kw_only=True):
    """A session, folded."""

    id: str
    agent: str
    workspace_path: str
    project_path: str
    created_at: str
    updated_at: str
    title: str | None = None
    provider: str | None = None
    model: str | None = None
    system_prompt: str | None = None
    auto_run: bool = True
    ephemeral: bool = False
    status: SessionStatus = "active"
    last_seq: int = 0
    last_turn_id: str | None = None
    turn: TurnState | None = None
    queue: list[QueuedTurn] = field(default_factory=list)
    grants: list[Grant] = field(default_factory=list)
    """What was approved for the rest of the session."""
    usage: Usage = Usage()
    seconds: float = 0.0
    """Time its turns spent working."""
    budget: Budgets | None = None
    withheld: dict[str, str] = field(default_factory=dict)
    """What models are no longer told, by ref or id, and why."""
    exhausted: str = ""
    """The last turn, if it ended because a limit was reached."""
    noticed: list[str] = field(default_factory=list)
    """The codes of the notices that were given."""
    ledger: Ledger = field(default_factory=Ledger)
    """What is known by verification."""
    reverts: list[tuple[int, int]] = field(default_factory=list)
    """Where the conversation was taken back, and to which event (see segments)."""
    jobs: list[Job] = field(default_factory=list)
    """What runs in the background."""
    ended_jobs: list[Job] = field(default_factory=list)
    """What ran there last."""
    resource: ResourceTag | UnsetType = UNSET
    """The resource it was begun for."""
    forked_from: ForkedFrom | None = None
    """Where it was forked from another session."""
    context_tokens: int = 0
    """How much the model was told and said last; 0 is unknown."""
    compactions: list[Mark] = field(default_factory=list)
    """Where the conversation was made shorter, and where that was undone (see compactions)."""
    compaction: CompactionRequest | None = None
    """What somebody asked for and did not get yet."""
    compacting: CompactionTrigger | None = None
    """Why it is being made shorter just now."""
    compacted_to: int = 0
    """Tokens that a compaction could do nothing about: until there are more of them another is of no use."""
    context: ContextState = field(default_factory=ContextState)
    """What models were told beside the conversation."""
    draft: DraftState | None = None
    """The draft it is or was."""
    worker: WorkerState | None = None
    """Whose worker it is."""
    workers: dict[str, WorkerMark] = field(default_factory=dict)
    """Those that worked for it, by agent; the latest."""

    @property
    def has_team(self) -> bool:
        """Whether its agent deals with the harness: while it is drafted, or works for somebody."""
        return self.worker is not None or (self.draft is not None and self.draft.status == "active")

    @property
    def activity(self) -> Activity:
        """What it is doing, finer than the status."""
        if self.compacting is not None:
            return "compacting"
        if self.turn is None:
            return "queued" if self.queue or self.compaction is not None else "idle"
        if self.turn.waits_for_a_person:
            return "waiting_approval"
        if self.turn.backing_off:
            return "backing_off"
        return "verifying" if self.turn.verifying else "running"

    def public(self, epoch: int) -> Session:
        """The session as clients see it."""
        return Session(
            id=self.id,
            session_id=self.id,
            title=self.title,
            agent=self.agent,
            provider=self.provider,
            model=self.model,
            workspace_path=self.workspace_path,
            project_path=self.project_path,
            system_prompt=self.system_prompt,
            auto_run=self.auto_run,
            created_at=self.created_at,
            updated_at=self.updated_at,
            status=self.status,
            activity=self.activity,
            last_turn_id=self.last_turn_id,
            last_seq=self.last_seq,
            epoch=epoch,
            queue=tuple(self.queue),
            pending_approvals=tuple(self.turn.pending) if self.turn else (),
            pending_preflight=self.turn.pending_preflight if self.turn else None,
            usage=self.usage,
            budget=self.budget,
            jobs=tuple(self.jobs),
            resource=self.resource,
            forked_from=self.forked_from,
            context_tokens=self.context_tokens,
        )


def fold(state: SessionState | None, event: Event) -> SessionState | None:
    """Take one more event into account; unknown types only move the end of the log."""
    data = event.data
    if isinstance(data, ev.SessionCreated):
        state = _created(data, event)
    if state is None:
        return None
    state.last_seq = event.seq
    state.updated_at = event.ts
    if data is not None:
        handler = _HANDLERS.get(type(data))
        if handler is not None:
            handler(state, event, data)
        if state.draft is not None:
            note(state.draft, event, data)
    return state


def _created(data: ev.SessionCreated, event: Event) -> SessionState:
    return SessionState(
        id=data.id,
        agent=data.agent,
        workspace_path=data.workspace_path,
        project_path=data.project_path,
        created_at=data.created_at,
        updated_at=event.ts,
        title=data.title,
        provider=data.provider,
        model=data.model,
        system_prompt=data.system_prompt,
        auto_run=data.auto_run,
        ephemeral=data.ephemeral,
        budget=data.budget,
        resource=data.resource,
        forked_from=None if data.forked_from is UNSET else data.forked_from,
    )


def _updated(state: SessionState, event: Event, data: ev.SessionUpdated) -> None:
    state.title = data.title if data.title is not None else state.title
    state.agent = data.agent or state.agent
    state.provider = data.provider or state.provider
    state.model = data.model or state.model
    if data.model or data.provider:
        state.compacted_to = 0
    state.budget = data.budget or state.budget


def _message_added(state: SessionState, event: Event, data: ev.MessageAdded) -> None:
    if data.run and event.turn_id and data.message.origin != "verification":
        _enqueue(state, QueuedTurn(turn_id=event.turn_id, message_id=data.message.id, asked=data.asked))


def _turn_requested(state: SessionState, event: Event, data: ev.TurnRequested) -> None:
    turn_id = event.turn_id or ""
    queued = QueuedTurn(turn_id=turn_id, message_id=data.message_id, asked=data.asked, retry_of=data.retry_of)
    _enqueue(state, queued)


def _enqueue(state: SessionState, queued: QueuedTurn) -> None:
    state.queue.append(queued)
    state.last_turn_id = queued.turn_id
    if state.status != "waiting_approval":
        state.status = "active"


def _turn_started(state: SessionState, event: Event, data: ev.TurnStarted) -> None:
    turn_id = event.turn_id or ""
    state.queue = [queued for queued in state.queue if queued.turn_id != turn_id]
    state.status = "active"
    if not state.queue:
        state.last_turn_id = turn_id
    state.turn = TurnState(
        id=turn_id,
        message_id=data.message_id,
        agent=data.agent,
        provider=data.provider,
        model=data.model,
        options=data.options,
        on_ask=data.on_ask,
        approval_timeout_s=data.approval_timeout_s,
        started_at=event.ts,
        preflight=data.preflight,
    )


def _turn_resumed(state: SessionState, event: Event, data: ev.TurnResumed) -> None:
    state.compacting = None
    if state.turn:
        state.turn.open_message = state.turn.verifying = state.turn.backing_off = ""
        state.turn.baselining = False
        state.turn.resumes += not state.turn.waits_for_a_person  # a question may wait through any number of restarts


def _delta(state: SessionState, event: Event, data: ev.ModelOutputDelta) -> None:
    if state.turn and state.turn.open_message != data.message_id:
        state.turn.open_message, state.turn.open_seq = data.message_id, event.seq
        state.turn.backing_off = ""


def _model_output_completed(state: SessionState, event: Event, data: ev.ModelOutputCompleted) -> None:
    if state.turn:
        state.turn.open_message = state.turn.backing_off = ""
        if data.message.status == "complete":
            state.turn.steps += 1
            state.turn.last_message = data.message.id
            state.turn.resumes = 0


def _backed_off(state: SessionState, event: Event, data: ev.ModelBackedOff) -> None:
    if state.turn:
        state.turn.backing_off = data.resume_at


def _switched(state: SessionState, event: Event, data: ev.ModelSwitched) -> None:
    state.compacted_to = 0
    if state.turn:
        state.turn.provider, state.turn.model, state.turn.backing_off = data.provider, data.model, ""


def _withheld(state: SessionState, event: Event, data: ev.PartsWithheld) -> None:
    state.withheld.update(dict.fromkeys(data.ids, data.code))
    if state.turn:
        state.turn.backing_off = ""


def _noticed(state: SessionState, event: Event, data: ev.Notice) -> None:
    if data.code not in state.noticed:
        state.noticed.append(data.code)


def _reverted(state: SessionState, event: Event, data: ev.ConversationReverted) -> None:
    state.reverts.append((event.seq, data.to_seq))
    state.last_turn_id = data.last_turn_id
    state.exhausted = ""
    state.context_tokens = state.compacted_to = 0
    state.context.reverted(data.to_seq)


def _draft_opened(state: SessionState, event: Event, data: ev.DraftOpened) -> None:
    state.draft = DraftState.of(event, data)


def _agent_dispatched(state: SessionState, event: Event, data: ev.AgentDispatched) -> None:
    state.worker = WorkerState.of(event, data)


def _workers_changed(
    state: SessionState, event: Event, data: ev.WorkerStarted | ev.WorkerCompleted | ev.WorkerMerged
) -> None:
    mark_worker(state.workers, data)


def _usage_recorded(state: SessionState, event: Event, data: ev.UsageRecorded) -> None:
    state.usage = state.usage.plus(data.usage)
    if state.turn and state.turn.id == event.turn_id:
        if data.message_id and data.usage.input_tokens:
            state.context_tokens = data.usage.told
        state.turn.usage = state.turn.usage.plus(data.usage)


def _compaction_requested(state: SessionState, event: Event, data: ev.CompactionRequested) -> None:
    state.compaction = CompactionRequest(focus=data.focus, requested_at=event.ts)


def _compaction_started(state: SessionState, event: Event, data: ev.CompactionStarted) -> None:
    state.compacting = data.trigger


def _compacted(state: SessionState, event: Event, data: ev.ContextCompacted) -> None:
    state.compactions = [*state.compactions, (event.seq, data.compaction_id, False)][-MOST_MARKS:]
    state.context_tokens, state.compacted_to = data.post_tokens, 0
    state.context.compacted(data.carried)
    _compaction_over(state, data.trigger)


def _compaction_failed(state: SessionState, event: Event, data: ev.CompactionFailed) -> None:
    if data.code == "not_shrunk":
        state.compacted_to = data.pre_tokens
    _compaction_over(state, data.trigger)


def _compaction_over(state: SessionState, trigger: CompactionTrigger) -> None:
    state.compacting = None
    if trigger == "manual":
        state.compaction = None


def _compaction_undone(state: SessionState, event: Event, data: ev.CompactionUndone) -> None:
    state.compactions = [*state.compactions, (event.seq, data.compaction_id, True)][-MOST_MARKS:]
    state.context_tokens = state.compacted_to = 0
    state.context.compacted()


def _context_assembled(state: SessionState, event: Event, data: ev.ContextAssembled) -> None:
    state.context.assembled(event, data)


def _context_added(state: SessionState, event: Event, data: ev.ContextAdded) -> None:
    state.context.told(event, data.sections, data.message_id or "")


def _tool_call_started(state: SessionState, event: Event, data: ev.ToolCallStarted) -> None:
    state.context.called(data)
    if state.turn:
        state.turn.open_calls[data.tool_call.id] = data.tool_call.name
        if data.preflight_step is not UNSET:
            state.turn.used_steps[data.preflight_step] = data.tool_call.id


def _preflight_requested(state: SessionState, event: Event, data: ev.PreflightRequested) -> None:
    if state.turn:
        state.turn.backing_off = ""
        state.turn.resumes = 0
        state.turn.pending_preflight = PendingPreflight(
            turn_id=event.turn_id or "",
            requested_at=event.ts,
            steps=data.steps,
            estimated_cost=data.estimated_cost,
            required_permissions=data.required_permissions,
            warnings=data.warnings,
            digest=data.digest,
        )
        state.status = "waiting_approval"


def _preflight_resolved(state: SessionState, event: Event, data: ev.PreflightResolved) -> None:
    if state.turn:
        answer = PreflightAnswer(approved=data.approved, cause=data.cause, reason=data.reason)
        state.turn.pending_preflight, state.turn.preflight_answer = None, answer
        state.turn.approved_steps = list(data.steps) if data.approved else []
        state.turn.skipped_steps = list(data.skipped)
        if state.status == "waiting_approval":
            state.status = "active"


def _tool_call_completed(state: SessionState, event: Event, data: ev.ToolCallCompleted) -> None:
    turn = state.turn
    if turn:
        turn.open_calls.pop(data.tool_call_id, None)
        turn.answers.pop(data.tool_call_id, None)
        turn.changes.pop(data.tool_call_id, None)
        turn.reviews.pop(data.tool_call_id, None)
        if data.tool_result.changed or data.interrupted:
            turn.changed = True


def _approval_requested(state: SessionState, event: Event, data: ev.ApprovalRequested) -> None:
    if state.turn:
        pending = PendingApproval(
            turn_id=event.turn_id or "",
            tool_call_id=data.tool_call_id,
            name=data.name,
            input=data.input,
            risk=data.risk,
            rule=data.rule,
            reason=data.reason,
            requested_at=event.ts,
            preview=data.preview,
            preview_digest=data.preview_digest,
            hunks=data.hunks,
            digest=data.digest,
            shown=data.shown,
            remember=data.remember,
        )
        state.turn.pending.append(pending)
        _shown(state.turn, data.tool_call_id, data.preview_digest)
        state.status = "waiting_approval"


def _patch_proposed(state: SessionState, event: Event, data: ev.PatchProposed) -> None:
    if state.turn:
        _shown(state.turn, data.tool_call_id, data.preview_digest)


def _shown(turn: TurnState, call_id: str, change: str) -> None:
    if change:
        turn.changes[call_id] = change


def _patch_reviewed(state: SessionState, event: Event, data: ev.PatchReviewed) -> None:
    if state.turn:
        state.turn.reviews[data.tool_call_id] = Review(data.verdict, data.reason, data.reviewer)


def _approval_granted(state: SessionState, event: Event, data: ev.ApprovalGranted) -> None:
    hunks = None if data.hunks is UNSET else data.hunks
    _answered(state, data.tool_call_id, Answer(granted=True, reason=data.reason, digest=data.digest, hunks=hunks))
    if data.remember == "session":
        given = data.grants or (_whole_tool(state, event, data),)
        known = [grant.rule for grant in state.grants]
        state.grants += [grant for grant in given if grant.rule not in known]


def _whole_tool(state: SessionState, event: Event, data: ev.ApprovalGranted) -> Grant:
    """What an answer for the session meant before answers named rules."""
    return Grant(
        id=f"{GRANT}_{data.tool_call_id.partition('_')[2]}",
        scope="session",
        rule=Rule(tool=data.name, verdict="allow"),
        text=f"every call of {data.name}",
        granted_at=event.ts,
        session_id=state.id,
    )


def _approval_denied(state: SessionState, event: Event, data: ev.ApprovalDenied) -> None:
    _answered(state, data.tool_call_id, Answer(granted=False, cause=data.cause, reason=data.reason))


def _grants_dropped(state: SessionState, event: Event, data: ev.GrantsDropped) -> None:
    state.grants.clear()


def _grant_revoked(state: SessionState, event: Event, data: ev.GrantRevoked) -> None:
    state.grants = [grant for grant in state.grants if grant.id != data.grant_id]


def _answered(state: SessionState, call_id: str, answer: Answer) -> None:
    if state.turn:
        state.turn.pending = [pending for pending in state.turn.pending if pending.tool_call_id != call_id]
        state.turn.answers[call_id] = answer
        if not state.turn.pending and state.status == "waiting_approval":
            state.status = "active"


def _verification_started(state: SessionState, event: Event, data: ev.VerificationStarted) -> None:
    if state.turn:
        state.turn.verifying = data.verification_id
        state.turn.baselining = data.baseline


def _verification_completed(state: SessionState, event: Event, data: ev.VerificationCompleted) -> None:
    state.ledger.take(event, data)
    turn = state.turn
    if turn:
        if turn.verifying == data.verification_id:
            turn.verifying, turn.baselining = "", False
        turn.baselined = turn.baselined or (data.baseline and bool(data.command) and data.index == data.of)
        if data.status == "failed" and not (data.baseline or data.tool_call_id):
            turn.attempts = data.attempt


def _job_started(state: SessionState, event: Event, data: ev.JobStarted) -> None:
    state.jobs = [job for job in state.jobs if job.id != data.job_id]
    state.jobs.append(
        Job(
            id=data.job_id,
            command=data.command,
            cwd=data.cwd,
            turn_id=event.turn_id or "",
            tool_call_id=data.tool_call_id,
            started_at=event.ts,
            output=data.output,
            owner=data.owner,
        )
    )


def _job_ended(state: SessionState, event: Event, data: ev.JobEnded) -> None:
    ended = [
        replace(
            job,
            status="ended",
            ended_at=event.ts,
            exit_code=data.exit_code,
            signal=data.signal,
            reason=data.reason,
            output_bytes=data.output_bytes,
        )
        for job in state.jobs
        if job.id == data.job_id
    ]
    state.jobs = [job for job in state.jobs if job.id != data.job_id]
    state.ended_jobs = [*state.ended_jobs, *ended][-ENDED_JOBS:]


def _cancel_requested(state: SessionState, event: Event, data: ev.CancelRequested) -> None:
    if state.turn and state.turn.id == event.turn_id:
        state.turn.cancel_requested = True
        state.turn.cancel_reason = data.reason


def _turn_over(state: SessionState, event: Event, data: ev.TurnCompleted | ev.TurnFailed | ev.TurnCanceled) -> None:
    state.seconds += data.seconds
    limited = isinstance(data, ev.TurnCompleted) and data.stop_reason == "budget_exhausted"
    state.exhausted = (event.turn_id or "") if limited else ""
    if isinstance(data, ev.TurnCompleted):
        state.ledger.end(data)
    if state.turn and state.turn.id == event.turn_id:
        state.context.asked(state.turn.agent, state.turn.provider, state.turn.model)
        state.turn = state.compacting = None
        if isinstance(data, ev.TurnCanceled):
            state.compaction = None
        if state.status == "waiting_approval":
            state.status = "active"  # nothing of it is pending any more
    state.queue = [queued for queued in state.queue if queued.turn_id != event.turn_id]


def _session_status(status: SessionStatus) -> Callable[[SessionState, Event, ev.EventData], None]:
    def handler(state: SessionState, event: Event, data: ev.EventData) -> None:
        state.status = status

    return handler


# Each handler takes the data type it is listed under, which the table's type cannot say.
_HANDLERS: dict[type[ev.EventData], Callable[[SessionState, Event, Any], None]] = {
    ev.SessionUpdated: _updated,
    ev.MessageAdded: _message_added,
    ev.TurnRequested: _turn_requested,
    ev.TurnStarted: _turn_started,
    ev.TurnResumed: _turn_resumed,
    ev.ContextAssembled: _context_assembled,
    ev.ContextAdded: _context_added,
    ev.ModelOutputDelta: _delta,
    ev.ModelOutputCompleted: _model_output_completed,
    ev.ModelBackedOff: _backed_off,
    ev.ModelSwitched: _switched,
    ev.PartsWithheld: _withheld,
    ev.CompactionRequested: _compaction_requested,
    ev.CompactionStarted: _compaction_started,
    ev.ContextCompacted: _compacted,
    ev.CompactionFailed: _compaction_failed,
    ev.CompactionUndone: _compaction_undone,
    ev.Notice: _noticed,
    ev.ConversationReverted: _reverted,
    ev.DraftOpened: _draft_opened,
    ev.AgentDispatched: _agent_dispatched,
    ev.WorkerStarted: _workers_changed,
    ev.WorkerCompleted: _workers_changed,
    ev.WorkerMerged: _workers_changed,
    ev.UsageRecorded: _usage_recorded,
    ev.PreflightRequested: _preflight_requested,
    ev.PreflightResolved: _preflight_resolved,
    ev.ToolCallStarted: _tool_call_started,
    ev.ToolCallCompleted: _tool_call_completed,
    ev.ApprovalRequested: _approval_requested,
    ev.ApprovalGranted: _approval_granted,
    ev.ApprovalDenied: _approval_denied,
    ev.PatchProposed: _patch_proposed,
    ev.PatchReviewed: _patch_reviewed,
    ev.GrantsDropped: _grants_dropped,
    ev.GrantRevoked: _grant_revoked,
    ev.VerificationStarted: _verification_started,
    ev.VerificationCompleted: _verification_completed,
    ev.JobStarted: _job_started,
    ev.JobEnded: _job_ended,
    ev.CancelRequested: _cancel_requested,
    ev.TurnCompleted: _turn_over,
    ev.TurnFailed: _turn_over,
    ev.TurnCanceled: _turn_over,
    ev.SessionCompleted: _session_status("completed"),
    ev.SessionFailed: _session_status("failed"),
    ev.SessionCanceled: _session_status("canceled"),
}
