"""What events mean for a session: `fold` is the one place that says so; clients, recovery and the turn go by it.

Pure. May import: protocol, views.asking, views.drafting, views.shortening, views.state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from agi.protocol import events as ev
from agi.protocol.events import Event
from agi.protocol.jobs import Job
from agi.protocol.sessions import QueuedTurn, SessionStatus
from agi.views.asking import ASKING
from agi.views.drafting import DraftState, WorkerState, mark_worker, note
from agi.views.shortening import SHORTENING, tell_all
from agi.views.state import SessionState, TurnState

ENDED_JOBS = 8
"""How many jobs that are over a session remembers."""


def fold(state: SessionState | None, event: Event) -> SessionState | None:
    """Take one more event into account; unknown types only move the end of the log."""
    data = event.data
    if isinstance(data, ev.SessionCreated):
        state = _created(data, event)
    if state is None:
        return None
    state.last_seq = event.seq
    state.head = event.hash or state.head  # one that is not written yet has none
    state.updated_at = event.ts
    if data is not None:
        handler = _HANDLERS.get(type(data))
        if handler is not None:
            handler(state, event, data)
        if state.draft is not None:
            note(state.draft, event, data)
    return state


def begun(events: Iterable[Event]) -> SessionState:
    """How a session stands whose first events these are."""
    state: SessionState | None = None
    for event in events:
        state = fold(state, event)
    if state is None:
        raise ValueError("A session begins with `session_created`.")
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
        mode = "queue" if data.mode is UNSET else data.mode
        _enqueue(state, QueuedTurn(turn_id=event.turn_id, message_id=data.message.id, asked=data.asked, mode=mode))


def _turn_requested(state: SessionState, event: Event, data: ev.TurnRequested) -> None:
    turn_id = event.turn_id or ""
    queued = QueuedTurn(turn_id=turn_id, message_id=data.message_id, asked=data.asked, retry_of=data.retry_of)
    _enqueue(state, queued)


def _enqueue(state: SessionState, queued: QueuedTurn) -> None:
    _stand_in_line(state, queued)
    if state.status != "waiting_approval":
        state.status = "active"


def _stand_in_line(state: SessionState, queued: QueuedTurn) -> None:
    """Those that steer come first, in the order in which they were said to: also where the turn ends before it."""
    place = len(state.queue)
    if queued.mode == "steer":
        place = sum(one.mode == "steer" for one in state.queue)
    state.queue.insert(place, queued)
    state.last_turn_id = state.queue[-1].turn_id


def _steer_requested(state: SessionState, event: Event, data: ev.SteerRequested) -> None:
    found = [one for one in state.queue if one.message_id == data.message_id and one.mode == "queue"]
    for queued in found:
        state.queue.remove(queued)
        _stand_in_line(state, replace(queued, mode="steer"))


def _message_steered(state: SessionState, event: Event, data: ev.MessageSteered) -> None:
    state.queue = [queued for queued in state.queue if queued.turn_id != data.queued_turn_id]
    state.last_turn_id = state.queue[-1].turn_id if state.queue else event.turn_id


def _turn_started(state: SessionState, event: Event, data: ev.TurnStarted) -> None:
    turn_id = event.turn_id or ""
    state.queue = [queued for queued in state.queue if queued.turn_id != turn_id]
    state.status = "active"
    state.begun_turn_id = turn_id
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
        state.turn.pauses += state.turn.paused and not state.turn.waits_for_a_person
        state.turn.paused = False


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
            state.turn.resumes = state.turn.pauses = 0
            state.turn.owed = max(0, state.turn.owed - 1)


def _backed_off(state: SessionState, event: Event, data: ev.ModelBackedOff) -> None:
    if state.turn:
        state.turn.backing_off = data.resume_at


def _switched(state: SessionState, event: Event, data: ev.ModelSwitched) -> None:
    state.compacted_to = 0
    if state.turn:
        state.turn.provider, state.turn.model, state.turn.backing_off = data.provider, data.model, ""
        state.turn.owed = 0  # another model has another window


def _withheld(state: SessionState, event: Event, data: ev.PartsWithheld) -> None:
    state.withheld.update(dict.fromkeys(data.ids, data.code))
    if state.turn:
        state.turn.backing_off = ""


def _noticed(state: SessionState, event: Event, data: ev.Notice) -> None:
    if data.code not in state.noticed:
        state.noticed.append(data.code)
    if state.turn and state.turn.id == event.turn_id and data.code == ev.DISK_FULL:
        state.turn.paused = True


def _reverted(state: SessionState, event: Event, data: ev.ConversationReverted) -> None:
    state.reverts.append((event.seq, data.to_seq))
    state.last_turn_id = state.begun_turn_id = data.last_turn_id
    state.exhausted = ""
    state.context_tokens = state.compacted_to = 0
    state.context.reverted(data.to_seq)
    tell_all(state)


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


def _tool_call_completed(state: SessionState, event: Event, data: ev.ToolCallCompleted) -> None:
    turn = state.turn
    if turn:
        turn.open_calls.pop(data.tool_call_id, None)
        turn.answers.pop(data.tool_call_id, None)
        turn.changes.pop(data.tool_call_id, None)
        turn.reviews.pop(data.tool_call_id, None)
        if data.tool_result.changed or data.interrupted:
            turn.changed = True


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
    if isinstance(data, ev.TurnCanceled) and (state.turn is None or state.turn.id != event.turn_id):
        _dropped(state, event.turn_id)
        return
    state.seconds += data.seconds
    state.begun_turn_id = event.turn_id
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


def _dropped(state: SessionState, turn_id: str | None) -> None:
    """A turn that never began is over: the last one is again whoever was the last without it."""
    state.queue = [queued for queued in state.queue if queued.turn_id != turn_id]
    before = state.turn.id if state.turn else state.begun_turn_id
    state.last_turn_id = state.queue[-1].turn_id if state.queue else before or turn_id


def _session_status(status: SessionStatus) -> Callable[[SessionState, Event, ev.EventData], None]:
    def handler(state: SessionState, event: Event, data: ev.EventData) -> None:
        state.status = status

    return handler


# Each handler takes the data type it is listed under, which the table's type cannot say.
_HANDLERS: dict[type[ev.EventData], Callable[[SessionState, Event, Any], None]] = {
    **ASKING,
    **SHORTENING,
    ev.SessionUpdated: _updated,
    ev.MessageAdded: _message_added,
    ev.SteerRequested: _steer_requested,
    ev.MessageSteered: _message_steered,
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
    ev.Notice: _noticed,
    ev.ConversationReverted: _reverted,
    ev.DraftOpened: _draft_opened,
    ev.AgentDispatched: _agent_dispatched,
    ev.WorkerStarted: _workers_changed,
    ev.WorkerCompleted: _workers_changed,
    ev.WorkerMerged: _workers_changed,
    ev.UsageRecorded: _usage_recorded,
    ev.ToolCallStarted: _tool_call_started,
    ev.ToolCallCompleted: _tool_call_completed,
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
