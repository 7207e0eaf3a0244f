"""A provider on loopback that plays a script: real wire formats over real sockets, and every fault on demand.

The path decides the format (`formats`). Raw asyncio and replies encoded once, so that it also serves benchmarks, as
its own process: `python -m agi.testing.provider --script loop:50` prints its URL. May import: its siblings.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Self

import msgspec

from agi.testing.asked import Asked
from agi.testing.formats import Format, chunk, encode, format_of
from agi.testing.openai_chat_wire import CHAT
from agi.testing.replies import Gate, Reply, Sent, calls, fails, says
from agi.testing.scripts import Script, in_order, loop_script

__all__ = ["Asked", "ProviderServer", "Reply", "Script", "calls", "fails", "loop_script", "main", "says"]

_MAX_BODY = 256 * 1024 * 1024


class ProviderServer:
    """Serves every known format at its usual path, and `/v1/models`; `async with` it, then ask at `base_url`."""

    def __init__(self, script: Script, *, port: int = 0, models: tuple[str, ...] = ("script",), record: bool = True):
        self._decide = script if callable(script) else in_order(script)
        self._port = port
        self._models = models
        self._record = record
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.requests: list[Asked] = []
        """What was asked for answers, in order."""
        self.connections = 0
        """How many were accepted so far."""
        self.hung_up = asyncio.Event()
        """Set when a client leaves while its reply is being sent or held back."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=1024 * 1024)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        """The server without any path, as some providers' base URLs are."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def base_url(self) -> str:
        """What `OPENAI_BASE_URL` is set to."""
        return f"{self.url}/v1"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self.connections += 1
        try:
            while (asked := await _read(reader)) is not None:
                if not await self._answer(asked, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self.hung_up.set()
        except asyncio.CancelledError:
            pass  # the server closes; this task is nobody else's
        finally:
            writer.close()

    async def _answer(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Send the reply the script decides on; False if the connection is over."""
        spoken = format_of(asked.path) if asked.method == "POST" else None
        if spoken is not None:
            asked = _understood(asked, spoken)
        reply = self._reply(asked, spoken)
        sent = encode(reply, spoken or CHAT, stream=asked.question.stream)
        if not reply.head or reply.ending != "whole" or reply.gate or reply.pause or reply.apart:
            return await self._play(reply, sent, reader, writer)
        writer.write(sent.wire)
        await writer.drain()
        return True

    def _reply(self, asked: Asked, spoken: Format | None) -> Reply:
        if spoken is not None:
            if self._record:
                self.requests.append(asked)
            return self._decide(asked)
        if asked.method == "GET" and asked.path.endswith("/models"):
            known = [{"id": name, "object": "model", "created": 0, "owned_by": "script"} for name in self._models]
            body = msgspec.json.encode({"object": "list", "data": known})
            return Reply(content_type="application/json", frames=(body,))
        return fails(404, f"There is no {asked.method} {asked.path} here.")

    async def _play(self, reply: Reply, sent: Sent, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if reply.head:
            writer.write(sent.headlines)
        for number, data in enumerate(sent.frames):
            if reply.gate is not None and number == reply.gate_at:
                await self._hold(reply.gate, reader)
            if data:
                await asyncio.sleep(reply.pause)
                writer.write(chunk(data))
                await writer.drain()
        return await self._end(reply, reader, writer)

    async def _hold(self, gate: Gate, reader: asyncio.StreamReader) -> None:
        """Wait for a gate, but not for a client that has left meanwhile."""
        opened, left = asyncio.ensure_future(gate.wait()), asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait((opened, left), return_when=asyncio.FIRST_COMPLETED)
            if left.done():
                raise ConnectionResetError("the client left")
        finally:
            opened.cancel()
            left.cancel()

    async def _end(self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if reply.ending == "whole":
            writer.write(b"0\r\n\r\n" if reply.head else b"")
            await writer.drain()
            return True
        if reply.ending == "stall":
            await reader.read(1)
            self.hung_up.set()
        if reply.ending == "reset":
            _reset(writer)
        return False


def _understood(asked: Asked, spoken: Format) -> Asked:
    try:
        return msgspec.structs.replace(asked, question=spoken.read(asked))
    except ValueError:
        return asked


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    """The next request of a connection, or None when the client is through."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    method, path, _version = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = min(int(headers.get("content-length", "0")), _MAX_BODY)
    return Asked(method, path, headers, await reader.readexactly(length))


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close so that the client's kernel sees a reset, not an orderly end."""
    import socket
    import struct

    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def _script(words: str, chunks: int) -> Script:
    """Read `loop:STEPS`, `says:TEXT` or `stream` from the command line; raises ValueError."""
    kind, _, rest = words.partition(":")
    if kind == "loop":
        return loop_script(int(rest), chunks=chunks)
    if kind not in ("says", "stream"):
        raise ValueError(f"there is no script {kind!r}")
    text = rest if kind == "says" and rest else " ".join(f"word{number}" for number in range(chunks))
    reply = says(text, chunks=chunks)
    return lambda _asked: reply


async def _run(script: Script, port: int) -> None:
    async with ProviderServer(script, port=port, record=False) as server:
        sys.stdout.write(server.base_url + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main(arguments: list[str] | None = None) -> None:
    """Serve a script until killed; the URL is printed first."""
    import argparse

    parser = argparse.ArgumentParser(prog="agi.testing.provider", description="A scripted provider on loopback.")
    parser.add_argument(
        "--script", default="says:Hello.", help="loop:STEPS, says:TEXT or stream (default: %(default)s)"
    )
    parser.add_argument("--chunks", type=int, default=1, help="pieces the final text comes in (default: %(default)s)")
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    given = parser.parse_args(arguments)
    try:
        script = _script(given.script, given.chunks)
    except ValueError as error:
        parser.error(f"--script: {error}")
    try:
        asyncio.run(_run(script, given.port))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
