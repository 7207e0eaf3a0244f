"""Which turns may be canceled or retried, and what is written then. Pure, or looked at where it is written.

May import: errors, protocol, eventlog.base, views.
"""

from __future__ import annotations

import sqlite3

from agi.errors import Conflict
from agi.eventlog.base import Check, Entry
from agi.protocol import events as ev
from agi.views import queries
from agi.views.state import SessionState


def to_cancel(state: SessionState, turn_id: str | None) -> tuple[str, ...]:
    """The turns a cancel means: all that live, or the named one if it lives."""
    live = ((state.turn.id,) if state.turn else ()) + tuple(queued.turn_id for queued in state.queue)
    return live if turn_id is None else tuple(one for one in live if one == turn_id)


def cancel_entries(state: SessionState, turn_ids: list[str], reason: str) -> list[Entry]:
    """A running turn is asked to stop; queued ones are dropped, and with nothing left the session is over."""
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


def retry_check(session_id: str, turn_id: str) -> Check:
    """Only the last turn, and only if it did not succeed; looked at again where the retry is written."""

    def check(db: sqlite3.Connection) -> None:
        turn = queries.turn(db, session_id, turn_id)
        if turn.status not in ("failed", "canceled"):
            raise Conflict(
                f"The turn is {turn.status}; only a failed or canceled turn can be retried.",
                code="turn_not_retryable",
                hint="Send a new message instead.",
            )
        last = queries.session_state(db, session_id).last_turn_id
        if last != turn_id:
            raise Conflict(
                "Only the session's last turn can be retried.", code="turn_not_last", hint=f"Its last turn is {last}."
            )

    return check
