"""Who listens: hands new events and live deltas to subscribers, without ever waiting for one.

A subscriber that falls behind is marked as lagging and its buffer dropped; it reads the log again from where it
stands. All of it happens on the event loop. May import: protocol, eventlog.base.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from agi.eventlog.base import LiveDelta
from agi.protocol.events import Event, ModelOutputDelta

Item = Event | LiveDelta
BUFFER = 2048


class Subscription:
    """One listener's buffer."""

    __slots__ = ("_waiter", "items", "lagging")

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.lagging = False
        self._waiter: asyncio.Future[None] | None = None

    def push(self, item: Item) -> None:
        """Give it one more; too many means lagging."""
        if len(self.items) >= BUFFER:
            self.items.clear()
            self.lagging = True
        if not self.lagging:
            self.items.append(item)
        self.wake()

    def wake(self) -> None:
        """Let a waiting `wait` return."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def take(self) -> list[Item]:
        """Everything that arrived since the last time."""
        items, self.items = self.items, []
        return items

    async def wait(self) -> None:
        """Return once there is something to take, or it was woken."""
        if self.items or self.lagging:
            return
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None


class OpenText:
    """The end of a part that is being written and is not in the log yet."""

    __slots__ = ("data", "turn_id")

    def __init__(self, turn_id: str | None, data: ModelOutputDelta) -> None:
        self.turn_id = turn_id
        self.data = data


class Hub:
    """Subscriptions by session, and the open text of each session that is being answered."""

    def __init__(self) -> None:
        self._by_session: dict[str, set[Subscription]] = {}
        self._all: set[Subscription] = set()
        self.open: dict[str, OpenText] = {}

    @property
    def has_listeners(self) -> bool:
        """Whether anybody listens to anything."""
        return bool(self._by_session) or bool(self._all)

    def subscribe(self, session_id: str | None) -> Subscription:
        """Listen to one session, or to all."""
        subscription = Subscription()
        group = self._all if session_id is None else self._by_session.setdefault(session_id, set())
        group.add(subscription)
        return subscription

    def unsubscribe(self, session_id: str | None, subscription: Subscription) -> None:
        """Stop listening."""
        if session_id is None:
            self._all.discard(subscription)
            return
        group = self._by_session.get(session_id)
        if group is not None:
            group.discard(subscription)
            if not group:
                del self._by_session[session_id]

    def publish(self, events: Iterable[Event]) -> None:
        """Tell of events that are on disk now."""
        for event in events:
            if event.type == "model_output_delta":
                self._trim(event)
            elif event.type in ("model_output_completed", "turn_completed", "turn_failed", "turn_canceled"):
                self.open.pop(event.session_id, None)
            self._push(event.session_id, event)

    def publish_live(self, delta: LiveDelta) -> None:
        """Tell of open text that is not on disk yet, and remember it for those who come later."""
        held = self.open.get(delta.session_id)
        if held is None or held.data.part_id != delta.data.part_id:
            self.open[delta.session_id] = OpenText(delta.turn_id, delta.data)
        else:
            held.data = _joined(held.data, held.data.delta + delta.data.delta, held.data.offset)
        self._push(delta.session_id, delta)

    def wake_session(self, session_id: str) -> None:
        """Let the session's followers look at the log again (it was deleted)."""
        for subscription in self._by_session.get(session_id, ()):
            subscription.lagging = True
            subscription.wake()

    def _push(self, session_id: str, item: Item) -> None:
        for subscription in self._by_session.get(session_id, ()):
            subscription.push(item)
        for subscription in self._all:
            subscription.push(item)

    def _trim(self, event: Event) -> None:
        """What is in the log need not be remembered as open."""
        held = self.open.get(event.session_id)
        data = event.data
        if held is None or not isinstance(data, ModelOutputDelta) or held.data.part_id != data.part_id:
            return
        end = data.offset + len(data.delta)
        rest = held.data.delta[max(0, end - held.data.offset) :]
        held.data = _joined(held.data, rest, max(end, held.data.offset))


def _joined(data: ModelOutputDelta, text: str, offset: int) -> ModelOutputDelta:
    return ModelOutputDelta(message_id=data.message_id, part_id=data.part_id, kind=data.kind, delta=text, offset=offset)
