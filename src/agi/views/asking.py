"""What questions and their answers mean for a session: plans, approvals, proposed patches and what was granted.

Pure. May import: protocol, views.state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from agi.protocol import events as ev
from agi.protocol.events import Event
from agi.protocol.grants import Grant
from agi.protocol.ids import GRANT
from agi.protocol.policies import Rule
from agi.protocol.preflight import PendingPreflight, PreflightAnswer
from agi.protocol.sessions import PendingApproval
from agi.views.state import Answer, Review, SessionState, TurnState


def _preflight_requested(state: SessionState, event: Event, data: ev.PreflightRequested) -> None:
    if state.turn:
        state.turn.backing_off = ""
        state.turn.resumes = state.turn.pauses = 0
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


# Each handler takes the data type it is listed under, which the table's type cannot say.
ASKING: dict[type[ev.EventData], Callable[[SessionState, Event, Any], None]] = {
    ev.PreflightRequested: _preflight_requested,
    ev.PreflightResolved: _preflight_resolved,
    ev.ApprovalRequested: _approval_requested,
    ev.ApprovalGranted: _approval_granted,
    ev.ApprovalDenied: _approval_denied,
    ev.PatchProposed: _patch_proposed,
    ev.PatchReviewed: _patch_reviewed,
    ev.GrantsDropped: _grants_dropped,
    ev.GrantRevoked: _grant_revoked,
}
