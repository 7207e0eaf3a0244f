"""A server on loopback that says what a test wants it to say about its models, in any dialect; and what it was asked.

It answers no question to a model: that is `provider`'s business. May import: its siblings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Self

import msgspec
from msgspec import Struct

from agi.testing.asked import Asked

SILENCE = object()
"""Said at a path: the connection stays open, and nothing comes."""


class Refusal(Struct, frozen=True):
    """Said at a path: another status than 200."""

    status: int
    body: bytes = b"{}"


Answer = object
"""What is said at a path: a value to be sent as JSON, bytes, a Refusal, SILENCE, or a function of the request."""


class ModelServer:
    """Says at each path what it was told to, and 404 elsewhere; `async with` it, then ask at `url`."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self._answers = answers
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        """Where it listens, and did when it is closed."""
        self.requests: list[Asked] = []
        """Everything that was asked, in order."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        """The server without any path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def asked(self) -> list[str]:
        """The paths that were asked for, in order."""
        return [one.path for one in self.requests]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            while True:
                await self._answer(await _read(reader), reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client left, or the server closes
        finally:
            writer.close()

    async def _answer(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append(asked)
        said = self._answers.get(asked.path, Refusal(404))
        if callable(said):
            said = said(asked)
        if said is SILENCE:
            await reader.read()
            raise ConnectionResetError("the client left")
        status, body = (said.status, said.body) if isinstance(said, Refusal) else (200, said)
        data = body if isinstance(body, bytes) else msgspec.json.encode(body)
        writer.write(b"HTTP/1.1 %d x\r\ncontent-length: %d\r\n\r\n%s" % (status, len(data), data))
        await writer.drain()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, body)
