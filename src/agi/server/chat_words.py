"""The translation table for `/v1/chat`: an event of the log in seed 003's words.

Knows no connection. May import: protocol, eventlog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from agi.eventlog.base import Cursor, LiveDelta
from agi.eventlog.follow import Delivery
from agi.eventlog.hub import Item
from agi.protocol import chat
from agi.protocol import events as ev
from agi.protocol.events import Event
from agi.protocol.preflight import PendingPreflight
from agi.protocol.sessions import PendingApproval
from agi.server.words import ToolDone, dotted, kept, tool_done, verification_call, verification_done

_encode = msgspec.json.Encoder().encode


def chat_words(item: Item, cursor: Cursor) -> str:
    """The message that tells of an item, with where it leaves its reader; empty if there is no word for it."""
    body = kept(item, "chat", _message)
    return f'{body[:-1].decode()},"cursor":"{cursor}"}}' if body else ""


def _message(item: Item) -> bytes:
    if isinstance(item, LiveDelta):
        return _encode(_delta(item.session_id, item.turn_id or "", item.data))
    translate = _TRANSLATIONS.get(item.type)
    if translate is not None and item.data is not None:
        told = translate(item, item.data)
        return b"" if told is None else _encode(told)
    if item.type in _DOTTED:
        head = {"type": dotted(item.type), "sessionId": item.session_id, "requestId": item.turn_id}
        return _encode({**head, "data": Raw(item.raw)})
    return b""


def joined(deliveries: Iterable[Delivery]) -> list[Delivery]:
    """The same with pieces of one part that follow each other put together, so that a torrent is few messages."""
    told: list[Delivery] = []
    for delivery in deliveries:
        last, item = (told[-1].item if told else None), delivery.item
        if isinstance(item, LiveDelta) and isinstance(last, LiveDelta) and _goes_on(last, item):
            data = replace(last.data, delta=last.data.delta + item.data.delta)
            whole = LiveDelta(item.seq, last.ts, item.session_id, item.turn_id, data)
            told[-1] = Delivery(whole, delivery.cursor)
        else:
            told.append(delivery)
    return told


def _goes_on(last: LiveDelta, item: LiveDelta) -> bool:
    return last.data.part_id == item.data.part_id and last.end == item.data.offset and last.turn_id == item.turn_id


def approval_request(session_id: str, pending: PendingApproval) -> chat.ToolApprovalRequest:
    """The question as this surface asks it."""
    return chat.ToolApprovalRequest(
        session_id=session_id,
        request_id=pending.turn_id,
        tool_call_id=pending.tool_call_id,
        tool_name=pending.name,
        args=pending.input,
        risk=pending.risk,
        rule=pending.rule,
        reason=pending.reason,
        preview=pending.preview,
        hunks=pending.hunks,
        digest=pending.digest,
        shown=pending.shown,
        remember=pending.remember,
    )


def checklist(session_id: str, turn_id: str, data: PendingPreflight | ev.PreflightRequested) -> chat.PreflightChecklist:
    """A plan as this surface shows it."""
    cost = data.estimated_cost
    return chat.PreflightChecklist(
        session_id=session_id,
        request_id=turn_id,
        steps=tuple(map(chat.StepTold.of, data.steps)),
        estimated_cost=chat.CostTold(
            input_tokens=cost.input_tokens,
            output_tokens=cost.output_tokens,
            estimated_usd=cost.estimated_usd,
            low_usd=cost.low_usd,
            high_usd=cost.high_usd,
        ),
        required_permissions=data.required_permissions,
        warnings=data.warnings,
        digest=data.digest,
    )


def _planned(event: Event, data: ev.PreflightRequested) -> chat.PreflightChecklist:
    return checklist(event.session_id, event.turn_id or "", data)


def _plan_answered(event: Event, data: ev.PreflightResolved) -> chat.PreflightResolvedTold:
    return chat.PreflightResolvedTold(
        session_id=event.session_id,
        request_id=event.turn_id or "",
        approved=data.approved,
        cause=data.cause,
        steps=tuple(map(chat.StepTold.of, data.steps)),
        skipped=tuple(map(chat.StepTold.of, data.skipped)),
        reason=data.reason,
    )


def _delta(session_id: str, turn_id: str, data: ev.ModelOutputDelta) -> chat.StreamDelta:
    return chat.StreamDelta(
        session_id=session_id,
        request_id=turn_id,
        delta=data.delta,
        kind=data.kind,
        offset=data.offset,
        message_id=data.message_id,
        part_id=data.part_id,
    )


def started(event: Event, data: ev.TurnStarted) -> chat.StreamStart:
    """A turn begins."""
    return chat.StreamStart(session_id=event.session_id, request_id=event.turn_id or "", message_id=data.message_id)


def _called(event: Event, data: ev.ToolCallStarted) -> chat.ToolCallTold:
    call = data.tool_call
    return chat.ToolCallTold(
        session_id=event.session_id,
        request_id=event.turn_id or "",
        tool_call_id=call.id,
        tool_name=call.name,
        args=call.input,
    )


def _tool_delta(event: Event, data: ev.ToolOutputDelta) -> chat.ToolDeltaTold:
    return chat.ToolDeltaTold(
        session_id=event.session_id,
        request_id=event.turn_id or "",
        tool_call_id=data.tool_call_id,
        channel=data.channel,
        chunk=data.chunk,
        offset=data.offset,
    )


def _tool_done(event: Event, data: ev.ToolCallCompleted) -> chat.ToolResultTold:
    return _result(event, tool_done(data))


def _result(event: Event, done: ToolDone) -> chat.ToolResultTold:
    outcome = chat.ToolOutcome(
        ok=done.ok,
        parts=done.parts,
        result=done.result,
        artifact=done.artifact,
        error=done.error,
        interrupted=done.interrupted,
        blocked=done.blocked,
    )
    return chat.ToolResultTold(
        session_id=event.session_id,
        request_id=event.turn_id or "",
        tool_call_id=done.id,
        tool_name=done.name,
        result=outcome,
    )


def _asked(event: Event, data: ev.ApprovalRequested) -> chat.ToolApprovalRequest:
    return chat.ToolApprovalRequest(
        session_id=event.session_id,
        request_id=event.turn_id or "",
        tool_call_id=data.tool_call_id,
        tool_name=data.name,
        args=data.input,
        risk=data.risk,
        rule=data.rule,
        reason=data.reason,
        preview=data.preview,
        hunks=data.hunks,
        digest=data.digest,
        shown=data.shown,
        remember=data.remember,
    )


def _answered(event: Event, data: ev.ApprovalGranted | ev.ApprovalDenied) -> chat.ToolApprovalResolved:
    return chat.ToolApprovalResolved(
        session_id=event.session_id,
        request_id=event.turn_id or "",
        tool_call_id=data.tool_call_id,
        tool_name=data.name,
        approved=isinstance(data, ev.ApprovalGranted),
        cause="" if isinstance(data, ev.ApprovalGranted) else data.cause,
        reason=data.reason,
    )


def _verifying(event: Event, data: ev.VerificationStarted) -> chat.ToolCallTold:
    call = verification_call(data)
    return chat.ToolCallTold(
        session_id=event.session_id,
        request_id=event.turn_id or "",
        tool_call_id=call.id,
        tool_name=call.name,
        args=call.args,
    )


def _verified(event: Event, data: ev.VerificationCompleted) -> chat.ToolResultTold | None:
    done = verification_done(data)
    return None if done is None else _result(event, done)


def _completed(event: Event, data: ev.TurnCompleted) -> chat.StreamEnd:
    return chat.StreamEnd(
        session_id=event.session_id,
        request_id=event.turn_id or "",
        stop_reason=data.stop_reason,
        usage=chat.ChatUsage.of(data.usage),
        verification=ev.in_todays_words(data.verification),
        note="" if data.note is UNSET else data.note,
    )


def _canceled(event: Event, data: ev.TurnCanceled) -> chat.StreamEnd:
    return chat.StreamEnd(
        session_id=event.session_id,
        request_id=event.turn_id or "",
        stop_reason="canceled",
        usage=chat.ChatUsage.of(data.usage),
        note=data.reason,
        steered_into=data.steered_into,
    )


def _failed(event: Event, data: ev.TurnFailed) -> chat.ErrorTold:
    return chat.ErrorTold(
        code=data.error.code,
        message=data.error.message,
        hint=data.error.hint,
        request_id=event.turn_id or "",
        session_id=event.session_id,
        status="failed",
    )


def _logged_delta(event: Event, data: ev.ModelOutputDelta) -> chat.StreamDelta:
    return _delta(event.session_id, event.turn_id or "", data)


_TRANSLATIONS: dict[str, Callable[[Event, Any], object]] = {
    "turn_started": started,
    "preflight_requested": _planned,
    "preflight_resolved": _plan_answered,
    "model_output_delta": _logged_delta,
    "tool_call_started": _called,
    "tool_output_delta": _tool_delta,
    "tool_call_completed": _tool_done,
    "approval_requested": _asked,
    "approval_granted": _answered,
    "approval_denied": _answered,
    "verification_started": _verifying,
    "verification_completed": _verified,
    "turn_completed": _completed,
    "turn_canceled": _canceled,
    "turn_failed": _failed,
}

_DOTTED = frozenset(
    {
        "message_edited",
        "steer_requested",
        "message_steered",
        "context_compacted",
        "worker_started",
        "worker_completed",
        "worker_waiting",
        "worker_merged",
        "model_backed_off",
        "model_switched",
        "parts_withheld",
        "notice",
    }
)
"""Events that only other seeds know, and that a chat client should hear of: dotted, with their data."""
