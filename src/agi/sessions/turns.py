"""Which turns may be canceled, retried or taken up again, and what is written then.

Pure, or looked at where it is written. May import: errors, config, protocol, eventlog.base, views.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

import msgspec
from msgspec import UNSET

from agi.config import Config
from agi.errors import Conflict
from agi.eventlog.base import Check, Entry
from agi.protocol import events as ev
from agi.protocol.policies import Budget, Budgets
from agi.protocol.sessions import QueuedTurn, TurnOptions
from agi.views import queries
from agi.views.state import SessionState

INTERRUPTED = "Interrupted by the next message."
INTERRUPTED_ABOVE = "What it worked for was interrupted by the next message."
STEERED = "Its message was taken up by the turn that was running."
CUT_SHORT = ("budget_exhausted", "max_steps", "loop_detected")
"""A turn that ended like this was answered only as far as it came, so it can go on."""


def to_cancel(state: SessionState, turn_id: str | None) -> tuple[str, ...]:
    """The turns a cancel means: all that live, or the named one if it lives."""
    live = ((state.turn.id,) if state.turn else ()) + tuple(queued.turn_id for queued in state.queue)
    return live if turn_id is None else tuple(one for one in live if one == turn_id)


def cancel_entries(state: SessionState, turn_ids: list[str], reason: str) -> list[Entry]:
    """A running turn is asked to stop; queued ones are dropped, and with nothing left the session is over."""
    if not turn_ids and state.compaction is not None:
        return [(None, ev.CompactionFailed(trigger="manual", code="canceled", reason=reason or "Canceled."))]
    if not turn_ids:
        raise Conflict("Nothing is running or queued.", code="nothing_to_cancel", hint="There is nothing to stop.")
    running = state.turn.id if state.turn else None
    entries: list[Entry] = []
    for turn_id in turn_ids:
        stops = turn_id == running
        entries.append((turn_id, ev.CancelRequested(reason=reason) if stops else ev.TurnCanceled(reason=reason)))
    if running is None and len(turn_ids) == len(state.queue):
        entries.append((turn_ids[-1], ev.SessionCanceled()))
    return entries


def with_interrupt(
    session_id: str, entries: list[Entry], stopped: list[str]
) -> Callable[[sqlite3.Connection], list[Entry]]:
    """Say something and stop the running turn, at once: so neither it nor what waits comes in between.

    Which turn that is comes to stand in `stopped`.
    """

    def found(db: sqlite3.Connection) -> list[Entry]:
        turn = queries.session_state(db, session_id).turn
        stopped[:] = [turn.id] if turn is not None and not turn.cancel_requested else []
        return [*entries, *((one, ev.CancelRequested(reason=INTERRUPTED)) for one in stopped)]

    return found


def to_take_up(state: SessionState, turn_id: str | None) -> list[QueuedTurn]:
    """The messages that a running turn takes up at its next step; none if it is about to stop.

    One that interrupted an earlier turn stands in the same line and may ask for more; that has a turn of its own.
    """
    turn = state.turn
    if turn is None or turn.id != turn_id or turn.cancel_requested:
        return []
    return [one for one in state.queue if one.mode == "steer" and not asks_for_more(one.asked)]


def asks_for_more(asked: TurnOptions) -> bool:
    """Whether a message wants to be answered otherwise than the turn that runs answers."""
    return bool(asked.agent or asked.provider or asked.model or asked.options or asked.preflight)


def take_up(queue: Iterable[QueuedTurn], turn_id: str | None) -> list[Entry]:
    """What is written when a turn takes up messages: each is its own now, and the turn that waited for it is over."""
    entries: list[Entry] = []
    for one in queue:
        entries.append((turn_id, ev.MessageSteered(message_id=one.message_id, queued_turn_id=one.turn_id)))
        entries.append((one.turn_id, ev.TurnCanceled(reason=STEERED, steered_into=turn_id or UNSET)))
    return entries


def retry_check(session_id: str, turn_id: str) -> Check:
    """Only the last turn, and only if it was not answered to its end; looked at again where the retry is written."""

    def check(db: sqlite3.Connection) -> None:
        turn = queries.turn(db, session_id, turn_id)
        if turn.status not in ("failed", "canceled") and turn.stop_reason not in CUT_SHORT:
            raise Conflict(
                f"The turn is {turn.status}; only one that failed, was canceled or reached a limit can be retried.",
                code="turn_not_retryable",
                hint="Send a new message instead.",
            )
        last = queries.session_state(db, session_id).last_turn_id
        if last != turn_id:
            raise Conflict(
                "Only the session's last turn can be retried.", code="turn_not_last", hint=f"Its last turn is {last}."
            )

    return check


def limits(own: Budgets | None, config: Config) -> tuple[Budget, Budget]:
    """What one turn and the whole session may use up: a session's own word first, then the configuration's."""
    said = own or Budgets()
    return said.per_turn or config.budget_per_turn, said.per_session or config.budget_per_session


def is_raised(before: tuple[Budget, ...], after: tuple[Budget, ...]) -> bool:
    """Whether any limit is higher than it was, or gone."""
    old = [value for budget in before for value in msgspec.structs.astuple(budget)]
    new = [value for budget in after for value in msgspec.structs.astuple(budget)]
    return any(a is not None and (b is None or b > a) for a, b in zip(old, new, strict=True))
