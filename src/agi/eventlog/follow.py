"""Following one session: the past from the file, the present from the hub, each character once.

A follower knows the last event it delivered and how far it delivered the open part. Whatever arrives is skipped,
clipped or delivered by that; a gap sends it back to the file, and a gap in the file is damage.
May import: errors, protocol, eventlog.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from typing import Protocol

from msgspec import Struct

from agi.errors import Damaged
from agi.eventlog.base import CLOSES_TEXT, Cursor, LiveDelta
from agi.eventlog.hub import Hub, Item, Subscription
from agi.eventlog.schema import FROM_MIRRORS
from agi.eventlog.watch import Watch
from agi.protocol.events import Event, ModelOutputDelta, encode_data

PAGE = 1000
NEAR_DAMAGE = (32, 1)
"""How many are read where one of a page cannot be: what stands before it is told."""


class Source(Protocol):
    """What a follower needs of the log."""

    hub: Hub
    watch: Watch
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
        self._start = cursor
        self._seq = cursor.seq
        self._part = ""
        # A cursor between two events belongs to the first part that speaks after it.
        self._offset = cursor.offset or 0
        self._logged = 0
        """How much of the open part stands in the events delivered."""

    async def batches(self) -> AsyncIterator[Batch]:
        """Yield until the session is gone; raises Damaged at a hole in the log."""
        if self._is_of_another_log():
            self._seq, self._offset = self._source.last_seq(self._session_id), 0
            yield Batch(resync=True)
        told = False
        while True:
            while page := self._page():
                before = self._seq
                past, _ = self._tell(page)
                if self._seq == before:
                    raise self._hole(page[0].seq)
                if past:
                    yield Batch(deliveries=past)
            # The file, the hub and this reader stand at the same event now, and up to the open text nothing is awaited:
            # whatever the buffer holds is in the file or in the open text.
            self._subscription.take()
            self._subscription.lagging = False
            if not self._source.last_seq(self._session_id):
                return
            now, _ = self._tell(self._open_text())
            if now or not told:
                yield Batch(deliveries=now, caught_up=not told)
            told = True
            async for batch in self._live():
                yield batch

    async def _live(self) -> AsyncIterator[Batch]:
        """Tell what comes until there is a gap."""
        while True:
            await self._subscription.wait()
            if self._subscription.lagging:
                return
            now, is_whole = self._tell(self._subscription.take())
            if now:
                yield Batch(deliveries=now)
            if not is_whole:
                return

    def _is_of_another_log(self) -> bool:
        """Whether the cursor means nothing here; the very beginning is the same in every log."""
        if self._start.seq == 0 and not self._start.offset:
            return False
        return self._start.epoch != self._source.epoch or self._seq > self._source.last_seq(self._session_id)

    def _page(self) -> list[Event]:
        """What comes next in the file. The hub hears of it first, so that it is not behind when nothing comes."""
        self._source.watch.catch_up()
        for limit in (PAGE, *NEAR_DAMAGE):
            with suppress(Damaged):
                return self._source.read(self._session_id, self._seq, limit)
        text = f"The log of {self._session_id} is damaged: what comes behind event {self._seq} cannot be read."
        raise Damaged(text, hint=FROM_MIRRORS)

    def _hole(self, found: int) -> Damaged:
        return Damaged(
            f"The log of {self._session_id} is damaged: event {found} comes right behind event {self._seq}.",
            hint=FROM_MIRRORS,
        )

    def _open_text(self) -> list[Item]:
        held = self._source.hub.open.get(self._session_id)
        if held is None or not held.data.delta:
            return []
        return [LiveDelta(self._seq, held.ts, self._session_id, held.turn_id, held.data)]

    def _tell(self, items: Iterable[Item]) -> tuple[tuple[Delivery, ...], bool]:
        """Turn what came into deliveries, up to the first gap; and whether there was none."""
        told: list[Delivery] = []
        for item in items:
            if not self._continues(item):
                return tuple(told), False
            kept = self._live_delta(item) if isinstance(item, LiveDelta) else self._event(item)
            if kept is not None:
                told.append(Delivery(kept, self._cursor()))
        return tuple(told), True

    def _continues(self, item: Item) -> bool:
        if isinstance(item, Event):
            return item.seq <= self._seq + 1
        reached = 0 if self._part and item.data.part_id != self._part else self._offset
        return item.seq <= self._seq and (item.data.offset <= reached or not self._part)

    def _cursor(self) -> Cursor:
        """Where this reader stands; with an offset whenever it has heard more than the events tell."""
        return Cursor(self._seq, self._offset if self._offset > self._logged else None, self._source.epoch)

    def _live_delta(self, item: LiveDelta) -> LiveDelta | None:
        data = self._clip(item.data)
        if data is None or data is item.data:
            return item if data else None
        return LiveDelta(item.seq, item.ts, item.session_id, item.turn_id, data)

    def _event(self, item: Event) -> Event | None:
        if item.seq <= self._seq:
            return None
        self._seq = item.seq
        if item.type in CLOSES_TEXT:
            self._part, self._offset, self._logged = "", 0, 0
        if item.type != ModelOutputDelta.TYPE or not isinstance(item.data, ModelOutputDelta):
            return item
        data = self._clip(item.data)
        self._logged = item.data.offset + len(item.data.delta)
        if data is None or data is item.data:
            return item if data else None
        return Event(item.seq, item.ts, item.session_id, item.turn_id, item.type, encode_data(data))

    def _clip(self, data: ModelOutputDelta) -> ModelOutputDelta | None:
        """Leave out what this reader has; None if it has all of it."""
        if self._part and data.part_id != self._part:
            self._offset = self._logged = 0
        self._part = data.part_id
        skipped = self._offset - data.offset
        end = data.offset + len(data.delta)
        if end <= self._offset:
            return None
        start, self._offset = self._offset, end
        if skipped <= 0:
            return data
        return ModelOutputDelta(
            message_id=data.message_id,
            part_id=data.part_id,
            kind=data.kind,
            delta=data.delta[skipped:],
            offset=start,
        )
