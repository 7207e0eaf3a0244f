"""Who listens: hands new events and live deltas to subscribers, without ever waiting for one.

A subscriber that falls behind is marked as lagging and its buffer dropped; it reads the log again from where it
stands. All of it happens on the event loop. May import: protocol, eventlog.base.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from agi.eventlog.base import CLOSES_TEXT, ENDINGS, LiveDelta
from agi.protocol.events import Event, ModelOutputDelta

Item = Event | LiveDelta
BUFFER = 2048
DELETED = "session_deleted"
"""What listeners hear when their session is gone; never in a log."""
EVERY = "*"
"""In the place of a session: who listens to it hears of all of them, and of DELETED whenever one may be gone."""


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

    __slots__ = ("data", "ts", "turn_id")

    def __init__(self, ts: str, turn_id: str | None, data: ModelOutputDelta) -> None:
        self.ts = ts
        self.turn_id = turn_id
        self.data = data

    def goes_on_with(self, data: ModelOutputDelta) -> bool:
        """Tell whether this piece begins right behind what is held."""
        return data.part_id == self.data.part_id and data.offset == self.data.offset + len(self.data.delta)

    def keep(self, delta: str, offset: int) -> None:
        """Hold this text of the same part instead."""
        held = self.data
        self.data = ModelOutputDelta(
            message_id=held.message_id, part_id=held.part_id, kind=held.kind, delta=delta, offset=offset
        )


class Hub:
    """Subscriptions by session, and the open text of each session that is being answered."""

    def __init__(self) -> None:
        self._by_session: dict[str, set[Subscription]] = {}
        self._listeners: dict[str, set[Callable[[Event], None]]] = {}
        self.open: dict[str, OpenText] = {}

    @property
    def has_listeners(self) -> bool:
        """Whether anybody listens to anything."""
        return bool(self._by_session) or bool(self._listeners)

    def subscribe(self, session_id: str) -> Subscription:
        """Listen to one session."""
        subscription = Subscription()
        self._by_session.setdefault(session_id, set()).add(subscription)
        return subscription

    def unsubscribe(self, session_id: str, subscription: Subscription) -> None:
        """Stop listening."""
        group = self._by_session.get(session_id)
        if group is not None:
            group.discard(subscription)
            if not group:
                del self._by_session[session_id]

    def listen(self, session_id: str, listener: Callable[[Event], None]) -> None:
        """Call `listener` with each durable event as it is heard, and with DELETED; for those who act on events."""
        self._listeners.setdefault(session_id, set()).add(listener)

    def unlisten(self, session_id: str, listener: Callable[[Event], None]) -> None:
        """Stop calling it."""
        group = self._listeners.get(session_id, set())
        group.discard(listener)
        if not group:
            self._listeners.pop(session_id, None)

    def followed(self) -> list[str]:
        """The sessions somebody follows."""
        return list(self._by_session)

    def sessions(self) -> list[str]:
        """The sessions somebody listens to, or whose open text is held."""
        return list({*self._by_session, *self._listeners, *self.open})

    def publish(self, events: Iterable[Event]) -> None:
        """Tell of events that are on disk now; each once, in the order of the log."""
        for event in events:
            self._settle(event)
            self._push(event.session_id, event)
            self._call_listeners(event)

    def publish_live(self, delta: LiveDelta) -> None:
        """Tell of open text that is not on disk yet, and remember it for those who come later."""
        held = self.open.get(delta.session_id)
        if held is not None and held.goes_on_with(delta.data):
            held.keep(held.data.delta + delta.data.delta, held.data.offset)
        elif delta.data.offset == 0:
            self.open[delta.session_id] = OpenText(delta.ts, delta.turn_id, delta.data)
        else:
            return  # the rest of a text that was closed meanwhile, by a process that took the session over
        self._push(delta.session_id, delta)

    def wake_session(self, session_id: str) -> None:
        """The session was deleted: let its followers look at the log again, and tell its listeners."""
        self.open.pop(session_id, None)
        for subscription in self._by_session.get(session_id, ()):
            subscription.lagging = True
            subscription.wake()
        self._call_listeners(Event(0, "", session_id, None, DELETED, b"{}"))

    def _call_listeners(self, event: Event) -> None:
        everywhere = self._listeners.get(EVERY, ()) if event.session_id != EVERY else ()
        for listener in (*self._listeners.get(event.session_id, ()), *everywhere):
            try:
                listener(event)
            except Exception as error:  # one listener's failure keeps nobody else from hearing of it
                context = {"message": "A listener failed.", "exception": error}
                asyncio.get_running_loop().call_exception_handler(context)

    def _push(self, session_id: str, item: Item) -> None:
        for subscription in self._by_session.get(session_id, ()):
            subscription.push(item)

    def _settle(self, event: Event) -> None:
        """What is in the log, or was closed by it, need not be remembered as open."""
        held = self.open.get(event.session_id)
        if event.type in CLOSES_TEXT or (event.type in ENDINGS and held is not None and held.turn_id == event.turn_id):
            self.open.pop(event.session_id, None)
        elif event.type == ModelOutputDelta.TYPE and isinstance(event.data, ModelOutputDelta):
            end = event.data.offset + len(event.data.delta)
            if held is None or held.data.part_id != event.data.part_id:
                held = self.open[event.session_id] = OpenText(event.ts, event.turn_id, event.data)
            held.keep(held.data.delta[max(0, end - held.data.offset) :], max(end, held.data.offset))
