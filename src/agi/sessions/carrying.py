"""What of a session's log goes along when it is forked: what was said, what came of it, where files can be got back.

Messages, parts, turns and artifacts get ids of their own, since an id names one thing in all of the tables; ids of
calls and checkpoints, and names of files, stay. What was allowed, used up or found out there stays there. A turn that
was under way is closed: what is carried over can be gone on with as it is. Reads a log, writes nothing.
May import: errors, protocol, eventlog, loop.history, views.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from agi.errors import Damaged
from agi.eventlog.base import ENDINGS, Entry
from agi.eventlog.rows import SELECT, from_row
from agi.loop.history import calls_of
from agi.protocol import events as ev
from agi.protocol.events import Event
from agi.protocol.ids import MESSAGE, new_id
from agi.protocol.messages import Usage
from agi.protocol.tools import EMPTY_INPUT, ToolCall, failed
from agi.sessions.closing import cut_off
from agi.views.cuts import Cut
from agi.views.folding import fold
from agi.views.segments import Segment, counts
from agi.views.state import SessionState, TurnState

SAID = frozenset(
    {
        "message_added",
        "message_edited",
        "message_steered",
        "turn_requested",
        "turn_started",
        "model_output_completed",
        "model_switched",
        "parts_withheld",
        "context_added",
        "context_compacted",
        "compaction_undone",
        "tool_call_started",
        "tool_call_completed",
        "turn_completed",
        "turn_failed",
        "turn_canceled",
        "session_completed",
        "session_failed",
        "session_canceled",
    }
)
"""What makes up a conversation; carried over where it was not taken back."""
KEPT = frozenset({"checkpoint_created", "attachment_added"})
"""What tells of files; carried over whether or not the conversation around it was taken back."""
FORKED = "The session was forked from another one while this turn was under way there."
UNANSWERED = (
    "No result: this conversation was forked from another one before the call was answered there. What it did is not "
    "known here; look before you repeat it."
)
_ID = re.compile(rb'"((?:msg|part|turn|art)_[0-9a-f]{32})"')
"""An id as a JSON text of its own: in a longer text the quotes would be escaped."""


class Carried(NamedTuple):
    """What a fork begins with."""

    entries: list[Entry]
    messages: int
    attachments: list[str]
    """Refs of the files that belong to it."""
    turns: list[str]
    """The turns there, whose artifacts belong to it."""


def carry(db: sqlite3.Connection, source: SessionState, cut: Cut, kept: Sequence[Segment], session_id: str) -> Carried:
    """Read what goes along; `kept` are the stretches of the log that make up the conversation at the cut."""
    found = _chosen(list(_read(db, source.id, cut)), cut, kept)
    names = _Names(source.id, session_id)
    entries = [names.entry(event) for event in found]
    pieces = [names.event(event) for event in _open_text(db, source.id, cut, found)]
    state = _folded(session_id, [*entries, *((one.turn_id, _data(one)) for one in pieces)])
    if state.turn is not None:
        entries += _closed(state.turn, entries, pieces, source.updated_at)
    said = (ev.MessageAdded, ev.ModelOutputCompleted, ev.ToolCallCompleted)
    return Carried(
        entries,
        sum(isinstance(data, said) for _, data in entries),
        [event.data.ref for event in found if isinstance(event.data, ev.AttachmentAdded)],
        list(dict.fromkeys(event.turn_id for event in found if event.turn_id)),
    )


def _read(db: sqlite3.Connection, session_id: str, cut: Cut) -> Iterator[Event]:
    kinds = sorted(SAID | KEPT)
    where = f"WHERE session_id=? AND seq<=? AND type IN ({','.join('?' * len(kinds))}) ORDER BY seq"
    for row in db.execute(f"{SELECT} {where}", (session_id, cut.seq, *kinds)):
        yield from_row(row)


def _chosen(events: Sequence[Event], cut: Cut, kept: Sequence[Segment]) -> list[Event]:
    """Leave out what was taken back, what waited in the queue or was dropped from it, and what a person took out."""
    whole = _as_it_was_last(events)
    said = [whole.get(event.seq, event) for event in events if event.type in KEPT or counts(event.seq, kept)]
    begun = {event.turn_id for event in said if event.type == "turn_started"}
    steered = {data.message_id for event in events if isinstance(data := _steered(event), ev.MessageSteered)}
    found = [one for event in said if (one := _kept(event, begun, steered, cut, kept[-1][0])) is not None]
    # One that waited was said last, wherever it stands in the log.
    return sorted(found, key=lambda event: _is_last(event, cut))


def _steered(event: Event) -> ev.EventData | None:
    return _data(event) if event.type == "message_steered" else None


def _as_it_was_last(events: Sequence[Event]) -> dict[int, Event]:
    """Messages that waited, by where they stand: as they were last edited; one that was taken up, where it was."""
    added: dict[str, tuple[Event, ev.MessageAdded]] = {}
    changed: dict[int, Event] = {}
    for event in events:
        data = _data(event) if event.type in ("message_added", "message_edited", "message_steered") else None
        if isinstance(data, ev.MessageAdded):
            added[data.message.id] = (event, data)
        elif isinstance(data, ev.MessageEdited | ev.MessageSteered) and data.message_id in added:
            first, said = added[data.message_id]
            if isinstance(data, ev.MessageEdited):
                said = replace(said, message=replace(said.message, parts=data.parts))
                added[data.message_id] = (first, said)
                changed[first.seq] = Event.of(first.seq, first.ts, first.session_id, first.turn_id, said)
            else:
                alone = replace(said, run=False, queued=False, mode=UNSET)
                changed[event.seq] = Event.of(event.seq, event.ts, event.session_id, event.turn_id, alone)
    return changed


def _is_last(event: Event, cut: Cut) -> bool:
    data = event.data
    return isinstance(data, ev.MessageAdded) and not data.run and data.message.id == cut.with_message


def _kept(event: Event, begun: set[str | None], steered: set[str], cut: Cut, since: int) -> Event | None:
    """The event, or what is left of it: a message that nothing had begun to answer is there, and is not answered."""
    data = _data(event)
    if isinstance(data, ev.MessageAdded):
        if data.message.id == cut.without_message:
            return None
        if not data.run or event.turn_id in begun:
            return event
        if data.message.id in steered:
            return None  # it is told where it was taken up
        if data.message.id != cut.with_message and (data.queued or event.seq <= since):
            return None
        alone = replace(data, run=False, queued=False)
        return Event.of(event.seq, event.ts, event.session_id, None, alone)
    if isinstance(data, ev.TurnRequested) or event.type in ENDINGS:
        return event if event.turn_id in begun else None
    return None if isinstance(data, ev.MessageEdited | ev.MessageSteered) else event


def _data(event: Event) -> ev.EventData:
    try:
        data = event.data
    except (msgspec.DecodeError, ValueError) as error:
        raise Damaged(
            f"Event {event.seq} of {event.session_id} cannot be read: {error}.",
            hint="Fork before it, or run `agi repair`.",
        ) from error
    assert data is not None  # noqa: S101 - only types that are known were asked for
    return data


def _open_text(db: sqlite3.Connection, session_id: str, cut: Cut, found: Sequence[Event]) -> list[Event]:
    """The pieces of a message that was being written at the cut."""
    over = ("model_output_completed", "turn_started", "tool_call_completed", *ENDINGS)
    last = max((event.seq for event in found if event.type in over), default=0)
    where = "WHERE session_id=? AND seq>? AND seq<=? AND type='model_output_delta' ORDER BY seq"
    return [from_row(row) for row in db.execute(f"{SELECT} {where}", (session_id, last, cut.seq))]


class _Names:
    """Gives everything that is carried over its new name, the same one wherever it is mentioned."""

    def __init__(self, source: str, session_id: str) -> None:
        self._session_id = session_id
        self._known = {source.encode(): session_id.encode()}
        self._session = re.compile(rb'"%b"' % source.encode())

    def event(self, event: Event) -> Event:
        """The same event, told of the fork."""
        turn_id, data = self.entry(event)
        return Event.of(event.seq, event.ts, self._session_id, turn_id, data)

    def entry(self, event: Event) -> Entry:
        """What to append in the fork."""
        raw = self._session.sub(b'"%b"' % self._session_id.encode(), _ID.sub(self._new, event.raw))
        turn_id = None if event.turn_id is None else self._name(event.turn_id.encode()).decode()
        named = Event(event.seq, event.ts, self._session_id, turn_id, event.type, raw)
        return turn_id, _free(_data(named))

    def _new(self, found: re.Match[bytes]) -> bytes:
        return b'"%b"' % self._name(found[1])

    def _name(self, old: bytes) -> bytes:
        if old not in self._known:
            self._known[old] = new_id(old.partition(b"_")[0].decode()).encode()
        return self._known[old]


def _free(data: ev.EventData) -> ev.EventData:
    """An ending without what was used up and found out: both count once, where they happened."""
    if isinstance(data, ev.TurnCompleted):
        return replace(data, usage=Usage(), seconds=0.0, verification="not_run", fingerprint="")
    if isinstance(data, ev.TurnFailed | ev.TurnCanceled):
        return replace(data, usage=Usage(), seconds=0.0)
    return data


def _folded(session_id: str, entries: Sequence[Entry]) -> SessionState:
    created = ev.SessionCreated(id=session_id, agent="", workspace_path="", project_path="", created_at="")
    state: SessionState | None = None
    for seq, (turn_id, data) in enumerate([(None, created), *entries], 1):
        state = fold(state, Event.of(seq, "", session_id, turn_id, data))
    assert state is not None  # noqa: S101 - it was created
    return state


def _closed(turn: TurnState, entries: Sequence[Entry], pieces: Sequence[Event], now: str) -> list[Entry]:
    """What ends a turn that was under way: its half message, its calls without a result, and the turn itself."""
    own = [data for turn_id, data in entries if turn_id == turn.id]
    last = next((data.message for data in reversed(own) if isinstance(data, ev.ModelOutputCompleted)), None)
    answered = {data.tool_call_id for data in own if isinstance(data, ev.ToolCallCompleted)}
    asked = {call.id: call.name for call in calls_of(last)} if last and last.status == "complete" else {}
    closed: list[ev.EventData] = []
    if turn.open_message:
        closed.append(ev.ModelOutputCompleted(message=cut_off(turn, pieces, now)))
    for call_id, name in {**asked, **turn.open_calls}.items():
        if call_id not in answered:
            closed.append(_unanswered(call_id, name, began=call_id in turn.open_calls))
    closed += [ev.TurnCanceled(reason=FORKED), ev.SessionCanceled()]
    return [(turn.id, data) for data in closed]


def _unanswered(call_id: str, name: str, *, began: bool) -> ev.ToolCallCompleted:
    return ev.ToolCallCompleted(
        tool_call_id=call_id,
        name=name,
        tool_result=failed(ToolCall(call_id, name, EMPTY_INPUT), UNANSWERED),
        message_id=new_id(MESSAGE),
        interrupted=began,
        blocked=not began,
    )
