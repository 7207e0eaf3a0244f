"""The HTTP client: a request goes out, a response comes back as soon as its headers are in, its body as it arrives.

It follows no redirect, keeps no cookie and never sends a request twice, but for one case: an idle connection that
the server had closed meanwhile is replaced once. May import: errors.
"""

from __future__ import annotations

from contextlib import aclosing
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

import msgspec

from agi.errors import TooLarge, Unavailable
from agi.net.dial import dial, proxy_failure, tls_context
from agi.net.encoding import Decoder
from agi.net.errors import NetError
from agi.net.pool import Pool
from agi.net.request import encode_request
from agi.net.route import Proxies, Route
from agi.net.url import split_url

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, Callable, Mapping

    from agi.net.connection import Connection
    from agi.net.framing import ResponseParser

__all__ = ["HttpClient", "NetError", "Proxies", "Response", "Timeouts"]

MAX_READ = 16 * 1024 * 1024
# Middle boxes forget silent connections after a minute or so, and a request sent into one would just hang.
MAX_IDLE_SECONDS = 50.0
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Timeouts(msgspec.Struct, frozen=True):
    """How many seconds to wait for each step of an exchange."""

    connect: float = 10.0
    """Name lookup, TCP, proxy and TLS together."""
    first_byte: float = 300.0
    """From sending the request to the end of the response's headers."""
    idle: float = 300.0
    """Between two pieces of the body, while someone waits for them."""


DEFAULT_TIMEOUTS = Timeouts()


class Response:
    """A response whose body is still arriving. Read it to its end, or close it (`async with` does)."""

    def __init__(
        self, connection: Connection, parser: ResponseParser, idle: float, release: Callable[[], None]
    ) -> None:
        self._connection: Connection | None = connection
        self._idle = idle
        self._release = release
        self.status = parser.status
        """The status code, redirects and errors included."""
        self.headers: Mapping[str, str] = parser.headers
        """The headers under their lower-case names; repeated ones are joined by commas."""

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body, piece by piece as it arrives; raises `NetError`, also where it ends too early."""
        encoding = self.headers.get("content-encoding", "identity").lower()
        decoder: Decoder | None = None
        try:
            while data := await self._open().next_chunk(self._idle):
                if encoding == "identity":
                    yield data
                    continue
                decoder = decoder or Decoder(encoding, self._open().where)
                for piece in decoder.pieces(data):
                    yield piece
            if decoder is not None:
                decoder.finish()
        finally:
            await self.close()

    async def read(self, limit: int = MAX_READ) -> bytes:
        """The whole body; raises `TooLarge` past `limit` bytes."""
        parts: list[bytes] = []
        room = limit
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                room -= len(chunk)
                if room < 0:
                    hint = "Ask for less at once."
                    raise TooLarge(f"{self._open().where} answered with more than {limit} bytes.", hint=hint)
                parts.append(chunk)
        return b"".join(parts)

    async def close(self) -> None:
        """Be done with the response; a connection whose response has not fully arrived is closed."""
        if self._connection is not None:
            self._connection = None
            self._release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _open(self) -> Connection:
        if self._connection is None:
            raise RuntimeError("the response was read or closed before")
        return self._connection


class HttpClient:
    """Sends requests over http and https, and keeps connections for the next ones. For one event loop."""

    def __init__(
        self,
        *,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        proxies: Proxies | None = None,
        ca_file: str | None = None,
        max_idle_per_host: int = 8,
        max_idle_seconds: float = MAX_IDLE_SECONDS,
    ) -> None:
        self._timeouts = timeouts
        self._proxies = proxies or Proxies()
        self._ca_file = ca_file
        self._tls: ssl.SSLContext | None = None
        self._pool = Pool(max_idle_per_host, max_idle_seconds)
        self._closed = False

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] = NO_HEADERS,
        body: bytes = b"",
        timeouts: Timeouts | None = None,
    ) -> Response:
        """Send a request and return when the headers of its response are in; raises `NetError` or `Invalid`."""
        if self._closed:
            raise Unavailable("This HTTP client is closed.", hint="Open a new one.")
        target = split_url(url)
        route = self._proxies.route(target)
        request = encode_request(method, target, headers, body, route)
        return await self._exchange(route, request, method == "HEAD", timeouts or self._timeouts)

    async def close(self) -> None:
        """Close the idle connections and take no further request; open responses stay readable."""
        self._closed = True
        self._pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _exchange(self, route: Route, request: bytes, bodiless: bool, timeouts: Timeouts) -> Response:
        idle = self._pool.take(route)
        if idle is not None:
            try:
                return await self._ask(idle, route, request, bodiless, timeouts)
            except NetError as error:
                if error.code != "connection_lost" or idle.heard:
                    raise
        try:
            fresh = await dial(route, self._tls_for(route), timeouts.connect)
        except NetError as error:
            error.sent = idle is not None  # what was written to the replaced connection may have been read
            raise
        return await self._ask(fresh, route, request, bodiless, timeouts)

    async def _ask(
        self, connection: Connection, route: Route, request: bytes, bodiless: bool, timeouts: Timeouts
    ) -> Response:
        parser = await connection.send(request, bodiless=bodiless, first_byte=timeouts.first_byte)
        if parser.status == 407 and route.proxy is not None and route.scheme == "http":
            connection.abort()
            raise proxy_failure(f"The proxy {route.proxy.where} wants other credentials (407).")
        return Response(connection, parser, timeouts.idle, partial(self._pool.give, route, connection))

    def _tls_for(self, route: Route) -> ssl.SSLContext | None:
        if route.scheme == "https" and self._tls is None:
            self._tls = tls_context(self._ca_file)
        return self._tls if route.scheme == "https" else None
