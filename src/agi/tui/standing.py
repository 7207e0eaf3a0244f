"""How a session stands: what it does, what waits for the user, what is queued, what it cost. Pure.

Begins with a snapshot and is kept by the events behind it; what came before the snapshot is in it already.
May import: protocol, tui.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from agi.protocol import events as ev
from agi.protocol.events import Event, Verification, in_todays_words
from agi.protocol.messages import Usage
from agi.protocol.preflight import PendingPreflight
from agi.protocol.sessions import Activity, PendingApproval, QueuedTurn, Session
from agi.tui.times import clock


class Standing:
    """One session's state, as far as a status line and an approval panel need it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.seq = session.last_seq
        self.activity: Activity = session.activity
        self.turn_id = (session.running_turn_id or session.last_turn_id or "") if session.activity != "idle" else ""
        self.pending: dict[str, PendingApproval] = {one.tool_call_id: one for one in session.pending_approvals}
        self.preflight: PendingPreflight | None = session.pending_preflight
        self.queue: list[QueuedTurn] = list(session.queue)
        self.usage: Usage = session.usage
        self.model = session.model or ""
        self.detail = ""
        """Which command is verified, until when it backs off."""
        self.verification: Verification = "not_run"
        self.changed = False
        """Whether files may have been changed since somebody looked."""
        self.reverted = False
        """Whether messages were taken back, so that what is shown is no longer the conversation."""
        self.context_tokens: int | None = None
        self.answered: dict[str, str] = {}
        """How a question that was pending was answered, by the id of its call."""

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs or waits."""
        return bool(self.turn_id)

    @property
    def waits_for_you(self) -> bool:
        """Whether somebody has to answer something."""
        return bool(self.pending) or self.preflight is not None

    @property
    def asked_below(self) -> bool:
        """Whether one of the questions is a worker's."""
        return any(one.session_id is not UNSET for one in self.pending.values())

    def hear_below(self, pending: Sequence[PendingApproval]) -> None:
        """What workers ask, as the session has it now: their questions and answers are in logs of their own."""
        own = {id: one for id, one in self.pending.items() if one.session_id is UNSET}
        below = {one.tool_call_id: one for one in pending if one.session_id is not UNSET}
        if own | below != self.pending:
            self.pending = own | below
            if self.activity in ("running", "waiting_approval"):
                self._go_on()

    def hear(self, event: Event) -> bool:
        """Take notice of an event; tells whether something changed."""
        if event.seq <= self.seq:
            return False  # live text keeps the number of what came before it, and changes nothing here
        self.seq = event.seq
        return self._turn(event) or self._within(event)

    def _turn(self, event: Event) -> bool:
        match event.data:
            case ev.MessageAdded(message=message, run=True, queued=queued, asked=asked, mode=mode) if event.turn_id:
                if queued:
                    waits = QueuedTurn(turn_id=event.turn_id, message_id=message.id, asked=asked, mode=mode or "queue")
                    self._stand_in_line(waits)
                else:
                    self._run(event.turn_id)
            case ev.SteerRequested(message_id=message_id):
                for one in [one for one in self.queue if one.message_id == message_id]:
                    self._unqueue(one.turn_id)
                    self._stand_in_line(msgspec.structs.replace(one, mode="steer"))
            case ev.MessageSteered(queued_turn_id=turn_id):
                self._unqueue(turn_id)
            case ev.TurnRequested(message_id=message_id) if event.turn_id and self.turn_id:
                self.queue.append(QueuedTurn(turn_id=event.turn_id, message_id=message_id))
            case ev.TurnStarted(model=model):
                self._unqueue(event.turn_id)
                self._run(event.turn_id or "")
                self.model = model
                self.verification = "not_run"
            case ev.TurnCompleted() | ev.TurnFailed() | ev.TurnCanceled() as data:
                self._end(event.turn_id or "", data)
            case ev.SessionUpdated() as data:
                values = {
                    name: getattr(data, name) for name in data.__struct_fields__ if getattr(data, name) is not None
                }
                self.session = msgspec.structs.replace(self.session, **values)
                self.model = data.model or self.model
            case ev.ConversationReverted():
                self.reverted = True
            case _:
                return False
        return True

    def _within(self, event: Event) -> bool:
        match event.data:
            case ev.ApprovalRequested() as data:
                fields = {name: getattr(data, name) for name in data.__struct_fields__}
                asked = PendingApproval(turn_id=event.turn_id or "", requested_at=event.ts, **fields)
                self.pending[data.tool_call_id] = asked
                self.activity = "waiting_approval"
            case ev.ApprovalGranted() | ev.ApprovalDenied() as data:
                if self.pending.pop(data.tool_call_id, None) is not None:
                    cause = data.cause if isinstance(data, ev.ApprovalDenied) else ""
                    self.answered[data.tool_call_id] = cause or ("denied" if cause else "approved")
                self._go_on()
            case ev.VerificationStarted(command=command):
                self.activity, self.detail = "verifying", command
            case ev.CompactionStarted():
                self.activity, self.detail = "compacting", ""
            case ev.PreflightRequested() as plan:
                steps = {name: getattr(plan, name) for name in plan.__struct_fields__}
                self.preflight = PendingPreflight(turn_id=event.turn_id or "", requested_at=event.ts, **steps)
                self._go_on()
            case ev.PreflightResolved():
                self.preflight = None
                self._go_on()
            case ev.ContextCompacted() | ev.CompactionFailed():
                self._go_on()
            case ev.VerificationCompleted() | ev.ModelOutputCompleted() | ev.TurnResumed():
                self._go_on()
            case ev.ModelBackedOff(resume_at=resume_at):
                self.activity, self.detail = "backing_off", f"until {clock(resume_at, '%H:%M:%S')}"
            case ev.UsageRecorded(usage=usage):
                self.usage = self.usage.plus(usage)
                self.context_tokens = usage.input_tokens + usage.output_tokens
            case ev.ToolCallStarted() | ev.ModelOutputDelta():
                if self.activity in ("running", "waiting_approval", "verifying"):
                    return False
                self._go_on()
            case ev.CheckpointCreated():
                self.changed = True
            case _:
                return False
        return True

    def _run(self, turn_id: str) -> None:
        self.turn_id, self.activity, self.detail = turn_id, "running", ""

    def _go_on(self) -> None:
        self.activity = "waiting_approval" if self.waits_for_you else "running" if self.turn_id else "idle"
        self.detail = ""

    def _stand_in_line(self, queued: QueuedTurn) -> None:
        """Those that steer come first."""
        steering = sum(one.mode == "steer" for one in self.queue)
        self.queue.insert(steering if queued.mode == "steer" else len(self.queue), queued)

    def _unqueue(self, turn_id: str | None) -> None:
        self.queue = [one for one in self.queue if one.turn_id != turn_id]

    def _end(self, turn_id: str, data: ev.EventData) -> None:
        self._unqueue(turn_id)
        if turn_id != self.turn_id:
            return
        self.turn_id, self.activity, self.detail = "", "idle", ""
        self.pending = {id: one for id, one in self.pending.items() if one.turn_id != turn_id}
        self.preflight = None
        if isinstance(data, ev.TurnCompleted):
            self.verification = in_todays_words(data.verification)
