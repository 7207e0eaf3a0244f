"""Reading the views: sessions, messages with their parts, turns, attachments. Short reads on the loop's connection.

May import: errors, protocol, views.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agi.errors import Damaged, NotFound
from agi.protocol.messages import Message
from agi.protocol.parts import (
    ErrorContent,
    ErrorPart,
    Part,
    ToolCallContent,
    ToolCallPart,
    ToolResultContent,
    ToolResultPart,
    plain_text,
)
from agi.protocol.reading import reader
from agi.protocol.resources import ResourceTag
from agi.protocol.sessions import TurnOptions, TurnStatus
from agi.protocol.times import to_millis, to_rfc3339
from agi.views.rows import as_text, as_written, checked
from agi.views.segments import END, Revert, Segment, counts, segments
from agi.views.state import SessionState
from agi.views.tables import QUEUED, read_state

_END = 1 << 62
JOINED = (
    "SELECT m.id, m.turn_id, m.info, p.id, p.type, p.content"
    " FROM messages m LEFT JOIN message_parts p ON p.message_id=m.id"
)
_BETWEEN = JOINED + ' WHERE m.session_id=? AND m.position>? AND m.position<? ORDER BY m.position, p."index"'
_HISTORY = (
    JOINED + ' WHERE m.session_id=? AND m.position>? AND m.position<=? AND NOT m.dropped ORDER BY m.position, p."index"'
)
_POSITIONS = "SELECT id, position FROM messages WHERE session_id=? AND position>? AND position<?"
_RECENT = (
    "SELECT state FROM sessions WHERE listed=1 AND (updated_at, id)<(?, ?) ORDER BY updated_at DESC, id DESC LIMIT ?"
)
_ALL_RECENT = "SELECT state FROM sessions WHERE (updated_at, id)<(?, ?) ORDER BY updated_at DESC, id DESC LIMIT ?"
_OF_RESOURCE = (
    "SELECT state FROM sessions WHERE listed=1 AND CASE WHEN json_valid(state)"  # a damaged one would fail them all
    " THEN (json_extract(state, '$.resource.kind')=? AND json_extract(state, '$.resource.name')=?)"
    " OR (project_path=? AND json_extract(state, '$.resource') IS NULL) END ORDER BY updated_at DESC, id DESC LIMIT ?"
)
_FORKS = (
    "SELECT s.state FROM forks f JOIN sessions s ON s.id=f.session_id WHERE f.ancestor=? AND f.generation=1"
    " AND (s.updated_at, s.id)<(?, ?) ORDER BY s.updated_at DESC, s.id DESC LIMIT ?"
)
_FIRST_SAID = "SELECT id FROM messages WHERE session_id=? AND role='user' AND NOT dropped ORDER BY position LIMIT 1"
_OF_MESSAGE = JOINED + ' WHERE m.session_id=? AND m.id=? ORDER BY p."index"'
_OF_TURN = JOINED + ' WHERE m.session_id=? AND m.turn_id=? ORDER BY m.position, p."index"'
_decode_asked: Callable[[bytes | str], TurnOptions] = reader(TurnOptions)
_decode_info: Callable[[bytes | str], Message] = reader(Message)
_decode_part: Callable[[bytes | str], Part] = reader(Part)
_decode_call: Callable[[bytes | str], ToolCallContent] = reader(ToolCallContent)
_decode_result: Callable[[bytes | str], ToolResultContent] = reader(ToolResultContent)
_decode_error: Callable[[bytes | str], ErrorContent] = reader(ErrorContent)


Before = tuple[int, str]
"""A place in the list of sessions: right behind the one touched at this time (unix milliseconds) with this id."""


class _Outcome(Struct, frozen=True):
    stop_reason: str = ""
    steered_into: str = ""


class Turn(Struct, frozen=True, kw_only=True):
    """A turn and how it ended; `outcome` is the JSON of its last event's data."""

    id: str
    session_id: str
    message_id: str
    status: TurnStatus
    retry_of: str | None
    outcome: bytes | None
    asked: TurnOptions
    """What its message asked for."""

    @property
    def stop_reason(self) -> str:
        """How a completed turn ended; empty for any other."""
        return self._ended().stop_reason if self.status == "completed" else ""

    @property
    def steered_into(self) -> str:
        """The turn that took up its message instead; empty for any other."""
        return self._ended().steered_into if self.status == "canceled" else ""

    def _ended(self) -> _Outcome:
        with as_written("a turn"):
            return _Outcome() if self.outcome is None else msgspec.json.decode(self.outcome, type=_Outcome)


class Attachment(Struct, frozen=True, kw_only=True):
    """A file stored with a session."""

    ref: str
    filename: str
    mime_type: str
    size: int
    sha256: str
    created_at: str


def session_state(db: sqlite3.Connection, session_id: str) -> SessionState:
    """The session as it stands; raises NotFound, and Damaged where its row cannot be read."""
    row = db.execute("SELECT state FROM sessions WHERE id=?", (session_id,)).fetchone()
    if row is None:
        raise NotFound(
            f"There is no session {session_id[:80]!r}.",
            code="session_not_found",
            hint="List the sessions with GET /v1/sessions or `agi sessions`.",
        )
    return read_state(row[0])


def list_sessions(
    db: sqlite3.Connection, *, limit: int, before: Before | None = None, unlisted: bool = False
) -> list[SessionState]:
    """Sessions, most recently touched first."""
    time, session_id = before or (_END, "")
    return _readable(db, _ALL_RECENT if unlisted else _RECENT, (time, session_id), limit)


def _readable(db: sqlite3.Connection, query: str, values: tuple[object, ...], limit: int) -> list[SessionState]:
    """One damaged row hides its own session from lists, and no other; a short page is the last one all the same."""
    most = limit
    while True:
        rows = db.execute(query, (*values, most)).fetchall()
        found: list[SessionState] = []
        for (state,) in rows:
            with suppress(Damaged):
                found.append(read_state(state))
        if len(found) >= limit or len(rows) < most:
            return found[:limit]
        most += len(rows) - len(found)


def place_of(state: SessionState) -> Before:
    """The place of a session in the list of them."""
    return to_millis(state.updated_at), state.id


def sessions_of(db: sqlite3.Connection, resource: ResourceTag, folder: str | None, limit: int) -> list[SessionState]:
    """The sessions of a resource, most recently touched first; with `folder`, also those others began there."""
    return _readable(db, _OF_RESOURCE, (resource.kind, resource.name, folder), limit)


def list_forks(db: sqlite3.Connection, session_id: str, *, limit: int, before: Before | None) -> list[SessionState]:
    """The sessions that were forked from one, most recently touched first."""
    time, last = before or (_END, "")
    return _readable(db, _FORKS, (session_id, time, last), limit)


def unneeded(db: sqlite3.Connection, session_ids: Iterable[str]) -> list[str]:
    """Those of the sessions that are gone, and that nothing was forked from that is still there."""
    used = "SELECT 1 FROM sessions WHERE id=? UNION ALL SELECT 1 FROM forks WHERE ancestor=? LIMIT 1"
    return [one for one in session_ids if db.execute(used, (one, one)).fetchone() is None]


def exists(db: sqlite3.Connection, session_id: str) -> bool:
    """Whether there is such a session."""
    return db.execute("SELECT 1 FROM sessions WHERE id=?", (session_id,)).fetchone() is not None


def live_sessions(db: sqlite3.Connection) -> list[str]:
    """Sessions with a turn running or queued, or something running in the background, as the log has it."""
    return [row[0] for row in db.execute("SELECT id FROM sessions WHERE live ORDER BY id")]


def sessions_with_jobs(db: sqlite3.Connection) -> list[str]:
    """Sessions with something running in the background, as the log has it."""
    rows = db.execute(
        "SELECT id FROM sessions WHERE live AND CASE WHEN json_valid(state)"
        " THEN json_array_length(json_extract(state, '$.jobs'))>0 END ORDER BY id"
    )
    return [row[0] for row in rows]


def list_messages(
    db: sqlite3.Connection, session_id: str, *, limit: int, before: str | None = None, reverts: Sequence[Revert] = ()
) -> tuple[list[Message], bool]:
    """The last `limit` messages in order (before the message `before`), and whether there are earlier ones.

    Those that `reverts` took back are marked.
    """
    end = _END
    if before is not None:
        row = db.execute("SELECT position FROM messages WHERE id=? AND session_id=?", (before, session_id)).fetchone()
        if row is None:
            raise NotFound(f"There is no message {before[:80]!r} in this session.", code="message_not_found")
        end = row[0]
    earlier = db.execute(
        "SELECT position FROM messages WHERE session_id=? AND position<? ORDER BY position DESC LIMIT 1 OFFSET ?",
        (session_id, end, limit),
    ).fetchone()
    start = earlier[0] if earlier else 0
    found = gather_messages(session_id, db.execute(_BETWEEN, (session_id, start, end)))
    if reverts:
        rows = db.execute(_POSITIONS, (session_id, start, end))
        kept = segments(reverts)
        gone = {message_id for message_id, position in rows if position < QUEUED and not counts(position, kept)}
        found = [replace(one, reverted=True) if one.id in gone else one for one in found]
    return found, earlier is not None


def history(db: sqlite3.Connection, session_id: str) -> list[Message]:
    """Every message that is part of the conversation: neither queued, nor dropped from the queue, nor taken back."""
    return history_at(db, session_id, END)


def history_at(db: sqlite3.Connection, session_id: str, end: int) -> list[Message]:
    """The conversation as it stood at an event."""
    return history_between(db, session_id, segments(session_state(db, session_id).reverts, end))


def history_between(
    db: sqlite3.Connection, session_id: str, stretches: Sequence[Segment], after: int = 0
) -> list[Message]:
    """The messages in these stretches of the log, behind a place in it."""
    found: list[Message] = []
    for first, last in stretches:
        if last > after:
            found += gather_messages(session_id, db.execute(_HISTORY, (session_id, max(first, after), last)))
    return found


def messages_by_id(db: sqlite3.Connection, session_id: str, ids: Sequence[str]) -> list[Message]:
    """These messages, in the order in which they are named; those that are not there are left out."""
    marks = ",".join("?" * len(ids))
    where = f' WHERE m.session_id=? AND m.id IN ({marks}) ORDER BY m.id, p."index"'
    found = {one.id: one for one in gather_messages(session_id, db.execute(JOINED + where, (session_id, *ids)))}
    return [found[one] for one in ids if one in found]


def is_message(db: sqlite3.Connection, session_id: str, message_id: str) -> bool:
    """Whether there is such a message in the session, waiting or not."""
    row = db.execute("SELECT 1 FROM messages WHERE id=? AND session_id=?", (message_id, session_id)).fetchone()
    return row is not None


def session_of_turn(db: sqlite3.Connection, turn_id: str) -> str:
    """The session a turn belongs to; raises NotFound."""
    row = db.execute("SELECT session_id FROM turns WHERE id=?", (turn_id,)).fetchone()
    if row is None:
        raise NotFound(f"There is no turn {turn_id[:80]!r}.", code="turn_not_found", hint="Its `requestId` names it.")
    return str(row[0])


def session_of_call(db: sqlite3.Connection, call_id: str) -> str:
    """The session whose running turn asked about a call, answered by now or not; raises NotFound."""
    for session_id in live_sessions(db):
        turn = session_state(db, session_id).turn
        if turn is not None and call_id in {*turn.answers, *(one.tool_call_id for one in turn.pending)}:
            return session_id
    raise NotFound(
        f"Nothing waits for an answer about {call_id[:80]!r}.",
        code="approval_not_found",
        hint="The `tool.approval.request` messages, and a session's pending_approvals, list what waits.",
    )


def messages_at(db: sqlite3.Connection, session_id: str, positions: Iterable[int]) -> list[Message]:
    """The messages at these places."""
    return [
        one
        for place in positions
        for one in gather_messages(session_id, db.execute(_HISTORY, (session_id, place - 1, place)))
    ]


def turn(db: sqlite3.Connection, session_id: str, turn_id: str) -> Turn:
    """One turn; raises NotFound."""
    row = db.execute(
        "SELECT id, session_id, message_id, status, retry_of, outcome, asked FROM turns WHERE id=? AND session_id=?",
        (turn_id, session_id),
    ).fetchone()
    if row is None:
        raise NotFound(
            f"There is no turn {turn_id[:80]!r} in this session.",
            code="turn_not_found",
            hint="The session's last_turn_id, or the events of the session, name its turns.",
        )
    with as_written("a turn"):
        return checked(
            Turn,
            id=row[0],
            session_id=row[1],
            message_id=row[2],
            status=row[3],
            retry_of=row[4],
            outcome=as_text(row[5]).encode() if row[5] is not None else None,
            asked=_decode_asked(row[6]),
        )


def count_turns(db: sqlite3.Connection, session_id: str) -> int:
    """How many turns a session has had, those in line included."""
    return int(db.execute("SELECT count(*) FROM turns WHERE session_id=?", (session_id,)).fetchone()[0])


def first_words(db: sqlite3.Connection, session_id: str) -> str:
    """The text a session began with: what was asked first of all that still counts; empty before that."""
    row = db.execute(_FIRST_SAID, (session_id,)).fetchone()
    said = gather_messages(session_id, db.execute(_OF_MESSAGE, (session_id, row[0]))) if row else []
    return plain_text(said[0].parts) if said else ""


def turn_messages(db: sqlite3.Connection, session_id: str, turn_id: str) -> list[Message]:
    """What was said in one turn, in order."""
    return gather_messages(session_id, db.execute(_OF_TURN, (session_id, turn_id)))


def attachments(db: sqlite3.Connection, session_id: str) -> list[Attachment]:
    """The session's files, oldest first."""
    rows = db.execute(
        "SELECT ref, filename, mime_type, size, sha256, created_at FROM attachments WHERE session_id=?"
        " ORDER BY created_at, ref",
        (session_id,),
    )
    with as_written("an attachment"):
        return [
            checked(
                Attachment,
                ref=r[0],
                filename=r[1],
                mime_type=r[2],
                size=r[3],
                sha256=r[4],
                created_at=to_rfc3339(r[5] / 1000),
            )
            for r in rows
        ]


def gather_messages(
    session_id: str, rows: Iterable[tuple[str, str | None, str, str | None, str, str]]
) -> list[Message]:
    """Gather joined rows (one a part) into messages; raises Damaged where they are none.

    They are read to their end first: a query that is left in its middle holds the database open.
    """
    whole = list(rows)
    with as_written("a message"):
        return _gathered(session_id, whole)


def _gathered(session_id: str, rows: Iterable[tuple[str, str | None, str, str | None, str, str]]) -> list[Message]:
    found: list[tuple[str | None, str, list[Part]]] = []
    last = ""
    for message_id, turn_id, info, part_id, kind, content in rows:
        if message_id != last:
            last = message_id
            found.append((None if turn_id is None else as_text(turn_id), info, []))
        if part_id is not None:
            found[-1][2].append(_part(as_text(part_id), kind, content))
    return [
        replace(_decode_info(info), session_id=session_id, turn_id=turn_id, parts=tuple(parts))
        for turn_id, info, parts in found
    ]


def _part(part_id: str, kind: str, content: str) -> Part:
    if kind == "tool_call":
        return ToolCallPart(content=_decode_call(content), id=part_id)
    if kind == "tool_result":
        return ToolResultPart(content=_decode_result(content), id=part_id)
    if kind == "error":
        return ErrorPart(content=_decode_error(content), id=part_id)
    part: Part = _decode_part(content)
    return part if part.id else replace(part, id=part_id)
