"""How a turn ends in the log: its last event, and the session's if nothing is queued behind it. Pure.

May import: errors, protocol, eventlog.schema, loop.base, views.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from msgspec import UNSET

from agi.errors import AgiError, Damaged
from agi.eventlog.schema import unreadable
from agi.loop.base import Outcome
from agi.protocol import events as ev
from agi.protocol.sessions import ErrorInfo
from agi.views.state import TurnState


def turn_ending(outcome: Outcome | None, turn: TurnState, seconds: float) -> ev.EventData:
    """The turn's last event; no outcome means that it was canceled."""
    worked = round(max(0.0, seconds), 3)
    if outcome is None:
        return ev.TurnCanceled(reason=turn.cancel_reason, usage=turn.usage, seconds=worked)
    if outcome.canceled:
        return ev.TurnCanceled(reason=outcome.canceled, usage=turn.usage, seconds=worked)
    if outcome.error is not None:
        return ev.TurnFailed(error=outcome.error, usage=turn.usage, seconds=worked)
    return ev.TurnCompleted(
        message_id=turn.last_message,
        stop_reason=outcome.stop_reason,
        steps=turn.steps,
        usage=turn.usage,
        verification=outcome.verification,
        seconds=worked,
        output=outcome.output,
        note=outcome.note or UNSET,
        fingerprint=outcome.fingerprint,
    )


def session_ending(last: ev.EventData) -> ev.EventData:
    """What a turn's last event makes of the session."""
    if isinstance(last, ev.TurnFailed):
        return ev.SessionFailed(error=last.error)
    return ev.SessionCanceled() if isinstance(last, ev.TurnCanceled) else ev.SessionCompleted()


def error_info(error: AgiError) -> ErrorInfo:
    """An error as the log and clients have it."""
    return ErrorInfo(code=error.code, message=error.message, hint=error.hint)


def our_failure(problem: Exception, database: Path) -> Outcome:
    """A bug of ours ends the turn, not the daemon; and so does a page of the log's that turns out to be damaged."""
    if isinstance(problem, sqlite3.DatabaseError) and isinstance(damage := unreadable(database, problem), Damaged):
        return Outcome(stop_reason="error", error=error_info(damage))
    message = f"The harness failed: {type(problem).__name__}: {problem}"
    error = ErrorInfo(code="internal_error", message=message, hint="Please report it; the turn can be retried.")
    return Outcome(stop_reason="error", error=error)


def unready(error: Exception) -> ev.Notice:
    """Why a workspace's own tools are not there in a turn."""
    said = error.message if isinstance(error, AgiError) else f"{type(error).__name__}: {error}"
    told = f"The tools of this workspace could not be made ready, so the turn goes on without them. {said}"
    return ev.Notice(code="tools_unavailable", message=told)
