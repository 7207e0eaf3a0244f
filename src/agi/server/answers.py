"""What handlers answer with: small ASGI applications that send JSON, text, nothing, or a file. Streams are in sse.py.

May import: errors.
"""

from __future__ import annotations

import asyncio
import os
from urllib.parse import quote

import msgspec

from agi.errors import NotFound
from agi.server.asgi import Receive, Scope, Send

Header = tuple[bytes, bytes]

PIECE = 256 * 1024

_encode = msgspec.json.Encoder().encode
_JSON: Header = (b"content-type", b"application/json")


class Json:
    """A value as JSON."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, value: object, status: int = 200, headers: tuple[Header, ...] = ()) -> None:
        self.body = value if isinstance(value, bytes) else _encode(value)
        self.status = status
        self.headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        size = str(len(self.body)).encode()
        headers = [_JSON, (b"content-length", size), *self.headers]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": False})


class PlainText:
    """Text for programs, of a type of its own."""

    __slots__ = ("_body", "_type")

    def __init__(self, text: str, content_type: bytes) -> None:
        self._body = text.encode()
        self._type = content_type

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        headers = [(b"content-type", self._type), (b"content-length", str(len(self._body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self._body, "more_body": False})


class NoContent:
    """204: done, and nothing to say about it."""

    __slots__ = ("headers",)

    def __init__(self, headers: tuple[Header, ...] = ()) -> None:
        self.headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": 204, "headers": list(self.headers)})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class Sent:
    """Bytes made for this answer, to be saved, never to be shown as a page of ours."""

    __slots__ = ("_body", "_name", "_type")

    def __init__(self, body: bytes, name: str, mime_type: str) -> None:
        self._body = body
        self._name = name
        self._type = mime_type

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        headers = [
            (b"content-type", self._type.encode()),
            (b"content-length", str(len(self._body)).encode()),
            (b"content-disposition", f"attachment; filename*=UTF-8''{quote(self._name, safe='')}".encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        body = b"" if scope["method"] == "HEAD" else self._body
        await send({"type": "http.response.body", "body": body, "more_body": False})


class SentFile:
    """A file from disk, to be saved, never to be shown as a page of ours."""

    __slots__ = ("_fd", "_name", "_size", "_type")

    def __init__(self, path: os.PathLike[str], name: str, mime_type: str) -> None:
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise NotFound(f"There is no file {name[:80]!r} here.", code="file_not_found") from error
        self._size = os.fstat(self._fd).st_size
        self._name = name
        self._type = mime_type

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it piece by piece, as fast as the client takes it."""
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self._headers()})
            left = 0 if scope["method"] == "HEAD" else self._size
            while left > 0 and (piece := await asyncio.to_thread(os.read, self._fd, min(left, PIECE))):
                left -= len(piece)
                await send({"type": "http.response.body", "body": piece, "more_body": left > 0})
            if left or not self._size or scope["method"] == "HEAD":
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            os.close(self._fd)

    def _headers(self) -> list[Header]:
        disposition = f"attachment; filename*=UTF-8''{quote(self._name, safe='')}"
        return [
            (b"content-type", self._type.encode()),
            (b"content-length", str(self._size).encode()),
            (b"content-disposition", disposition.encode()),
        ]
