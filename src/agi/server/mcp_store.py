"""What a client of `/mcp` has been sent lately, so that one whose stream broke off hears the rest: bounded, in memory.

There is one for each MCP session: streams go by the ids of requests, which clients choose, so that those of two
clients may be alike. What is kept is a copy; losing it loses nothing but a repetition. Imported with the SDK.
May import: nothing of ours.
"""

from __future__ import annotations

import itertools
from collections import deque

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp_types import JSONRPCMessage

MOST_EVENTS = 1_000
MOST_BYTES = 4 << 20


class Sent(EventStore):
    """The last events of one session."""

    def __init__(self, most_events: int = MOST_EVENTS, most_bytes: int = MOST_BYTES) -> None:
        self._ids = itertools.count(1)
        self._kept: deque[tuple[int, str, JSONRPCMessage | None, int]] = deque()
        self._size = 0
        self._most_events, self._most_bytes = most_events, most_bytes

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep an event; gives its id. The oldest go."""
        size = 0 if message is None else len(message.model_dump_json())
        id = next(self._ids)
        self._kept.append((id, stream_id, message, size))
        self._size += size
        while len(self._kept) > self._most_events or (self._size > self._most_bytes and len(self._kept) > 1):
            self._size -= self._kept.popleft()[3]
        return str(id)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send what came after an event on its stream; gives the stream, None if the event is not known any more."""
        known = next((one for one in self._kept if str(one[0]) == last_event_id), None)
        if known is None:
            return None
        for id, stream_id, message, _ in list(self._kept):
            if id > known[0] and stream_id == known[1] and message is not None:
                await send_callback(EventMessage(message, str(id)))
        return known[1]
