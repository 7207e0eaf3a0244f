"""What one connection may cost: limits and time-outs around a connection that has none, and a server of these.

Works on bytes and clocks below ASGI, where a request that never becomes one can still be ended. It judges nobody: it
puts the facts that only the connection knows into the scope, for the guard. May import: errors, server.guard,
server.peer, server.connection, server.host.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import resource
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import httptools
import msgspec

from agi.errors import BadRequest
from agi.server.access import AccessLine, printable
from agi.server.asgi import ASGIApp
from agi.server.connection import Connection
from agi.server.exchange import status_line
from agi.server.guard import FACTS
from agi.server.host import Server
from agi.server.peer import OtherEnd, PeerCheck
from agi.server.refusals import Refusal

if TYPE_CHECKING:
    from agi.server.uvicorn_parts import WebSockets


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much, how many and how long; seconds and bytes."""

    header_timeout: float = 10.0
    """From the connection, or from the first byte of a later request, to the end of its headers."""
    body_timeout: float = 30.0
    """The longest silence within a body."""
    linger: float = 2.0
    """How long the rest of a body that nobody wants is read and dropped, so that the client gets its answer."""
    max_header_bytes: int = 64 * 1024
    max_target_bytes: int = 16 * 1024
    max_headers: int = 100
    max_pipelined: int = 16
    """Requests that may wait behind the one being answered; a single packet can hold thousands."""
    max_connections: int = 4000
    """How many may be open at once; fewer where the system gives the process fewer files."""
    max_ws_message: int = 4 * 1024 * 1024


DEFAULT_LIMITS = Limits()
OTHER_FILES = 500
"""What a daemon opens besides connections: the log, mirrors, commands and their pipes."""

_MALFORMED = Refusal(
    400, "bad_request", "This is not HTTP/1.1.", "Plain HTTP/1.1 is spoken here: http://, not https://."
)
_UNKNOWN_METHOD = Refusal(
    501, "unknown_method", "This method is not known here.", "GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS are."
)
_TARGET_TOO_LONG = Refusal(414, "too_large", "The request target is too long.")
_HEADERS_TOO_LARGE = Refusal(431, "too_large", "The headers are too many or too large.")
_TOO_MANY_AT_ONCE = Refusal(429, "too_many_requests", "Too many requests wait on one connection.")
_TOO_SLOW = Refusal(408, "timeout", "The headers did not arrive in time.")

_METHOD = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_REQUEST_LINE = _METHOD + rb" [!-~]+ HTTP/1\.[01]\r?\n"
_BEGUN_LINE = _METHOD + rb"(?: [!-~]*(?: [!-~]*\r?)?)?"
_WEBSOCKET_KEY = rb"[A-Za-z0-9+/]{22}=="

_Wait = Literal["", "headers", "body", "rest"]


class Door:
    """What all connections of one server share."""

    def __init__(self, limits: Limits, peers: PeerCheck | None, log: Callable[[AccessLine], None]) -> None:
        self.limits = limits
        self.peers = peers
        self.log = log
        self.silent: dict[BoundedHttp, None] = {}
        """Connections that ask for nothing, yet or just now, and those that do not take their answers; oldest first."""
        self._sockets: WebSockets | None = None

    def websocket(self, host: Server) -> Any:
        """The protocol of a connection that becomes a WebSocket."""
        if self._sockets is None:
            # Late: it costs more than a sixth of all the daemon loads, and only the first handshake needs it.
            from agi.server.uvicorn_parts import WebSockets

            self._sockets = WebSockets(host, self.limits.max_ws_message)
        return self._sockets.protocol()

    def has_room(self, connections: int) -> bool:
        """Whether one more may come in: for it, the one that has been silent longest must go when the house is full."""
        if connections < self.limits.max_connections:
            return True
        if not self.silent:
            return False
        oldest = next(iter(self.silent))
        del self.silent[oldest]
        oldest.transport.abort()  # one that does not read would never have done with closing
        return True


class BoundedHttp(Connection):
    """One connection that is ended when it is too slow, too large or one too many."""

    def __init__(self, host: Server, door: Door) -> None:
        super().__init__(host)
        self._door, self._limits = door, door.limits
        self._other_end = OtherEnd(None, None)
        self._reading: Literal["nothing", "headers", "body"] = "nothing"
        self._header_bytes = self._header_count = self._barren_bytes = 0
        self._refusal = _MALFORMED
        self._begun = b""
        """What there is of a request line of which the parser has told nothing yet."""
        self._unknown = False
        """Whether the parser does not know the method, and the end of the line will say if it is HTTP at all."""
        self._parted = False
        self._waiting_for: _Wait = ""
        self._timer: asyncio.TimerHandle | None = None
        self._heard_at = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let the connection in, see who is at its other end, and start the clock."""
        if not self._door.has_room(len(self.host.connections)):
            self.transport = transport
            transport.close()
            return
        super().connection_made(transport)
        self._door.silent[self] = None
        if self._door.peers is not None and self.client is not None and self.server is not None:
            peer = self._door.peers.accept(self.server, self.client)
            self._other_end = OtherEnd(self._door.peers, peer)
        self._wait_for("headers")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._wait_for("")
        self._door.silent.pop(self, None)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client takes less than it is sent: it may go before anybody else has to."""
        super().pause_writing()
        self._door.silent[self] = None

    def resume_writing(self) -> None:
        """It has taken most of it."""
        super().resume_writing()
        if self._is_answering():
            self._door.silent.pop(self, None)

    def data_received(self, data: bytes) -> None:
        """Parse what came in, and see what is to come next and until when."""
        if self._parted:
            return
        self._end_rest()
        self._barren_bytes += len(data)
        if self._unknown:
            self._refuse_method(self._begun + data)
            return
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._switch_protocols()
        except httptools.HttpParserInvalidMethodError:
            self._refuse_method((self._begun + data).lstrip(b"\r\n"))
        except httptools.HttpParserError:
            self._part(self._refusal)
        else:
            # The parser keeps an unfinished header to itself and skips chunk extensions: only the bytes tell.
            if self._barren_bytes > self._limits.max_header_bytes:
                self._part(_HEADERS_TOO_LARGE)
            else:
                is_begun = self._reading == "headers" and not self.url
                self._begun = (self._begun + data).rpartition(b"\n")[2] if is_begun else b""
                self._wait_for(self._next_wait())

    def _refuse_method(self, line: bytes) -> None:
        """Say that a method is not known, as soon as the line around it shows that this is HTTP; it may come in pieces.

        Nothing of it goes to the parser any more.
        """
        most = self._limits.max_target_bytes
        if b"\n" not in line and len(line) < most and (self._unknown or re.fullmatch(_BEGUN_LINE, line)):
            self._begun, self._unknown = line, True
            self._wait_for(self._next_wait())
        else:
            self._part(_UNKNOWN_METHOD if re.match(_REQUEST_LINE, line[:most]) else self._refusal)

    def on_message_begin(self) -> None:
        """A new request begins."""
        super().on_message_begin()
        if len(self.pipeline) >= self._limits.max_pipelined:
            self._stop_parsing(_TOO_MANY_AT_ONCE)
        self._reading = "headers"
        self._header_bytes = self._header_count = 0

    def on_url(self, url: bytes) -> None:
        """A piece of the request target."""
        super().on_url(url)
        if len(self.url) > self._limits.max_target_bytes:
            self._stop_parsing(_TARGET_TOO_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, or one trailer: those come after the guard has judged, so they are counted and dropped."""
        self._header_bytes += len(name) + len(value) + 4
        self._header_count += 1
        if self._header_bytes > self._limits.max_header_bytes or self._header_count > self._limits.max_headers:
            self._stop_parsing(_HEADERS_TOO_LARGE)
        if self._reading == "headers":
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The request is known: hand it on, with the facts of its connection."""
        if self.parser.get_method() == b"CONNECT":  # the parser knows it; nobody here does
            self._stop_parsing(_UNKNOWN_METHOD)
        if not self.flow.write_paused:
            self._door.silent.pop(self, None)
        self.scope["extensions"] = {FACTS: self._facts()}
        super().on_headers_complete()
        self._reading = "body"
        self._barren_bytes = 0

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._barren_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request has been read to its end."""
        self._reading = "nothing"
        self._barren_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The answer is out; whatever is left of the request has little time to arrive."""
        super().on_response_complete()
        if not self._is_answering():
            self._door.silent[self] = None
        if self._reading == "body" and not self.transport.is_closing():
            self._wait_for(self._next_wait())

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over to the WebSocket protocol, with the same facts."""
        self._reading = "headers"  # for the other protocol reads them again
        protocol = self._door.websocket(self.host)
        head = [self.scope["method"].encode(), b" ", self.url, b" HTTP/1.1\r\n"]
        for name, value in self.scope["headers"]:
            head += [name, b": ", value, b"\r\n"]
        self._door.silent.pop(self, None)
        protocol.connection_made(self.transport)
        if self.flow.write_paused:  # by an earlier answer: that is said once
            protocol.pause_writing()
        with contextlib.suppress(AssertionError):  # one way in which it takes headers that its own parser refuses
            protocol.data_received(b"".join([*head, b"\r\n"]))
        if hasattr(protocol, "scope"):
            protocol.scope["extensions"][FACTS] = self._facts()
            self.host.connections.discard(self)
            self.transport.set_protocol(protocol)
            return
        self.host.connections.discard(protocol)
        if self.transport.is_closing():
            self._log(_MALFORMED)  # it has answered by itself
        else:
            self._part(_MALFORMED)  # it would wait for ever

    def _should_upgrade(self) -> bool:
        """Whether a well-formed handshake asks for a WebSocket; any other is a plain request for the guard to judge."""
        keys = [value for name, value in self.headers if name == b"sec-websocket-key"]
        versions = [value for name, value in self.headers if name == b"sec-websocket-version"]
        is_handshake = len(keys) == 1 and re.fullmatch(_WEBSOCKET_KEY, keys[0]) is not None and versions == [b"13"]
        begins = (self.parser.get_method(), self.parser.get_http_version()) == (b"GET", "1.1")
        return is_handshake and begins and super()._should_upgrade()

    def _switch_protocols(self) -> None:
        self._wait_for("")
        if self._is_answering() and self._should_upgrade():
            self.transport.abort()  # two protocols would write to one connection
        elif self._should_upgrade():
            self.handle_websocket_upgrade()
        elif self.cycle is not None:
            self.cycle.keep_alive = False  # the parser reads nothing more after an upgrade it was asked for
            self._wait_for(self._next_wait())

    def _facts(self) -> dict[str, Any]:
        return {
            "absolute": not self.url.startswith(b"/"),
            "peer": self._other_end,
            "abort": self.transport.abort,
        }

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _next_wait(self) -> _Wait:
        answering = self._is_answering()
        if self._reading == "body":
            return "body" if answering else "rest"
        # Bytes between two requests start none, and have stopped the clock of a connection that rests.
        return "" if answering and self._reading == "nothing" else "headers"

    def _wait_for(self, what: _Wait) -> None:
        """Set the one clock of this connection to what it waits for; the same wait goes on as it was."""
        if what == "body":
            self._heard_at = self.loop.time()
        if what == self._waiting_for:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._waiting_for = what
        seconds = {
            "headers": self._limits.header_timeout,
            "body": self._limits.body_timeout,
            "rest": self._limits.linger,
        }
        self._timer = self.loop.call_later(seconds[what], self._time_is_up) if what else None

    def _time_is_up(self) -> None:
        if self.transport.is_closing():
            return
        if self._waiting_for == "body":
            self._end_if_stalled()
        elif self._reading == "headers" and self.flow.read_paused:  # earlier requests are answered first
            self._timer = self.loop.call_later(self._limits.header_timeout, self._time_is_up)
        elif self._reading == "headers":
            self._part(_MALFORMED if self._unknown else _TOO_SLOW)
        else:
            self.transport.close()

    def _end_if_stalled(self) -> None:
        now = self.loop.time()
        if self.flow.read_paused:
            self._heard_at = now  # it is the application that does not read
        left = self._heard_at + self._limits.body_timeout - now
        if left <= 0:
            self.transport.close()
        else:
            self._timer = self.loop.call_later(left, self._time_is_up)

    def _stop_parsing(self, refusal: Refusal) -> None:
        self._refusal = refusal
        raise BadRequest(refusal.message)  # the parser turns it into an error of its own

    def _part(self, refusal: Refusal) -> None:
        """Answer without the application and close; read on for a moment, or the answer would be lost in a reset."""
        self._parted = True
        in_body = self._reading == "body"
        cycle = self.cycle
        answering = cycle is not None and not cycle.response_complete
        waits = bool(self.pipeline)
        if cycle is not None and answering and (not in_body or cycle.response_started or waits):
            self.transport.abort()  # half an answer is on the line already, or that of an earlier request is to come
        else:
            body = refusal.body()
            lines = [name + b": " + value + b"\r\n" for name, value in refusal.all_headers(body)]
            self.transport.write(b"".join([status_line(refusal.status), *lines, b"connection: close\r\n\r\n", body]))
            self.transport.write_eof()
            self._reading = "nothing"
            self._wait_for("rest")
            if cycle is not None and answering:  # the application hears at once that nobody listens any more
                cycle.disconnected = True
                cycle.heard.set()
        if not in_body or waits:  # else the guard has the request, and logs it
            self._log(refusal)

    def _log(self, refusal: Refusal) -> None:
        method = self.parser.get_method().decode() if self.url else "-"
        path = printable(self.url.partition(b"?")[0].decode("latin-1")) or "-"
        self._door.log(AccessLine(method, path, refusal.status, 0.0, 0, f"refused:{refusal.code}"))


def room_for_connections(wanted: int) -> int:
    """Ask the system for as many open files as so many connections take; gives how many fit into what it grants."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + OTHER_FILES
    if soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(1, min(wanted, soft - OTHER_FILES, soft * 3 // 4))


def make_server(
    app: ASGIApp,
    *,
    sock: socket.socket,
    log: Callable[[AccessLine], None],
    limits: Limits = DEFAULT_LIMITS,
    peers: PeerCheck | None = None,
) -> Server:
    """A server for the guarded application; auth `auto` needs `peers`, `log` gets what never became a request."""
    door = Door(limits, peers, log)
    return Server(app, sock, lambda server: BoundedHttp(server, door))
