"""One connection to a peer: it sends a request, hears the response, and knows how long to wait.

It carries one exchange at a time and never retries. Opening it is dial's business, keeping it pool's.
May import: errors.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from agi.net.errors import NetError
from agi.net.framing import ResponseParser

if TYPE_CHECKING:
    import ssl

HIGH_WATER = 256 * 1024
_OVERDUE = {
    "first_byte_timeout": "did not begin to answer in time",
    "idle_timeout": "fell silent in the middle of its answer",
}


class Connection(asyncio.Protocol):
    """A socket that speaks HTTP/1.1; `where` names its peer in messages."""

    def __init__(self, where: str) -> None:
        self.where = where
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._deadline = 0.0
        self._overdue = ""
        self._paused = False
        self._lost = False
        self._error: NetError | None = None
        self._response: ResponseParser | None = None
        self.idle_since = 0.0

    async def send(self, request: bytes, *, bodiless: bool, first_byte: float) -> ResponseParser:
        """Write a request and wait until the headers of its response are in; raises `NetError`."""
        self._response = response = ResponseParser(self.where, bodiless=bodiless)
        deadline = self._loop.time() + first_byte
        self._transport.write(request)
        while not response.headers_complete:
            await self._wait(deadline, "first_byte_timeout")
        return response

    async def next_chunk(self, idle: float) -> bytes:
        """The next bytes of the body, or none when it is complete; raises `NetError`."""
        response = cast("ResponseParser", self._response)
        if not response.chunks and not response.complete:
            deadline = self._loop.time() + idle
            while not response.chunks and not response.complete:
                await self._wait(deadline, "idle_timeout")
        data = response.take()
        if self._paused and self.is_open():
            self._paused = False
            self._transport.resume_reading()
        return data

    @property
    def heard(self) -> bool:
        """Whether any byte of the response has arrived."""
        return self._response is not None and self._response.heard

    def is_open(self) -> bool:
        """Whether another request may be tried on this connection."""
        return not self._lost and not self._transport.is_closing()

    def rest(self) -> bool:
        """Make ready for the next request; False if this connection must not be used again."""
        response, self._response = self._response, None
        self._stop_timer()
        self.idle_since = self._loop.time()
        whole = response is not None and response.complete and response.keep_alive and not self._paused
        return whole and self.is_open() and self._transport.get_write_buffer_size() == 0

    def abort(self) -> None:
        """Drop the connection at once; who still reads from it is told so."""
        self._fail(NetError(f"The connection to {self.where} was given up.", code="connection_lost"))

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Go on under TLS, through a tunnel that a proxy opened."""
        secured = await self._loop.start_tls(self._transport, self, context, server_hostname=host)
        self._transport = cast("asyncio.Transport", secured)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop: the connection stands."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Called by the loop: bytes are here."""
        response = self._response
        if response is None or response.complete:
            self.abort()  # nobody asked for these: what follows on this connection cannot be trusted
            return
        try:
            response.feed(data)
        except NetError as error:
            self._fail(error)
        if response.buffered > HIGH_WATER and not self._paused and self.is_open():
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop: the connection is gone, by the peer's wish or ours."""
        self._lost = True
        self._stop_timer()
        if self._error is None and self._response is not None and not self._response.complete:
            self._error = self._loss(exc)
        self._wake()

    def _loss(self, exc: Exception | None) -> NetError | None:
        if exc is not None or self._response is None:
            return NetError(f"The connection to {self.where} broke.", code="connection_lost")
        try:
            self._response.feed_eof()
        except NetError as error:
            return error
        return None

    async def _wait(self, deadline: float, overdue: str) -> None:
        """Wait for bytes, an end or a failure. Cancelled, it takes the connection along."""
        if self._error is not None:
            raise self._error
        self._deadline, self._overdue = deadline, overdue
        if self._timer is None or self._timer_at > deadline:
            self._start_timer(deadline)
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        except asyncio.CancelledError:
            self.abort()
            raise
        finally:
            self._waiter = None

    # Waiting happens once a chunk, a timer costs more than the chunk: so one timer is left standing, and
    # only when it rings is it asked whether the deadline has moved on meanwhile.
    def _start_timer(self, at: float) -> None:
        self._stop_timer()
        self._timer_at = at
        self._timer = self._loop.call_at(at, self._ring)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        if self._waiter is None:
            return
        if self._loop.time() < self._deadline:
            self._start_timer(self._deadline)
            return
        hint = "Try again; if the answer may take this long, allow it a longer time-out."
        self._fail(NetError(f"{self.where} {_OVERDUE[self._overdue]}.", code=self._overdue, hint=hint))
        self._wake()

    def _fail(self, error: NetError) -> None:
        self._error = self._error or error
        if not self._lost:  # asyncio's transports do not bear it twice
            self._transport.abort()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
