"""One request over HTTP/1.1 and its answer, as ASGI has them: what is read of the one, what is written of the other.

Bytes are parsed in `server/connection.py`. Whatever an application gets wrong ends the connection, never the answer of
another request. May import: server.asgi.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

from agi.server.asgi import ASGIApp, Message, Scope

BODY_KEPT = 64 * 1024
"""How much of a body waits for the application before the client is not read any more."""

_PHRASES = {
    200: "OK",
    201: "Created",
    202: "Accepted",
    204: "No Content",
    206: "Partial Content",
    304: "Not Modified",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    408: "Request Timeout",
    409: "Conflict",
    410: "Gone",
    413: "Content Too Large",
    414: "URI Too Long",
    415: "Unsupported Media Type",
    416: "Range Not Satisfiable",
    421: "Misdirected Request",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    503: "Service Unavailable",
    507: "Insufficient Storage",
}
_IN_NO_NAME = bytes(range(0x21)) + b'\x7f()<>@,;:[]={}\\"/?'
_IN_NO_VALUE = bytes(range(0x09)) + bytes(range(0x0A, 0x20)) + b"\x7f"
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def status_line(status: int) -> bytes:
    """The first line of an answer; one without a name for its status is as good."""
    return f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\n".encode()


class Clock:
    """The time as answers tell it, worked out once a second."""

    def __init__(self) -> None:
        self._second, self._told = 0, b""

    def date(self) -> bytes:
        """The value of a `date` header."""
        second = int(time.time())
        if second != self._second:
            now = time.gmtime(second)
            day, month = _DAYS[now.tm_wday], _MONTHS[now.tm_mon - 1]
            clock = f"{now.tm_hour:02}:{now.tm_min:02}:{now.tm_sec:02}"
            self._told = f"{day}, {now.tm_mday:02} {month} {now.tm_year} {clock} GMT".encode()
            self._second = second
        return self._told


class Flow:
    """Whether one connection is read and can be written to just now."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.read_paused = False
        self._writable = asyncio.Event()
        self._writable.set()

    @property
    def write_paused(self) -> bool:
        """Whether the client takes less than it is sent."""
        return not self._writable.is_set()

    async def drain(self) -> None:
        """Return when the client has taken what it was sent, or has gone."""
        await self._writable.wait()

    def pause_reading(self) -> None:
        """Leave what comes with the system, and so with the client."""
        if not self.read_paused:
            self.read_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on."""
        if self.read_paused:
            self.read_paused = False
            self._transport.resume_reading()

    def pause_writing(self) -> None:
        """There is much that the client has not taken."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The client has taken it, or has gone."""
        self._writable.set()


class Exchange:
    """A request that is being answered, or is next to be."""

    def __init__(
        self,
        scope: Scope,
        transport: asyncio.Transport,
        flow: Flow,
        clock: Clock,
        *,
        keep_alive: bool,
        expects_go: bool,
        on_answered: Callable[[], None],
    ) -> None:
        self.scope = scope
        self.keep_alive = keep_alive
        """Whether another request may follow."""
        self.body = bytearray()
        self.more_body = True
        self.heard = asyncio.Event()
        """Set when there is something new to receive, the end of it all included."""
        self.disconnected = False
        self.response_started = self.response_complete = False
        self._transport, self._flow, self._clock = transport, flow, clock
        self._expects_go = expects_go
        self._on_answered = on_answered
        self._chunked = self._until_end = False
        """How an answer ends that does not say how long it is: by its own last piece, or with the connection."""
        self._left = 0
        """How many bytes were promised and not sent yet."""

    async def run(self, app: ASGIApp) -> None:
        """Have the application answer; where it does not, say so or end the connection."""
        problem: BaseException | None = None
        try:
            await app(self.scope, self._receive, self._send)
        except (Exception, asyncio.CancelledError) as error:
            problem = error
        if problem is None and (self.response_complete or self.disconnected):
            return
        if not isinstance(problem, asyncio.CancelledError):
            told: dict[str, object] = {"message": "A request was not answered to its end."}
            if problem is not None:
                told["exception"] = problem
            asyncio.get_running_loop().call_exception_handler(told)
        if self.response_complete:
            return  # the connection may be another request's by now
        if self.response_started or self._flow.write_paused:
            self._transport.close()
        else:
            headers = ((b"content-length", b"0"), (b"connection", b"close"))
            await self._send({"type": "http.response.start", "status": 500, "headers": headers})
            await self._send({"type": "http.response.body"})

    async def _receive(self) -> Message:
        if self._expects_go and not self._transport.is_closing():
            self._expects_go = False
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not self.disconnected and not self.response_complete:
            self._flow.resume_reading()
            await self.heard.wait()
            self.heard.clear()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        body, self.body = bytes(self.body), bytearray()
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    async def _send(self, message: Message) -> None:
        if self._flow.write_paused and not self.disconnected:
            await self._flow.drain()
        if self.disconnected:
            return
        if not self.response_started:
            if message["type"] != "http.response.start":
                raise RuntimeError(f"An answer does not begin with {message['type']}.")
            self._begin(message["status"], message.get("headers", ()))
        elif not self.response_complete:
            if message["type"] != "http.response.body":
                raise RuntimeError(f"An answer does not go on with {message['type']}.")
            self._go_on(message.get("body", b""), more=message.get("more_body", False))

    def _begin(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        lines = [status_line(status), b"date: ", self._clock.date(), b"\r\n"]
        says_close = says_length = False
        for name, value in headers:
            if _has_any(name, _IN_NO_NAME) or _has_any(value, _IN_NO_VALUE):
                raise RuntimeError(f"The header {name!r} would not be one.")
            lower = name.lower()
            if lower == b"content-length":
                self._left, says_length = int(value), True
            elif lower == b"connection" and b"close" in value.lower():
                self.keep_alive, says_close = False, True
            lines += [lower, b": ", value, b"\r\n"]
        self.response_started, self._expects_go = True, False
        if not self.keep_alive and not says_close:
            lines.append(b"connection: close\r\n")
        if self.scope["method"] == "HEAD":
            self._left = 0
        elif not says_length and status not in (204, 304) and self.scope["http_version"] == "1.0":
            self._until_end = True
        elif not says_length and status not in (204, 304):
            self._chunked = True
            lines.append(b"transfer-encoding: chunked\r\n")
        lines.append(b"\r\n")
        self._transport.write(b"".join(lines))

    def _go_on(self, body: bytes, *, more: bool) -> None:
        if self.scope["method"] == "HEAD":
            pass
        elif self._chunked:
            piece = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            self._transport.write(piece if more else piece + b"0\r\n\r\n")
        elif self._until_end:
            self._transport.write(body)
        else:
            self._left -= len(body)
            if self._left < 0 or (self._left and not more):
                raise RuntimeError("The answer is not as long as it says.")
            self._transport.write(body)
        if not more:
            self.response_complete = True
            self.heard.set()
            if not self.keep_alive:
                self._transport.close()
            self._on_answered()


def _has_any(text: bytes, marks: bytes) -> bool:
    return len(text.translate(None, marks)) != len(text)
