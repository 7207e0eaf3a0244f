"""What the log tells a model: the compaction in force, and the messages that are told with it. Short reads.

Only what is told is read, and what the running turn said before; so that a long session costs no more than a short
one. How it is put into words is the room `context`'s business. May import: protocol, views.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from msgspec.structs import replace

from agi.protocol.events import ContextCompacted, decode_data
from agi.protocol.messages import Message
from agi.views import queries
from agi.views.compactions import in_force, told_otherwise
from agi.views.segments import END, counts, segments
from agi.views.state import SessionState

_EVENT = "SELECT data FROM events WHERE session_id=? AND seq=?"
_PLACE = "SELECT position, turn_id FROM messages WHERE id=? AND session_id=?"
_ANSWERS = "SELECT id, position FROM messages WHERE session_id=? AND role='assistant' AND position>? AND position<=?"
_BEGAN = "SELECT min(position) FROM messages WHERE session_id=? AND turn_id=? AND position<?"


def compaction_of(db: sqlite3.Connection, state: SessionState, end: int = END) -> ContextCompacted | None:
    """The compaction that says what models are told, as things stood at `end`; None if they are told everything."""
    seq = in_force(state.compactions, state.reverts, end)
    if not seq:
        return None
    row = db.execute(_EVENT, (state.id, seq)).fetchone()
    if row is None:
        return None
    data = decode_data(ContextCompacted.TYPE, row[0] if isinstance(row[0], bytes) else row[0].encode())
    return data if isinstance(data, ContextCompacted) else None


def told_messages(db: sqlite3.Connection, state: SessionState, turn_id: str = "", end: int = END) -> list[Message]:
    """The conversation from where models are told it, with the earlier messages that are carried along.

    Messages of the turn `turn_id` are all there: what it has to do next depends on them, told or not. Without usage are
    those that were said while models were told something else, by a compaction that was undone: how much that was says
    nothing about how much it is now.
    """
    return _without_old_reports(db, state, _read(db, state, turn_id, end), end)


def _read(db: sqlite3.Connection, state: SessionState, turn_id: str, end: int) -> list[Message]:
    compaction = compaction_of(db, state, end)
    if compaction is None or not compaction.first_kept:
        return queries.history_at(db, state.id, end)
    first, of_turn = _place(db, state.id, compaction.first_kept)
    if not first:
        return queries.history_at(db, state.id, end)
    carried = _carried(db, state, compaction.carried, first)
    if turn_id and of_turn == turn_id:  # else all of it came later: the turn that runs is the last one
        began = db.execute(_BEGAN, (state.id, turn_id, first)).fetchone()[0]
        first = first if began is None else began
    known = {one.id for one in carried}
    later = queries.history_between(db, state.id, segments(state.reverts, end), first - 1)
    return [*carried, *(one for one in later if one.id not in known)]


def _without_old_reports(db: sqlite3.Connection, state: SessionState, found: list[Message], end: int) -> list[Message]:
    stretches = told_otherwise(state.compactions, state.reverts, end)
    if not stretches:
        return found
    rows = db.execute(_ANSWERS, (state.id, stretches[0][0], stretches[-1][1]))
    old = {id for id, position in rows if counts(position, stretches)}
    return [replace(one, usage=None) if one.id in old and one.usage is not None else one for one in found]


def _carried(db: sqlite3.Connection, state: SessionState, ids: Sequence[str], before: int) -> list[Message]:
    places = [position for id in ids if 0 < (position := _place(db, state.id, id)[0]) < before]
    return queries.messages_at(db, state.id, sorted(places))


def _place(db: sqlite3.Connection, session_id: str, message_id: str) -> tuple[int, str | None]:
    """Where a message stands, 0 if nowhere; and its turn."""
    row = db.execute(_PLACE, (message_id, session_id)).fetchone()
    return (0, None) if row is None else (int(row[0]), row[1])
