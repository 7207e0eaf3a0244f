"""The tape: recorded events, how far they have been played, and the world they amount to.

What the loop makes is held against what was recorded, byte for byte, once the ids and times that can never be the same
are those of the record. The world is a database in memory, so that every view works on it. May import: protocol,
eventlog, views, sessions.closing.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from agi.eventlog.append import one_line
from agi.eventlog.rows import insert
from agi.eventlog.schema import STEPS
from agi.protocol import events as ev
from agi.protocol.context import ORIGIN as CONTEXT
from agi.protocol.events import Event, EventData, encode_data
from agi.sessions.closing import CHECK_CANCELED, CHECK_INTERRUPTED, NOT_RUN
from agi.views import queries
from agi.views.state import SessionState
from agi.views.tables import Tables

ENDINGS = ("turn_completed", "turn_failed", "turn_canceled")
BY_THE_LOOP = frozenset(
    {
        "model_output_delta",
        "model_output_completed",
        "model_backed_off",
        "model_switched",
        "parts_withheld",
        "compaction_started",
        "context_compacted",
        "usage_recorded",
        "tool_call_started",
        "tool_call_completed",
        "approval_requested",
        "patch_proposed",
        "patch_reviewed",
        "verification_started",
        "verification_completed",
    }
)
"""What only a running turn writes; everything else came from elsewhere and is given to it."""
NOTICES = frozenset({"price_unknown", "verification_detected"})
_ID = re.compile(rb"(?:sess|msg|part|turn|call|art|ckpt|job|grant|note|comp)_[0-9a-f]{32}(?![0-9a-f])")
"""Also right behind an escape such as `\\n`, where a word does not seem to begin."""


class Difference(Exception):
    """The loop did something else than was recorded."""

    def __init__(self, seq: int, recorded: Event | None, made: str, data: bytes, request: str = "") -> None:
        super().__init__(f"event {seq}")
        self.seq = seq
        self.recorded = recorded
        self.made = made
        self.data = data
        self.request = request
        """Where a request is another one: what is."""


class Reached(Exception):
    """The event up to which it was to be played."""


class Tape:
    """The recorded events of one session, from the first to the last."""

    def __init__(self, events: Sequence[Event], until: int | None = None) -> None:
        self.events = events
        self._until = until
        self.at = 0
        """The place of the next event."""
        self.compared = 0
        self.session_id = events[0].session_id
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        self.moved: Callable[[], None] = lambda: None
        self.turn_id = ""
        """The turn that plays."""
        self._tables = Tables()
        for step in (*STEPS, *Tables.steps):
            step(self.db)
        self._recorded: dict[bytes, bytes] = {}
        """The recorded id for one that the loop made."""
        self._made: dict[bytes, bytes] = {}
        self._alone = {
            one.turn_id for one in events if isinstance(one.data, ev.TurnStarted) and one.data.on_ask == "deny"
        }
        """Turns that nobody answers questions of, so that they do it themselves."""

    def close(self) -> None:
        """Let go of the world."""
        self.db.close()

    def state(self) -> SessionState:
        """The session as it stands."""
        return queries.session_state(self.db, self.session_id)

    def read(self, session_id: str, after: int, limit: int) -> list[Event]:
        """What stands in the world after an event, as a log would tell it."""
        from agi.eventlog.rows import read_page

        return read_page(self.db, session_id, after, limit)

    def supply(self) -> Event:
        """Take the next recorded event as given."""
        event = self.events[self.at]
        self._put(Event(event.seq, event.ts, event.session_id, event.turn_id, event.type, self._to_made(event.raw)))
        return event

    def is_loops(self, event: Event) -> bool:
        """Whether the turn that plays has to make an event itself."""
        if event.turn_id != self.turn_id:
            return False
        if event.type in BY_THE_LOOP:
            return not was_closed(event)
        data = event.data
        if isinstance(data, ev.MessageAdded):
            return bool(data.message.origin) and data.message.origin != CONTEXT and not data.run
        if isinstance(data, ev.ApprovalDenied):
            return data.cause == "policy" and event.turn_id in self._alone
        if isinstance(data, ev.CompactionFailed):
            return data.code != "canceled"
        return isinstance(data, ev.Notice) and data.code in NOTICES

    def of_turn(self) -> Iterator[Event]:
        """All of the turn that plays, also what is over."""
        return (event for event in self.events if event.turn_id == self.turn_id)

    def ahead(self) -> Iterator[Event]:
        """What is still to come of the turn that plays, up to its end or to where a crash cut it off."""
        for place in range(self.at, len(self.events)):
            event = self.events[place]
            if event.turn_id == self.turn_id:
                if event.type == "turn_resumed":
                    return
                yield event
                if event.type in ENDINGS:
                    return

    def is_cut(self) -> bool:
        """Whether the turn that plays got no further then: somebody stopped it, the process died, the record ends."""
        for place in range(self.at, len(self.events)):
            event = self.events[place]
            if event.turn_id != self.turn_id:
                continue
            if event.type in ("turn_resumed", "turn_canceled"):
                return True
            if event.type in ENDINGS or self.is_loops(event):
                return False
        return True

    def next_of_turn(self) -> Event | None:
        """What came next of the turn that plays, made by it or its end; None where the record ends before."""
        for place in range(self.at, len(self.events)):
            event = self.events[place]
            if event.turn_id == self.turn_id and (
                self.is_loops(event) or event.type in ENDINGS or event.type == "turn_resumed"
            ):
                return event
        return None

    def compare(self, data: EventData) -> None:
        """Hold what the loop made against the record, and go on behind it; raises Difference."""
        while self.at < len(self.events) and not self.is_loops(self.events[self.at]):
            if self.events[self.at].type in (*ENDINGS, "turn_resumed") and self.events[self.at].turn_id == self.turn_id:
                break
            self.supply()
        self.match(data)

    def match(self, data: EventData) -> None:
        """The next event is this one; raises Difference."""
        recorded = self.events[self.at] if self.at < len(self.events) else None
        if recorded is None or recorded.data is None or recorded.type != data.TYPE:
            raise Difference(self.at + 1, recorded, data.TYPE, self._to_recorded(encode_data(data)))
        raw = one_line(encode_data(with_times(data, recorded.data)))
        self._learn(raw, recorded.raw)
        told = self._to_recorded(raw)
        if told != recorded.raw:
            raise Difference(recorded.seq, recorded, data.TYPE, told)
        self.compared += 1
        self._put(Event(recorded.seq, recorded.ts, recorded.session_id, recorded.turn_id, recorded.type, raw))

    def expect(self, data: EventData) -> None:
        """Learn the ids of something that is going to be compared: calls are asked about before they are logged."""
        following = next((one for one in self.ahead() if one.type == data.TYPE), None)
        if following is not None:
            self._learn(encode_data(data), following.raw)

    def recorded_id(self, text: str) -> str:
        """The id that stands in the record for one of ours."""
        return self._recorded.get(text.encode(), text.encode()).decode()

    def in_record(self, raw: bytes) -> bytes:
        """The same with the record's ids."""
        return self._to_recorded(raw)

    def _put(self, event: Event) -> None:
        insert(self.db, event)
        self._tables.apply(self.db, self.session_id, [event])
        self.at += 1
        self.moved()
        if self.at == self._until:
            raise Reached

    def _learn(self, made: bytes, recorded: bytes) -> None:
        """Pair the ids of two tellings by their places."""
        ours, theirs = [[found[0] for found in _ID.finditer(raw)] for raw in (made, recorded)]
        if len(ours) != len(theirs):
            return
        for own, other in zip(ours, theirs, strict=True):
            is_new = own not in self._recorded and other not in self._made and own != other
            if is_new and own.split(b"_")[0] == other.split(b"_")[0]:
                self._recorded[own], self._made[other] = other, own

    def _to_recorded(self, raw: bytes) -> bytes:
        return _ID.sub(lambda found: self._recorded.get(found[0], found[0]), raw) if self._recorded else raw

    def _to_made(self, raw: bytes) -> bytes:
        return _ID.sub(lambda found: self._made.get(found[0], found[0]), raw) if self._made else raw


TIMES: dict[type[EventData], tuple[str, ...]] = {
    ev.ModelBackedOff: ("resume_at",),
    ev.ToolCallCompleted: ("duration_ms",),
    ev.VerificationCompleted: ("seconds",),
    ev.TurnCompleted: ("seconds",),
    ev.TurnFailed: ("seconds",),
    ev.TurnCanceled: ("seconds",),
}
"""What can never be the same, beside ids and the time of a message."""


def with_times(data: EventData, recorded: EventData) -> EventData:
    """What was made, with the times of the record."""
    names = TIMES.get(type(data), ())
    if names:
        data = replace(data, **{name: getattr(recorded, name) for name in names})
    if isinstance(data, ev.ModelOutputCompleted | ev.MessageAdded) and type(recorded) is type(data):
        message = replace(data.message, created_at=recorded.message.created_at)
        data = replace(data, message=message)
    return data


def was_closed(event: Event) -> bool:
    """Whether it was left open, by a crash or a cancel, and closed from outside; the turn itself made it not."""
    data = event.data
    if isinstance(data, ev.ModelOutputCompleted):
        return data.message.stop_reason == "interrupted"
    if isinstance(data, ev.VerificationCompleted):
        return not data.command and data.reason in (CHECK_CANCELED, CHECK_INTERRUPTED)
    return isinstance(data, ev.ToolCallCompleted) and (
        data.interrupted or (data.blocked and data.tool_result.error == NOT_RUN)
    )
