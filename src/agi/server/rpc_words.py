"""The translation table for `/v1/rpc`: an event of the log as a notification in seed 001's words.

Knows no connection. May import: protocol, eventlog, views.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from agi.eventlog.base import LiveDelta
from agi.eventlog.hub import Item
from agi.protocol import events as ev
from agi.protocol import rpc
from agi.protocol.drafts import Draft
from agi.protocol.events import Event
from agi.protocol.parts import plain_text
from agi.protocol.sessions import PendingApproval
from agi.server.words import kept
from agi.views.state import SessionState

_encode = msgspec.json.Encoder().encode


class Who(Struct, frozen=True, kw_only=True):
    """Whose session it is."""

    session_id: str
    project: str
    task_slug: str
    role: str
    talks: bool
    """Whether it is one that people talk to; of an agent's own workers only questions are told."""

    @classmethod
    def of(cls, state: SessionState) -> Who | None:
        """None if it is neither a draft's nor a worker's."""
        who = state.draft or state.worker
        if who is None:
            return None
        talks = state.worker is None or not state.worker.parent_session_id
        return cls(session_id=state.id, project=who.project, task_slug=who.task_slug, role=who.role, talks=talks)


def notification(told: rpc.Notification) -> str:
    """The text of a notification."""
    head = f'{{"jsonrpc":"2.0","method":"{told.METHOD}","params":'
    return head + _encode(told).decode() + "}"


def rpc_words(who: Who, item: Item) -> str:
    """What is told of an item; empty if there is no word for it. How a draft stands is told by whoever knows it."""

    def make(item: Item) -> bytes:
        told = _words(who, item)
        return b"" if told is None else notification(told).encode()

    return kept(item, "rpc", make).decode()


def _words(who: Who, item: Item) -> rpc.Notification | None:
    if isinstance(item, LiveDelta):
        return _delta(who, item.turn_id, item.data) if who.talks else None
    translate = _QUESTIONS.get(item.type) or (_TALK.get(item.type) if who.talks else None)
    return None if translate is None or item.data is None else translate(who, item, item.data)


def draft_status(draft: Draft) -> rpc.DraftStatusTold:
    """How a draft stands."""
    return rpc.DraftStatusTold(
        session_id=draft.session_id,
        role=draft.role,
        turn_count=draft.turn_count,
        cost_usd=draft.cumulative_cost_usd,
        context_pct=draft.context_pct,
        last_activity=draft.last_activity_at,
        project=draft.project,
        task_slug=draft.task_slug,
        status=draft.status,
        activity=draft.activity,
        reason=draft.closed_reason,
    )


def pending(who: Who, asked: PendingApproval) -> rpc.ApprovalRequested:
    """A question that waits."""
    return _question(who, asked.turn_id, asked, asked.digest)


def _question(
    who: Who, turn_id: str, asked: PendingApproval | ev.ApprovalRequested, digest: str
) -> rpc.ApprovalRequested:
    return rpc.ApprovalRequested(
        session_id=who.session_id,
        project=who.project,
        task_slug=who.task_slug,
        role=who.role,
        turn_id=turn_id,
        tool_call_id=asked.tool_call_id,
        tool_name=asked.name,
        state="pending",
        args=asked.input,
        risk=asked.risk,
        rule=asked.rule,
        reason=asked.reason,
        preview=asked.preview,
        hunks=asked.hunks,
        digest=digest,
        shown=asked.shown,
        remember=asked.remember,
    )


def _asked(who: Who, event: Event, data: ev.ApprovalRequested) -> rpc.ApprovalRequested:
    return _question(who, event.turn_id or "", data, data.digest)


def _answered(who: Who, event: Event, data: ev.ApprovalGranted | ev.ApprovalDenied) -> rpc.ApprovalRequested:
    granted = isinstance(data, ev.ApprovalGranted)
    return rpc.ApprovalRequested(
        session_id=who.session_id,
        project=who.project,
        task_slug=who.task_slug,
        role=who.role,
        turn_id=event.turn_id or "",
        tool_call_id=data.tool_call_id,
        tool_name=data.name,
        state="approved" if granted else "denied",
        reason=data.reason,
        cause=data.cause if isinstance(data, ev.ApprovalDenied) else "",
    )


def _message(who: Who, event: Event, kind: Any, content: str, **more: Any) -> rpc.ChannelMessage:
    return rpc.ChannelMessage(
        session_id=who.session_id,
        project=who.project,
        task_slug=who.task_slug,
        role=who.role,
        kind=kind,
        content=content,
        turn_id=event.turn_id or "",
        **more,
    )


def _delta(who: Who, turn_id: str | None, data: ev.ModelOutputDelta) -> rpc.ChannelMessage:
    return rpc.ChannelMessage(
        session_id=who.session_id,
        project=who.project,
        task_slug=who.task_slug,
        role=who.role,
        kind=data.kind,
        content=data.delta,
        turn_id=turn_id or "",
        message_id=data.message_id,
        part_id=data.part_id,
        offset=data.offset,
    )


def _logged_delta(who: Who, event: Event, data: ev.ModelOutputDelta) -> rpc.ChannelMessage:
    return _delta(who, event.turn_id, data)


def _said(who: Who, event: Event, data: ev.MessageAdded) -> rpc.ChannelMessage | None:
    text = plain_text(data.message.parts)
    by_person = data.message.role == "user" and not data.message.origin
    return _message(who, event, "user", text, message_id=data.message.id) if by_person else None


def _final(who: Who, event: Event, data: ev.ModelOutputCompleted) -> rpc.ChannelMessage | None:
    text = plain_text(data.message.parts)
    return _message(who, event, "final", text, message_id=data.message.id) if text else None


def _tool(who: Who, event: Event, data: ev.ToolCallStarted) -> rpc.ChannelMessage:
    call = data.tool_call
    given = bytes(call.input).decode(errors="replace")
    return _message(who, event, "tool", given, tool_call_id=call.id, tool_name=call.name)


def _failed(who: Who, event: Event, data: ev.TurnFailed) -> rpc.ChannelMessage:
    return _message(who, event, "error", data.error.message, code=data.error.code, hint=data.error.hint)


def _notice(who: Who, event: Event, data: ev.Notice) -> rpc.ChannelMessage:
    return _message(who, event, "notice", data.message, code=data.code)


def _compacted(who: Who, event: Event, data: ev.ContextCompacted) -> rpc.ContextCompactedTold:
    return rpc.ContextCompactedTold(
        session_id=who.session_id,
        pre_tokens=data.pre_tokens,
        trigger=data.trigger,
        post_tokens=data.post_tokens,
    )


# Each takes the data type it is listed under, which the table's type cannot say.
_QUESTIONS: dict[str, Callable[[Who, Event, Any], rpc.Notification | None]] = {
    "approval_requested": _asked,
    "approval_granted": _answered,
    "approval_denied": _answered,
}
_TALK: dict[str, Callable[[Who, Event, Any], rpc.Notification | None]] = {
    "message_added": _said,
    "model_output_delta": _logged_delta,
    "model_output_completed": _final,
    "tool_call_started": _tool,
    "context_compacted": _compacted,
    "turn_failed": _failed,
    "notice": _notice,
}
