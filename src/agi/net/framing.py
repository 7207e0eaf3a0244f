"""One response is cut out of bytes: status, headers, and the body as it arrives.

Pure: it is fed bytes and told of the end, and knows neither sockets nor time. The parsing is llhttp's; the limits,
the rules of where a body ends and what makes a connection reusable are kept here. May import: errors.
"""

from __future__ import annotations

import httptools

from agi.net.errors import NetError

MAX_HEADER_BYTES = 64 * 1024
_EMPTY_STATUSES = frozenset((204, 304))


class ResponseParser:
    """Reads exactly one final response; `bodiless` is for answers to HEAD and CONNECT."""

    __slots__ = (
        "_bodiless",
        "_header_bytes",
        "_parser",
        "_quiet_bytes",
        "_until_close",
        "_where",
        "buffered",
        "chunks",
        "complete",
        "headers",
        "headers_complete",
        "heard",
        "keep_alive",
        "status",
    )

    def __init__(self, where: str, *, bodiless: bool) -> None:
        self._where = where
        self._bodiless = bodiless
        self._until_close = False
        self._header_bytes = 0
        self._quiet_bytes = 0
        self._parser = httptools.HttpResponseParser(self)
        self.status = 0
        self.headers: dict[str, str] = {}
        self.headers_complete = False
        self.complete = False
        self.keep_alive = False
        self.heard = False
        self.chunks: list[bytes] = []
        self.buffered = 0

    def feed(self, data: bytes) -> None:
        """Take what arrived; raises `NetError` bad_response."""
        self.heard = True
        self._quiet_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.keep_alive = False
            if not self.complete:
                raise self._refusal(error) from None
        # Headers, chunk sizes and trailers that never end must not be collected for ever.
        if self._quiet_bytes > MAX_HEADER_BYTES and not self.complete:
            raise self._bad("sent more than 64 KiB without a byte of body")

    def feed_eof(self) -> None:
        """Take the end of the connection; raises `NetError` connection_lost where more was promised."""
        if self._until_close:
            self.complete = True
        if not self.complete:
            part = "response" if self.headers_complete else "headers"
            raise NetError(f"{self._where} closed the connection before its {part} ended.", code="connection_lost")

    def take(self) -> bytes:
        """The body bytes that arrived since the last call, joined."""
        chunks, self.chunks, self.buffered = self.chunks, [], 0
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def on_message_begin(self) -> None:
        """A second response in the same bytes: nobody asked for it."""
        if self.complete:
            self.keep_alive = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header or trailer; trailers are counted and dropped."""
        self._header_bytes += len(name) + len(value) + 4
        if self._header_bytes > MAX_HEADER_BYTES:
            raise self._bad("sent headers of more than 64 KiB")
        if self.headers_complete:
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        """Decide how the body ends; interim (1xx) responses are forgotten."""
        status = self._parser.get_status_code()
        if self.headers_complete:
            return
        if status < 200:
            self.headers = {}
            return
        coding = self.headers.get("transfer-encoding")
        if coding is not None and coding.lower() != "chunked":
            raise self._bad("used an unknown transfer-encoding")
        self.status = status
        self.keep_alive = self._parser.should_keep_alive()
        self.headers_complete = True
        self.complete = self._bodiless or status in _EMPTY_STATUSES
        self._until_close = coding is None and "content-length" not in self.headers

    def on_body(self, data: bytes) -> None:
        """Keep body bytes until they are taken."""
        if not self.headers_complete:
            raise self._bad("sent a body with an interim response")
        if self.complete:
            self.keep_alive = False
            return
        self._quiet_bytes = 0
        self.chunks.append(data)
        self.buffered += len(data)

    def on_message_complete(self) -> None:
        """The body ended as declared."""
        if self.headers_complete:
            self.complete = True

    def _refusal(self, error: Exception) -> NetError:
        if isinstance(error.__context__, NetError):
            return error.__context__
        return self._bad("did not answer in HTTP/1.1 as it should")

    def _bad(self, what: str) -> NetError:
        hint = "Check that the address and port are those of an HTTP server, and http or https as it expects."
        return NetError(f"{self._where} {what}.", code="bad_response", hint=hint)
