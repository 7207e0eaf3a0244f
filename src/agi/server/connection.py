"""One connection that speaks HTTP/1.1: bytes become requests, which are answered one after the other.

What a connection may cost is not known here, see `server/limits.py`; neither is who may come in. WebSockets begin here
and are handed over. May import: server.asgi, server.exchange, server.host.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING
from urllib.parse import unquote

import httptools

from agi.server.asgi import Scope
from agi.server.exchange import BODY_KEPT, Exchange, Flow

if TYPE_CHECKING:
    from agi.server.host import Server


class Connection(asyncio.Protocol):
    """The requests of one client, in the order in which they came."""

    def __init__(self, host: Server) -> None:
        self.host = host
        self.loop = asyncio.get_running_loop()
        self.parser = httptools.HttpRequestParser(self)
        # What follows a request that closes is dropped, and does not take its answer away.
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.transport: asyncio.Transport
        self.flow: Flow
        self.server: tuple[str, int] | None = None
        self.client: tuple[str, int] | None = None
        self.pipeline: deque[Exchange] = deque()
        """Requests behind the one that is being answered."""
        self.cycle: Exchange | None = None
        """The request that came last."""
        self.answered: Exchange | None = None
        """The one that is being answered, or was last: an earlier one than `cycle` where others wait behind it."""
        self.url = b""
        self.scope: Scope = {}
        self.headers: list[tuple[bytes, bytes]] = []
        self._expects_go = False
        self._rest: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The client is there."""
        self.host.connections.add(self)
        self.transport = transport
        self.flow = Flow(transport)
        self.server, self.client = _address(transport, "sockname"), _address(transport, "peername")

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone; whoever answers it hears of it."""
        self.host.connections.discard(self)
        self._end_rest()
        for cycle in (self.answered, *self.pipeline):
            if cycle is not None:
                cycle.disconnected = cycle.disconnected or not cycle.response_complete
                cycle.heard.set()
        self.pipeline.clear()
        if hasattr(self, "flow"):
            self.flow.resume_writing()

    def pause_writing(self) -> None:
        """The client takes less than it is sent."""
        self.flow.pause_writing()

    def resume_writing(self) -> None:
        """It has taken most of it."""
        self.flow.resume_writing()

    def shutdown(self) -> None:
        """End the connection, or have it end after the answer that is under way."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:
            self.cycle.keep_alive = False

    # What follows is called by the parser.
    def on_message_begin(self) -> None:
        """A new request begins."""
        self.url = b""
        self.headers = []
        self._expects_go = False
        self.scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": "http",
            "root_path": "",
            "headers": self.headers,
        }

    def on_url(self, url: bytes) -> None:
        """A piece of the request target."""
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self._expects_go = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """The request is known: have it answered, now or after those before it."""
        version = self.parser.get_http_version()
        if version not in ("1.1", "1.0"):
            raise ValueError(version)  # the parser turns it into an error of its own
        self.scope["method"] = self.parser.get_method().decode("ascii")
        self.scope["http_version"] = version
        if self._is_handed_over():
            return
        target = httptools.parse_url(self.url)
        path = target.path.decode("ascii")
        self.scope["path"] = unquote(path) if "%" in path else path
        self.scope["raw_path"] = target.path
        self.scope["query_string"] = target.query or b""
        before, self.cycle = (
            self.cycle,
            Exchange(
                self.scope,
                self.transport,
                self.flow,
                self.host.clock,
                keep_alive=version == "1.1" and self.parser.should_keep_alive(),
                expects_go=version == "1.1" and self._expects_go,
                on_answered=self.on_response_complete,
            ),
        )
        if before is None or before.response_complete:
            self._answer(self.cycle)
        else:
            self.flow.pause_reading()
            self.pipeline.append(self.cycle)

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete or self._is_handed_over():
            return
        cycle.body += body
        if len(cycle.body) > BODY_KEPT:
            self.flow.pause_reading()
        cycle.heard.set()

    def on_message_complete(self) -> None:
        """The request has been read to its end."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete or self._is_handed_over():
            return
        cycle.more_body = False
        cycle.heard.set()

    def on_response_complete(self) -> None:
        """The answer is out: answer the next, or wait for one."""
        if self.transport.is_closing():
            return
        self._end_rest()
        self.flow.resume_reading()
        if self.pipeline:
            self._answer(self.pipeline.popleft())
        else:
            self._rest = self.loop.call_later(self.host.keep_alive_s, self.transport.close)

    def _answer(self, cycle: Exchange) -> None:
        self.answered = cycle
        self.host.answer(cycle)

    def _end_rest(self) -> None:
        """Something came, or is to come no more."""
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None

    def _is_handed_over(self) -> bool:
        return self.parser.should_upgrade() and self._should_upgrade()

    def _should_upgrade(self) -> bool:
        """Whether the client asks for a WebSocket."""
        given = dict(self.headers)
        wanted = [word.strip() for word in given.get(b"connection", b"").lower().split(b",")]
        return b"upgrade" in wanted and given.get(b"upgrade", b"").lower() == b"websocket"


def _address(transport: asyncio.Transport, which: str) -> tuple[str, int] | None:
    found = transport.get_extra_info(which)
    return (str(found[0]), int(found[1])) if isinstance(found, tuple | list) and len(found) >= 2 else None
