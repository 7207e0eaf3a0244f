"""Seed 004's tables (sessions, messages, message_parts, artifacts), and ours beside them (turns, attachments, forks).

Written inside the transaction of the events they are made from, on the writer's thread. Times are unix milliseconds.
A message that waits in the queue stands behind all others; it gets its place where its turn begins, or where another
turn takes it up.
May import: errors, protocol, eventlog, views.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from agi.eventlog import chain, texts
from agi.eventlog.base import Step
from agi.protocol import events as ev
from agi.protocol.events import Event
from agi.protocol.messages import Message
from agi.protocol.parts import ErrorPart, Part, ToolCallPart, ToolResultContent, ToolResultPart
from agi.protocol.sessions import TurnOptions
from agi.protocol.times import to_millis
from agi.views import pool, usage
from agi.views.folding import fold
from agi.views.rows import as_written, rotted
from agi.views.state import SessionState, decode_state

_encode = msgspec.json.Encoder().encode
REMEMBERED = 512
"""How many sessions that run are remembered as they stand; of the others, a few."""
RESTING = 8
QUEUED = 1 << 60
"""Added to the position of a message whose turn has not begun, so that it stands behind all others."""


def _tables(db: sqlite3.Connection) -> None:
    db.execute(
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, title TEXT, agent TEXT NOT NULL, project_path TEXT NOT NULL,"
        " created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, status TEXT NOT NULL, live INTEGER NOT NULL,"
        " listed INTEGER NOT NULL, last_seq INTEGER NOT NULL, state TEXT NOT NULL)"
    )
    db.execute("CREATE INDEX sessions_recent ON sessions (listed, updated_at, id)")
    db.execute("CREATE INDEX sessions_live ON sessions (id) WHERE live")
    db.execute(
        "CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions (id)"
        " ON DELETE CASCADE, role TEXT NOT NULL, status TEXT NOT NULL, created_at INTEGER NOT NULL, turn_id TEXT,"
        " position INTEGER NOT NULL, info TEXT NOT NULL, dropped INTEGER NOT NULL DEFAULT 0)"
    )
    db.execute("CREATE INDEX messages_session_id ON messages (session_id, position)")
    db.execute(
        "CREATE TABLE message_parts (id TEXT PRIMARY KEY, message_id TEXT NOT NULL REFERENCES messages (id)"
        ' ON DELETE CASCADE, "index" INTEGER NOT NULL, type TEXT NOT NULL, content TEXT NOT NULL)'
    )
    db.execute('CREATE INDEX message_parts_message_id ON message_parts (message_id, "index")')
    db.execute(
        "CREATE TABLE artifacts (id TEXT PRIMARY KEY, message_part_id TEXT UNIQUE REFERENCES message_parts (id)"
        " ON DELETE CASCADE, kind TEXT NOT NULL, path TEXT, mime TEXT, size INTEGER, sha256 TEXT)"
    )
    db.execute(
        "CREATE TABLE turns (id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,"
        " message_id TEXT NOT NULL, status TEXT NOT NULL, retry_of TEXT, asked TEXT NOT NULL,"
        " outcome TEXT, ended_at INTEGER)"
    )
    db.execute("CREATE INDEX turns_session_id ON turns (session_id)")
    db.execute(
        "CREATE TABLE attachments (session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,"
        " ref TEXT NOT NULL, filename TEXT NOT NULL, mime_type TEXT NOT NULL, size INTEGER NOT NULL,"
        " sha256 TEXT NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (session_id, ref))"
    )


def _grants_with_rules(db: sqlite3.Connection) -> None:
    """Grants were names of tools once: sessions that have some are folded again."""
    rows = db.execute("SELECT id FROM sessions WHERE json_array_length(json_extract(state, '$.grants'))>0").fetchall()
    for (session_id,) in rows:
        state: SessionState | None = None
        for seq, ts, turn_id, kind, data in db.execute(
            "SELECT seq, ts, turn_id, type, data FROM events WHERE session_id=? ORDER BY seq", (session_id,)
        ):
            raw = data if isinstance(data, bytes) else data.encode()
            state = fold(state, Event(seq, ts, session_id, turn_id, kind, raw))
        if state is not None:
            db.execute("UPDATE sessions SET state=? WHERE id=?", (_encode(state), session_id))


def _forks(db: sqlite3.Connection) -> None:
    """Which sessions were forked from which; the nearest ancestor is generation 1."""
    db.execute(
        "CREATE TABLE forks (ancestor TEXT NOT NULL, session_id TEXT NOT NULL REFERENCES sessions (id)"
        " ON DELETE CASCADE, generation INTEGER NOT NULL, PRIMARY KEY (ancestor, session_id)) WITHOUT ROWID"
    )
    db.execute("CREATE INDEX forks_session_id ON forks (session_id)")


def _chained(db: sqlite3.Connection) -> None:
    """Logs had no hashes once: their events are chained, late, and each session is told the last one."""
    for session_id, head in chain.chain_old(db).items():
        state = _load(db, session_id)
        if state is not None:
            state.head = head
            db.execute("UPDATE sessions SET state=CAST(? AS TEXT) WHERE id=?", (_encode(state), session_id))


class Tables:
    """The projection the log writes through; remembers the state of sessions it touched last."""

    steps: tuple[Step, ...] = (
        *(_tables, _grants_with_rules, _forks, pool.step, _chained, usage.step),
        *(pool.widen, texts.share_old),
    )

    def __init__(self) -> None:
        self.epoch = 1
        self._states: OrderedDict[str, SessionState] = OrderedDict()

    def apply(self, db: sqlite3.Connection, session_id: str, events: Sequence[Event]) -> None:
        """Fold the events into the session's row, and each into the rows it is about."""
        state = self._state(db, session_id, events[0].seq - 1)
        for event in events:
            created = state is None
            state = fold(state, event)
            if state is None:
                continue
            if created:
                _save(db, state)
            writer = _WRITERS.get(event.type)
            if writer is not None and event.data is not None:
                writer(db, event, event.data)
        if state is not None:
            _save(db, state)
            self._remember(session_id, state)

    def snapshot(self, db: sqlite3.Connection, session_id: str) -> bytes | None:
        """`session.json`: the session as clients see it, indented for people."""
        state = self._states.get(session_id) or _load(db, session_id)
        if state is None:
            return None
        return msgspec.json.format(_encode(state.public(self.epoch)), indent=2) + b"\n"

    def forget(self, db: sqlite3.Connection, session_id: str) -> None:
        """Remove the session; its messages, parts, artifacts, turns and attachments go with it."""
        from agi.views import search_index  # late: hardly any run deletes something

        self._states.pop(session_id, None)
        search_index.forget(db, session_id)
        db.execute("DELETE FROM sessions WHERE id=?", (session_id,))

    def rolled_back(self) -> None:
        """What was folded did not happen."""
        self._states.clear()

    def _state(self, db: sqlite3.Connection, session_id: str, last_seq: int) -> SessionState | None:
        state = self._states.get(session_id)
        if state is None or state.last_seq != last_seq:
            return _load(db, session_id)
        return state

    def _remember(self, session_id: str, state: SessionState) -> None:
        self._states[session_id] = state
        self._states.move_to_end(session_id)
        if len(self._states) > RESTING:
            # The next event of one that rests costs a row to be read; to keep them all, two kilobytes each.
            rests = next((one.id for one in self._states.values() if not _is_live(one)), None)
            if rests is not None:
                del self._states[rests]
            elif len(self._states) > REMEMBERED:
                self._states.popitem(last=False)


def read_state(stored: Any) -> SessionState:
    """A session as its row has it; raises Damaged where that is none."""
    with as_written("a session"):
        return decode_state(stored)


def _load(db: sqlite3.Connection, session_id: str) -> SessionState | None:
    row = db.execute("SELECT state, last_seq FROM sessions WHERE id=?", (session_id,)).fetchone()
    if row is None:
        return None
    state = read_state(row[0])
    if state.last_seq != row[1]:  # both were written at once
        raise rotted("a session")
    return state


def _is_live(state: SessionState) -> bool:
    return state.turn is not None or bool(state.queue) or bool(state.jobs) or state.compaction is not None


def anchor(db: sqlite3.Connection, session_id: str) -> tuple[int, str] | None:
    """Where a session ends by its row: the number of its last event, and that one's hash; raises Damaged."""
    row = db.execute("SELECT last_seq, state FROM sessions WHERE id=?", (session_id,)).fetchone()
    if row is None:
        return None
    last, head = row[0], read_state(row[1]).head
    if not isinstance(last, int):
        raise rotted("a session")
    return last, head


def _save(db: sqlite3.Connection, state: SessionState) -> None:
    db.execute(
        "INSERT INTO sessions VALUES (?,?,?,?,?,?,?,?,?,?,CAST(? AS TEXT)) ON CONFLICT (id) DO UPDATE SET"
        " title=excluded.title, agent=excluded.agent, updated_at=excluded.updated_at, status=excluded.status,"
        " live=excluded.live, last_seq=excluded.last_seq, state=excluded.state",
        (
            state.id,
            state.title,
            state.agent,
            state.project_path,
            to_millis(state.created_at),
            to_millis(state.updated_at),
            state.status,
            _is_live(state),
            not state.ephemeral,
            state.last_seq,
            _encode(state),
        ),
    )


def _session_created(db: sqlite3.Connection, event: Event, data: ev.SessionCreated) -> None:
    if data.forked_from is not UNSET:
        rows = [(one, event.session_id, n) for n, one in enumerate(data.forked_from.ancestors, 1)]
        db.executemany("INSERT OR IGNORE INTO forks VALUES (?,?,?)", rows)


def _message_added(db: sqlite3.Connection, event: Event, data: ev.MessageAdded) -> None:
    waits = data.run and data.message.origin != "verification"
    _put_message(db, data.message, event, event.seq + QUEUED if waits else event.seq)
    if waits and event.turn_id:
        _put_turn(db, event, data.message.id, "queued", "", data.asked)


def _message_edited(db: sqlite3.Connection, event: Event, data: ev.MessageEdited) -> None:
    waits = db.execute("SELECT 1 FROM messages WHERE id=? AND position>=?", (data.message_id, QUEUED)).fetchone()
    if waits is not None:
        db.execute("DELETE FROM message_parts WHERE message_id=?", (data.message_id,))
        _put_parts(db, data.message_id, data.parts)


def _message_steered(db: sqlite3.Connection, event: Event, data: ev.MessageSteered) -> None:
    db.execute(
        "UPDATE messages SET position=?, turn_id=? WHERE id=? AND position>=?",
        (event.seq, event.turn_id, data.message_id, QUEUED),
    )


def _turn_requested(db: sqlite3.Connection, event: Event, data: ev.TurnRequested) -> None:
    db.execute(
        "UPDATE messages SET dropped=0, position=? WHERE id=? AND dropped", (event.seq + QUEUED, data.message_id)
    )
    _put_turn(db, event, data.message_id, "queued", data.retry_of, data.asked)


def _turn_started(db: sqlite3.Connection, event: Event, data: ev.TurnStarted) -> None:
    db.execute("UPDATE messages SET position=? WHERE id=? AND position>=?", (event.seq, data.message_id, QUEUED))
    _put_turn(db, event, data.message_id, "running", data.retry_of)


def _put_turn(
    db: sqlite3.Connection,
    event: Event,
    message_id: str,
    status: str,
    retry_of: str,
    asked: TurnOptions = TurnOptions(),  # noqa: B008 - frozen
) -> None:
    db.execute(
        "INSERT INTO turns (id, session_id, message_id, status, retry_of, asked) VALUES (?,?,?,?,?,CAST(? AS TEXT))"
        " ON CONFLICT (id) DO UPDATE SET status=excluded.status",
        (event.turn_id, event.session_id, message_id, status, retry_of or None, _encode(asked)),
    )
    pool.worker_runs(db, event.session_id, is_open=True)


def _delta(db: sqlite3.Connection, event: Event, data: ev.ModelOutputDelta) -> None:
    if data.offset == 0:
        begun = Message(id=data.message_id, role="assistant", parts=(), created_at=event.ts, status="pending")
        db.execute(
            "INSERT OR IGNORE INTO messages VALUES (?,?,'assistant','pending',?,?,?,CAST(? AS TEXT),0)",
            (begun.id, event.session_id, to_millis(event.ts), event.turn_id, event.seq, _encode(begun)),
        )


def _model_output_completed(db: sqlite3.Connection, event: Event, data: ev.ModelOutputCompleted) -> None:
    _put_message(db, data.message, event, event.seq)


def _tool_call_completed(db: sqlite3.Connection, event: Event, data: ev.ToolCallCompleted) -> None:
    result = data.tool_result
    content = ToolResultContent(
        id=data.tool_call_id,
        name=data.name,
        ok=result.ok,
        parts=result.parts,
        result=result.result,
        artifact=result.artifact,
        error=result.error,
        finished_at=to_millis(event.ts),
    )
    part = ToolResultPart(content=content, id=_part_id(data.message_id, 0))
    message = Message(
        id=data.message_id, role="tool", parts=(part,), created_at=event.ts, status="complete" if result.ok else "error"
    )
    _put_message(db, message, event, event.seq)
    if result.artifact is not UNSET and result.artifact.id:
        kept = result.artifact
        db.execute(
            "INSERT OR IGNORE INTO artifacts VALUES (?,?,?,?,?,?,?)",
            (kept.id, part.id, kept.kind, kept.path or None, kept.mime or None, kept.size or None, kept.sha256 or None),
        )


def _turn_over(status: str) -> Callable[[sqlite3.Connection, Event, ev.EventData], None]:
    def write(db: sqlite3.Connection, event: Event, data: ev.EventData) -> None:
        db.execute(
            "UPDATE turns SET status=?, outcome=CAST(? AS TEXT), ended_at=? WHERE id=?",
            (status, event.raw, to_millis(event.ts), event.turn_id),
        )
        goes_on = "SELECT 1 FROM turns WHERE session_id=? AND status IN ('queued', 'running') LIMIT 1"
        is_open = db.execute(goes_on, (event.session_id,)).fetchone() is not None
        pool.worker_runs(db, event.session_id, is_open=is_open)

    return write


def _turn_canceled(db: sqlite3.Connection, event: Event, data: ev.TurnCanceled) -> None:
    """A message dropped from the queue stands where that was said; it is no part of the conversation."""
    _turn_over("canceled")(db, event, data)
    db.execute(
        "UPDATE messages SET dropped=1, position=? WHERE position>=? AND id=(SELECT message_id FROM turns WHERE id=?)",
        (event.seq, QUEUED, event.turn_id),
    )


def _attachment_added(db: sqlite3.Connection, event: Event, data: ev.AttachmentAdded) -> None:
    db.execute(
        "INSERT OR REPLACE INTO attachments VALUES (?,?,?,?,?,?,?)",
        (event.session_id, data.ref, data.filename, data.mime_type, data.size, data.sha256, to_millis(event.ts)),
    )


def _put_message(db: sqlite3.Connection, message: Message, event: Event, position: int) -> None:
    info = msgspec.structs.replace(message, parts=(), session_id="", turn_id=None)
    db.execute(
        "INSERT INTO messages VALUES (?,?,?,?,?,?,?,CAST(? AS TEXT),0) ON CONFLICT (id) DO UPDATE SET"
        " status=excluded.status, info=excluded.info",
        (
            message.id,
            event.session_id,
            message.role,
            message.status,
            to_millis(message.created_at),
            event.turn_id,
            position,
            _encode(info),
        ),
    )
    _put_parts(db, message.id, message.parts)


def _put_parts(db: sqlite3.Connection, message_id: str, parts: Sequence[Part]) -> None:
    db.executemany(
        "INSERT INTO message_parts VALUES (?,?,?,?,CAST(? AS TEXT)) ON CONFLICT (id) DO UPDATE SET"
        ' "index"=excluded."index", type=excluded.type, content=excluded.content WHERE message_id=excluded.message_id',
        [_part_row(message_id, index, part) for index, part in enumerate(parts)],
    )


def _part_row(message_id: str, index: int, part: Part) -> tuple[str, str, int, str, bytes]:
    kind = str(part.__struct_config__.tag)
    # Calls, results and errors have seed 004's content of their own; for the others the part itself is the content.
    content = part.content if isinstance(part, ToolCallPart | ToolResultPart | ErrorPart) else part
    return (part.id or _part_id(message_id, index), message_id, index, kind, _encode(content))


def _part_id(message_id: str, index: int) -> str:
    """An id for a part that has none; the same whenever the tables are made again."""
    return f"part_{message_id.partition('_')[2][:-2]}{index:02x}"


# Each writer takes the data type it is listed under, which the table's type cannot say.
_WRITERS: dict[str, Callable[[sqlite3.Connection, Event, Any], None]] = {
    "session_created": _session_created,
    "message_added": _message_added,
    "message_edited": _message_edited,
    "message_steered": _message_steered,
    "turn_requested": _turn_requested,
    "turn_started": _turn_started,
    "model_output_delta": _delta,
    "model_output_completed": _model_output_completed,
    "tool_call_completed": _tool_call_completed,
    "turn_completed": _turn_over("completed"),
    "turn_failed": _turn_over("failed"),
    "turn_canceled": _turn_canceled,
    "attachment_added": _attachment_added,
    **pool.WRITERS,
    **usage.WRITERS,
}
