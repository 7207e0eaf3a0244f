"""Following one session: the past from the file, the present from the hub, each character once.

A follower knows the last event it delivered and how far it delivered the open part. Whatever arrives is skipped,
clipped or delivered by that; a gap sends it back to the file. May import: protocol, eventlog.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from msgspec import Struct

from agi.eventlog.base import Cursor, LiveDelta
from agi.eventlog.hub import Hub, Item, Subscription
from agi.protocol.events import Event, ModelOutputDelta, encode_data

PAGE = 1000
CLOSES_TEXT = frozenset(
    {"model_output_completed", "turn_started", "turn_resumed", "turn_completed", "turn_failed", "turn_canceled"}
)
"""After one of these, the part that was open is open no more."""


class Source(Protocol):
    """What a follower needs of the log."""

    hub: Hub
    epoch: int

    def read(self, session_id: str, after: int = 0, limit: int = 1000) -> list[Event]:
        """Read a page of events."""

    def last_seq(self, session_id: str) -> int:
        """The number of the last event."""


class Delivery(Struct, frozen=True):
    """One thing to tell, and the cursor that stands right behind it."""

    item: Item
    cursor: Cursor


class Batch(Struct, frozen=True, kw_only=True):
    """What can be told at once. `resync` means the cursor was of another log: start over from a snapshot."""

    deliveries: tuple[Delivery, ...] = ()
    resync: bool = False
    caught_up: bool = False
    """The past is told; what follows is live."""


class Follower:
    """One reader's progress through a session."""

    def __init__(self, source: Source, session_id: str, cursor: Cursor, subscription: Subscription) -> None:
        self._source = source
        self._session_id = session_id
        self._subscription = subscription
        self._seq = cursor.seq
        self._epoch = cursor.epoch
        self._part = ""
        # A cursor between two events belongs to the first part that speaks after it.
        self._offset = cursor.offset or 0

    async def batches(self) -> AsyncIterator[Batch]:
        """Yield until the session is gone."""
        if self._epoch != self._source.epoch or self._seq > self._source.last_seq(self._session_id):
            self._start_over()
            yield Batch(resync=True)
        told = False
        while True:
            self._subscription.take()
            self._subscription.lagging = False
            while page := self._source.read(self._session_id, self._seq, PAGE):
                yield Batch(deliveries=tuple(self._deliver(page)))
            if not self._source.last_seq(self._session_id):
                return
            yield Batch(deliveries=tuple(self._deliver(self._open_text())), caught_up=not told)
            told = True
            async for batch in self._live():
                yield batch

    async def _live(self) -> AsyncIterator[Batch]:
        """Tell what comes until there is a gap."""
        while True:
            await self._subscription.wait()
            if self._subscription.lagging:
                return
            items = self._subscription.take()
            whole = self._until_gap(items)
            if whole:
                yield Batch(deliveries=tuple(self._deliver(items[:whole])))
            if whole < len(items):
                return

    def _until_gap(self, items: list[Item]) -> int:
        """How many items continue without a hole."""
        seq = self._seq
        part, offset = self._part, self._offset
        for n, item in enumerate(items):
            if isinstance(item, LiveDelta):
                reached = offset if item.data.part_id == part else 0 if part else item.data.offset
                if item.data.offset > reached or item.seq > seq:
                    return n
                part, offset = item.data.part_id, max(reached, item.end)
            elif item.seq > seq + 1:
                return n
            elif item.seq == seq + 1:
                seq = item.seq
                if item.type in CLOSES_TEXT:
                    part, offset = "", 0
                elif item.type == "model_output_delta" and isinstance(item.data, ModelOutputDelta):
                    end = item.data.offset + len(item.data.delta)
                    part, offset = item.data.part_id, max(end, offset if item.data.part_id == part else 0)
        return len(items)

    def _open_text(self) -> list[Item]:
        held = self._source.hub.open.get(self._session_id)
        if held is None or not held.data.delta:
            return []
        return [LiveDelta(self._seq, "", self._session_id, held.turn_id, held.data)]

    def _deliver(self, items: list[Event] | list[Item]) -> list[Delivery]:
        return [told for item in items if (told := self._one(item)) is not None]

    def _one(self, item: Item) -> Delivery | None:
        if isinstance(item, LiveDelta):
            data = self._clip(item.data)
            if data is None:
                return None
            if data is not item.data:
                item = LiveDelta(item.seq, item.ts, item.session_id, item.turn_id, data)
            return Delivery(item, Cursor(self._seq, self._offset, self._source.epoch))
        if item.seq <= self._seq:
            return None
        self._seq = item.seq
        if item.type in CLOSES_TEXT:
            self._part, self._offset = "", 0
        elif item.type == "model_output_delta" and isinstance(item.data, ModelOutputDelta):
            data = self._clip(item.data)
            if data is None:
                return None
            if data is not item.data:
                item = Event(item.seq, item.ts, item.session_id, item.turn_id, item.type, encode_data(data))
        return Delivery(item, Cursor(self._seq, None, self._source.epoch))

    def _clip(self, data: ModelOutputDelta) -> ModelOutputDelta | None:
        """Leave out what this reader has; None if it has all of it."""
        if self._part and data.part_id != self._part:
            self._offset = 0
        self._part = data.part_id
        end = data.offset + len(data.delta)
        if end <= self._offset:
            return None
        if data.offset < self._offset:
            delta = data.delta[self._offset - data.offset :]
            data = ModelOutputDelta(
                message_id=data.message_id, part_id=data.part_id, kind=data.kind, delta=delta, offset=self._offset
            )
        self._offset = end
        return data

    def _start_over(self) -> None:
        self._seq, self._part, self._offset = self._source.last_seq(self._session_id), "", 0
