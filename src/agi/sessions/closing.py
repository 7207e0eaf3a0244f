"""Closing what a crash or a cancel left open: the events that make a turn whole again. Pure.

Every call gets a result and every question an answer, so that the conversation can go on. A call that may have had an
effect is never run again by itself: it is told to the model as interrupted. May import: protocol, loop.history, views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from agi.loop.history import unanswered
from agi.protocol.events import (
    ApprovalDenied,
    Event,
    EventData,
    ModelOutputCompleted,
    ModelOutputDelta,
    PreflightResolved,
    ToolCallCompleted,
    VerificationCompleted,
)
from agi.protocol.ids import CALL, MESSAGE, new_id
from agi.protocol.messages import Message
from agi.protocol.parts import Part, Reasoning, Text
from agi.protocol.tools import EMPTY_INPUT, ToolCall, failed
from agi.views.state import TurnState

INTERRUPTED = (
    "Interrupted: the harness stopped while this call was running. It may have had its effect, in part or whole; "
    "look before you repeat it."
)
CANCELED = "Canceled by the user while it was running. It may have had its effect, in part or whole."
NOT_RUN = "Canceled by the user before it ran."
CHECK_INTERRUPTED = "The harness stopped while it was running; it is run again."
CHECK_CANCELED = "Canceled."


def after_crash(
    turn: TurnState, is_repeatable: Callable[[str], bool], pieces: Iterable[Event], now: str
) -> list[EventData]:
    """What to append before a turn that a crash cut off goes on."""
    closed: list[EventData] = []
    if turn.open_message:
        closed.append(ModelOutputCompleted(message=cut_off(turn, pieces, now)))
    for call_id, name in turn.open_calls.items():
        if not is_repeatable(name) and not turn.baselining:  # one that waits for the baseline has not run
            closed.append(_completed(ToolCall(call_id, name, EMPTY_INPUT), INTERRUPTED, interrupted=True))
    if turn.verifying:
        closed.append(
            VerificationCompleted(
                verification_id=turn.verifying,
                command="",
                attempt=turn.attempts,
                status="not_run",
                reason=CHECK_INTERRUPTED,
                baseline=turn.baselining,
            )
        )
    return closed


def after_cancel(turn: TurnState, history: Sequence[Message], reason: str) -> list[EventData]:
    """What to append before a turn is closed as canceled (or failed)."""
    closed: list[EventData] = [
        ApprovalDenied(tool_call_id=pending.tool_call_id, name=pending.name, cause="canceled", reason=reason)
        for pending in turn.pending
    ]
    if turn.pending_preflight is not None:
        closed.append(PreflightResolved(approved=False, cause="canceled", reason=reason))
    told, ran = (NOT_RUN, False) if turn.baselining else (CANCELED, True)
    closed += [
        _completed(ToolCall(call_id, name, EMPTY_INPUT), told, interrupted=ran)
        for call_id, name in turn.open_calls.items()
    ]
    closed += [
        _completed(call, NOT_RUN, interrupted=False) for call in unanswered(history) if call.id not in turn.open_calls
    ]
    if turn.verifying:
        closed.append(
            VerificationCompleted(
                verification_id=turn.verifying,
                command="",
                attempt=turn.attempts,
                status="not_run",
                reason=CHECK_CANCELED,
                baseline=turn.baselining,
            )
        )
    return closed


def cut_off(turn: TurnState, pieces: Iterable[Event], now: str) -> Message:
    """The message that was being streamed, as far as the log has it."""
    parts: dict[str, tuple[str, str]] = {}
    for event in pieces:
        data = event.data
        if isinstance(data, ModelOutputDelta) and data.message_id == turn.open_message:
            kind, text = parts.get(data.part_id, (data.kind, ""))
            parts[data.part_id] = (kind, text + data.delta)
    return Message(
        id=turn.open_message,
        role="assistant",
        parts=tuple(_part(part_id, kind, text, turn) for part_id, (kind, text) in parts.items()),
        created_at=now,
        turn_id=turn.id,
        status="error",
        agent=turn.agent,
        provider=turn.provider,
        model=turn.model,
        stop_reason="interrupted",
    )


def _part(part_id: str, kind: str, text: str, turn: TurnState) -> Part:
    if kind == "reasoning":
        return Reasoning(text=text, id=part_id, provider=turn.provider, model=turn.model)
    return Text(text=text, id=part_id)


def _completed(call: ToolCall, told: str, *, interrupted: bool) -> ToolCallCompleted:
    return ToolCallCompleted(
        tool_call_id=call.id or new_id(CALL),
        name=call.name,
        tool_result=failed(call, told),
        message_id=new_id(MESSAGE),
        interrupted=interrupted,
        blocked=not interrupted,
    )
