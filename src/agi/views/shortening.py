"""What making a conversation shorter, and undoing that, means for a session.

Pure. May import: protocol, views.compactions, views.state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agi.protocol import events as ev
from agi.protocol.compaction import CompactionRequest, CompactionTrigger
from agi.protocol.events import Event
from agi.views.compactions import MOST_MARKS, in_force
from agi.views.state import SessionState

HOLDS = 2
"""Answers of the model for which a summary should make room. Those that are still to come are owed by the turn."""


def _requested(state: SessionState, event: Event, data: ev.CompactionRequested) -> None:
    state.compaction = CompactionRequest(focus=data.focus, requested_at=event.ts)


def _started(state: SessionState, event: Event, data: ev.CompactionStarted) -> None:
    state.compacting = data.trigger


def _compacted(state: SessionState, event: Event, data: ev.ContextCompacted) -> None:
    state.compactions = [*state.compactions, (event.seq, data.compaction_id, False)][-MOST_MARKS:]
    state.context_tokens, state.compacted_to = data.post_tokens, 0
    state.context.compacted(data.carried)
    if state.turn and data.trigger != "manual" and data.first_kept != state.told_from:
        state.turn.owed += HOLDS  # where only outputs were left out, no model was asked
    state.told_from = data.first_kept
    _over(state, data.trigger)


def _failed(state: SessionState, event: Event, data: ev.CompactionFailed) -> None:
    if data.code == "not_shrunk":
        state.compacted_to = data.pre_tokens
    _over(state, data.trigger)


def _over(state: SessionState, trigger: CompactionTrigger) -> None:
    state.compacting = None
    if trigger == "manual":
        state.compaction = None


def _undone(state: SessionState, event: Event, data: ev.CompactionUndone) -> None:
    state.compactions = [*state.compactions, (event.seq, data.compaction_id, True)][-MOST_MARKS:]
    state.context_tokens, state.compacted_to = data.tokens, 0
    state.context.compacted()
    tell_all(state)


def tell_all(state: SessionState) -> None:
    """Something was undone or taken back: where no compaction is left, models are told everything again."""
    if not in_force(state.compactions, state.reverts):
        state.told_from = ""


# Each handler takes the data type it is listed under, which the table's type cannot say.
SHORTENING: dict[type[ev.EventData], Callable[[SessionState, Event, Any], None]] = {
    ev.CompactionRequested: _requested,
    ev.CompactionStarted: _started,
    ev.ContextCompacted: _compacted,
    ev.CompactionFailed: _failed,
    ev.CompactionUndone: _undone,
}
