"""What a session's events mean for the draft or worker it is: turns, tokens, how it ended.

A part of the fold in `state`. Pure. May import: protocol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from agi.protocol import events as ev
from agi.protocol.events import Event, EventData
from agi.protocol.workers import KeptApart, MergeState

MOST_MARKS = 200

if TYPE_CHECKING:
    from agi.protocol.drafts import DraftStatus


class DraftState(Struct, kw_only=True):
    """A draft, folded; money and what runs are the session's."""

    role: str
    project: str
    task_slug: str
    task_dir: str
    channel_id: str
    started_at: str
    last_activity_at: str
    closed_at: str = ""
    closed_reason: str = ""
    turn_count: int = 0
    open_turn: str = ""
    provider: str = ""
    model: str = ""
    """Who answered last."""
    input_tokens: int = 0
    output_tokens: int = 0
    """What the last call took in and gave out; after a compaction, what the next one is told."""

    @classmethod
    def of(cls, event: Event, data: ev.DraftOpened) -> DraftState:
        """A draft that begins."""
        return cls(
            role=data.role,
            project=data.project,
            task_slug=data.task_slug,
            task_dir=data.task_dir,
            channel_id=data.channel_id,
            started_at=event.ts,
            last_activity_at=event.ts,
        )

    @property
    def status(self) -> DraftStatus:
        """Whether it can be talked to as a draft."""
        return "closed" if self.closed_at else "active"


class WorkerState(Struct, kw_only=True):
    """A worker: who it is, for what, and who asked for it."""

    role: str
    project: str
    task_slug: str
    started_at: str
    parent_session_id: str = ""
    parent_turn_id: str = ""
    parent_call_id: str = ""
    root_session_id: str = ""
    root_turn_id: str = ""
    depth: int = 1
    kept_apart: KeptApart = ""

    @classmethod
    def of(cls, event: Event, data: ev.AgentDispatched) -> WorkerState:
        """A worker that begins."""
        return cls(
            role=data.role,
            project=data.project,
            task_slug=data.task_slug,
            started_at=event.ts,
            parent_session_id=data.parent_session_id,
            parent_turn_id=data.parent_turn_id,
            parent_call_id=data.parent_call_id,
            root_session_id=data.root_session_id,
            root_turn_id=data.root_turn_id,
            depth=data.depth,
            kept_apart=data.kept_apart,
        )


class WorkerMark(Struct, kw_only=True):
    """A worker, as the session it works for knows it."""

    role: str
    turn_id: str
    """Its latest turn."""
    call_id: str = ""
    """The call that had it work last."""
    is_over: bool = False
    merge: MergeState = "none"
    bounced: bool = False
    """Whether its changes conflicted, and it was told."""


def mark_worker(marks: dict[str, WorkerMark], data: ev.WorkerStarted | ev.WorkerCompleted | ev.WorkerMerged) -> None:
    """Note what became of a worker; of very many the oldest are forgotten."""
    mark = marks.get(data.agent_id)
    if isinstance(data, ev.WorkerStarted):
        bounced = mark.bounced if mark else False
        marks[data.agent_id] = WorkerMark(
            role=data.role, turn_id=data.worker_turn_id, call_id=data.call_id, bounced=bounced
        )
        while len(marks) > MOST_MARKS:
            del marks[next(iter(marks))]
    elif mark is None:
        return
    elif isinstance(data, ev.WorkerCompleted):
        mark.is_over = mark.is_over or mark.turn_id == data.worker_turn_id
        mark.merge = data.result.merge
    else:
        mark.merge = "conflict" if data.conflicts else "merged"
        mark.bounced = bool(data.conflicts)


def note(draft: DraftState, event: Event, data: EventData) -> None:
    """Take one more event of a draft's session into account; what happens after its end changes nothing."""
    if draft.closed_at:
        return
    if isinstance(data, ev.DraftClosed):
        draft.closed_at, draft.closed_reason = event.ts, data.reason
    elif isinstance(data, ev.MessageAdded):
        draft.last_activity_at = event.ts
    elif isinstance(data, ev.TurnStarted):
        draft.open_turn = event.turn_id or ""
    elif isinstance(data, ev.UsageRecorded):
        if data.message_id and event.turn_id and data.usage.input_tokens:
            draft.provider, draft.model = data.provider, data.model
            draft.input_tokens, draft.output_tokens = data.usage.input_tokens, data.usage.output_tokens
    elif isinstance(data, ev.ContextCompacted):
        draft.input_tokens = data.post_tokens
    elif isinstance(data, ev.CompactionUndone):
        draft.input_tokens = data.tokens or draft.input_tokens
    elif isinstance(data, ev.TurnCompleted | ev.TurnFailed | ev.TurnCanceled):
        draft.last_activity_at = event.ts
        if draft.open_turn == event.turn_id:  # else it was dropped from the queue
            draft.turn_count += 1
            draft.open_turn = ""
