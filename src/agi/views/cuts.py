"""Where a conversation is cut off when it is forked: after a message, a turn or an event, or before one of them.

May import: errors, protocol, views.
"""

from __future__ import annotations

import sqlite3

import msgspec
from msgspec import Struct

from agi.errors import Conflict, Invalid, NotFound
from agi.protocol.commands import ForkSession
from agi.views import queries
from agi.views.tables import QUEUED

_MESSAGE = "SELECT role, position, dropped, turn_id FROM messages WHERE session_id=? AND id=?"
_WHOLE = (
    "SELECT seq FROM events WHERE session_id=? AND seq>=? AND type='model_output_completed'"
    " AND json_extract(data, '$.message.id')=? ORDER BY seq LIMIT 1"
)
_BEGAN = "SELECT min(seq) FROM events WHERE session_id=? AND turn_id=? AND type='turn_started'"
_ENDED = "SELECT max(seq) FROM events WHERE session_id=? AND turn_id=?"


class _Outcome(Struct, frozen=True):
    """How a turn ended, as far as a fork needs it."""

    message_id: str | None = None


class Cut(Struct, frozen=True, kw_only=True):
    """Up to which event a conversation is looked at."""

    seq: int
    with_message: str = ""
    """A message that belongs to it although no turn has begun to answer it there."""
    without_message: str = ""
    """A message that does not, although it had been sent."""


def cut_at(db: sqlite3.Connection, session_id: str, command: ForkSession) -> Cut:
    """Find the place that was asked for; raises what is wrong with it."""
    end = queries.session_state(db, session_id).last_seq
    named = [one for one in (command.message_id, command.turn_id, command.seq) if one is not None]
    if len(named) > 1:
        raise Invalid("One of message_id, turn_id and seq.", code="fork_ambiguous", hint="Send the one that is meant.")
    if command.message_id is not None:
        return _at_message(db, session_id, command.message_id, end, before=command.before)
    if command.turn_id is not None:
        return _at_turn(db, session_id, command.turn_id, end, before=command.before)
    if command.before:
        raise Invalid(
            "`before` needs something to stop before.",
            code="fork_ambiguous",
            hint="Name a message or a turn too: `--at`, or message_id or turn_id.",
        )
    if command.seq is not None and command.seq > end:
        raise Invalid(f"The session ends at event {end}.", code="seq_out_of_range", hint="Send an earlier one.")
    return Cut(seq=command.seq or end)


def _at_message(db: sqlite3.Connection, session_id: str, message_id: str, end: int, *, before: bool) -> Cut:
    row = db.execute(_MESSAGE, (session_id, message_id)).fetchone()
    if row is None:
        raise NotFound(
            f"There is no message {message_id[:80]!r} in this session.",
            code="message_not_found",
            hint="GET …/messages lists them, as does `agi sessions show SESSION --ids`.",
        )
    role, position, dropped, turn_id = row
    if dropped or position >= QUEUED:
        text = "That message was dropped from the queue." if dropped else "That message still waits for its turn."
        raise Conflict(text, code="message_not_said", hint="Fork at one that is part of the conversation.")
    if role in ("user", "system"):
        # Its place is where its turn began, or where it stands if none was asked for.
        waits = _starts_turn(db, session_id, position)
        seq = position - 1 if before or waits else position
        return Cut(seq=seq, without_message=message_id if before else "", with_message="" if before else message_id)
    if before:
        return Cut(seq=position - 1)
    if turn_id and _ends_turn(db, session_id, turn_id, message_id):
        return _at_turn(
            db, session_id, turn_id, end, before=False
        )  # it was answered: nothing of the turn is left to do
    whole = db.execute(_WHOLE, (session_id, position, message_id)).fetchone() if role == "assistant" else (position,)
    return Cut(seq=whole[0] if whole else end)  # one that is still being written is taken as far as it came


def _ends_turn(db: sqlite3.Connection, session_id: str, turn_id: str, message_id: str) -> bool:
    """Whether a message is the answer with which its turn was completed."""
    turn = queries.turn(db, session_id, turn_id)
    if turn.status != "completed" or turn.outcome is None:
        return False
    return msgspec.json.decode(turn.outcome, type=_Outcome).message_id == message_id


def _starts_turn(db: sqlite3.Connection, session_id: str, seq: int) -> bool:
    row = db.execute("SELECT type FROM events WHERE session_id=? AND seq=?", (session_id, seq)).fetchone()
    return row is not None and row[0] == "turn_started"


def _at_turn(db: sqlite3.Connection, session_id: str, turn_id: str, end: int, *, before: bool) -> Cut:
    turn = queries.turn(db, session_id, turn_id)
    began = db.execute(_BEGAN, (session_id, turn_id)).fetchone()[0]
    if began is None:
        raise Conflict("That turn has not begun.", code="turn_not_begun", hint="Fork at one that has.")
    if before:
        return Cut(seq=began - 1, without_message="" if turn.retry_of else turn.message_id)
    ended = turn.status not in ("queued", "running")
    return Cut(seq=db.execute(_ENDED, (session_id, turn_id)).fetchone()[0] if ended else end)
