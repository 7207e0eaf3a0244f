"""Event streams: what followers deliver becomes frames, encoded once and joined; an idle stream shows that it lives.

A frame ends with its `id:` line, the one thing in it that may differ from reader to reader; all before it is kept with
the event, so a hundred readers cost one encoding. A reader is served at its own pace and holds nobody up: while it
does not take what was sent, nothing more is asked of its follower. What events are called is in words.py.
May import: protocol, eventlog, server.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing

import msgspec

from agi.errors import StorageError
from agi.eventlog.follow import Batch
from agi.eventlog.hub import Item
from agi.protocol.events import Event
from agi.protocol.times import to_rfc3339
from agi.server.asgi import Receive, Scope, Send
from agi.server.request import Shared, disconnected, first_of

PIECE = 256 * 1024
"""Bytes after which what is pending is sent, although more could be joined."""
SMALL = 16 * 1024
PAUSE_S = 0.002
BURST = 4
"""After so many small pieces in such haste, a stream pauses, so that a torrent of deltas costs few sends."""

_encode = msgspec.json.Encoder().encode
_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]

Words = Callable[[Item], bytes]
"""Turns an item into a frame without its end; nothing where the vocabulary has no word for it."""
Snapshot = Callable[[], tuple[int, bytes]]
"""The session as it stands: up to which event, and the frame that says so."""


def frame(event: str, data: bytes) -> bytes:
    """A frame without its end. Raw input of a tool may be written on several lines, which in JSON means nothing."""
    if b"\n" in data or b"\r" in data:
        data = data.replace(b"\n", b" ").replace(b"\r", b" ")
    return b"event: %b\ndata: %b\n" % (event.encode(), data)


class Reading:
    """What one reader is told of a session: which of its events, in which words, until when."""

    def __init__(self, words: Words, snapshot: Snapshot | None = None, *, limit: int | None = None) -> None:
        self._words = words
        self._snapshot = snapshot
        self._left = limit
        self._told = 0
        self.over = False

    def wants(self, item: Item) -> bool:
        """Whether this reader is told of the item."""
        return True

    def ends_with(self, item: Item) -> bool:
        """Whether the item is the last thing to tell."""
        return False

    def pieces(self, batch: Batch) -> list[bytes]:
        """The batch as bytes, joined into pieces."""
        joined: list[bytes] = []
        parts: list[bytes] = []
        size = 0
        if batch.resync and self._snapshot is not None:
            self._told, start = self._snapshot()
            parts.append(start)
        for delivery in batch.deliveries:
            item = delivery.item
            if self.over or (isinstance(item, Event) and item.seq <= self._told) or not self.wants(item):
                continue
            body = self._words(item)
            if body:
                parts += (body, b"id: ", str(delivery.cursor).encode(), b"\n\n")
                size += len(body)
                self._count()
            self.over = self.over or self.ends_with(item)
            if size > PIECE:
                joined.append(b"".join(parts))
                parts, size = [], 0
        return [*joined, b"".join(parts)] if parts else joined

    def _count(self) -> None:
        if self._left is not None:
            self._left -= 1
            self.over = self._left <= 0


async def told(batches: AsyncIterator[Batch], reading: Reading, *, follow: bool = True) -> AsyncGenerator[bytes, None]:
    """What a reader is sent, until its reading is over, the session is gone or, without `follow`, the past is told."""
    async with aclosing(batches) as source:  # type: ignore[type-var]  # every follower is a generator
        try:
            async for batch in source:
                for piece in reading.pieces(batch):
                    yield piece
                if reading.over or (batch.caught_up and not follow):
                    return
        except StorageError as error:  # the reader has what stands before the damage, and is told why there is no more
            yield frame("error", _encode({"code": error.code, "message": error.message, "hint": error.hint})) + b"\n"


async def paced(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The same, with a pause after many small ones in haste: what comes meanwhile is joined."""
    loop = asyncio.get_running_loop()
    hasty, sent_at = 0, 0.0
    async with aclosing(pieces) as source:
        async for piece in source:
            now = loop.time()
            hasty = hasty + 1 if now - sent_at < PAUSE_S and len(piece) < SMALL else 0
            sent_at = now
            yield piece
            if hasty >= BURST:
                await asyncio.sleep(PAUSE_S)


class EventStream:
    """An answer that goes on: pieces as they come, a heartbeat when none does, until either side has enough."""

    def __init__(self, pieces: AsyncGenerator[bytes, None], shared: Shared) -> None:
        self._pieces = pieces
        self._shared = shared
        self._beat_s = shared.settings.heartbeat_s
        self._sent_at = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until it is over, the client has gone or the daemon stops."""
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        if scope["method"] != "HEAD":
            await self._stream(receive, send)
        else:
            await self._pieces.aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _stream(self, receive: Receive, send: Send) -> None:
        tasks = [asyncio.create_task(self._pump(send)), asyncio.create_task(self._watch(receive, send))]
        try:
            await first_of(*tasks, self._shared.stopped)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            if not task.cancelled():
                task.result()

    async def _pump(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        async with aclosing(paced(self._pieces)) as pieces:
            async for piece in pieces:
                self._sent_at = loop.time()
                await send({"type": "http.response.body", "body": piece, "more_body": True})

    async def _watch(self, receive: Receive, send: Send) -> None:
        """Return when the client has gone; until then, break every long silence."""
        loop = asyncio.get_running_loop()
        gone = asyncio.ensure_future(disconnected(receive))
        self._sent_at = loop.time()
        try:
            while not gone.done():
                left = self._sent_at + self._beat_s - loop.time()
                if left <= 0:
                    self._sent_at = loop.time()
                    await send({"type": "http.response.body", "body": heartbeat(), "more_body": True})
                else:
                    await asyncio.wait({gone}, timeout=left)
        finally:
            gone.cancel()


def heartbeat() -> bytes:
    """A visible event, since many readers hide comments; it has no id, for nothing happened."""
    return frame("heartbeat", _encode({"ts": to_rfc3339(time.time())})) + b"\n"
