"""A way out for commands that may reach some hosts: a small HTTP proxy in the daemon, which asks the list each time.

`CONNECT` for encrypted traffic, whole URLs for plain. The name is looked up here, all its addresses are judged, and the
connection goes to one that was judged. A refusal says why, in its status line, a header and its text. What is inside an
encrypted connection is not looked at. May import: sandbox.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

from agi.sandbox.hosts import Hosts, is_public

REASON_HEADER = "X-Agi-Refused"
LONGEST_HEAD = 64 * 1024

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Dial = Callable[[str, int], Awaitable[Stream]]

_HEAD_S = 10.0
_CONNECT_S = 20.0
_IDLE_S = 300.0
_PIECE = 1 << 16
_MOST_AT_ONCE = 128
_MOST_REMEMBERED = 20
_HOP_BY_HOP = (b"proxy-", b"connection:", b"keep-alive:", b"host:", b"te:", b"upgrade:")


class Refused(Exception):
    """A request that goes nowhere; the text says why."""

    def __init__(self, reason: str, *, status: str = "403 Forbidden") -> None:
        super().__init__(reason)
        self.status = status


class Proxy:
    """Serves the connections of one command."""

    def __init__(self, hosts: Hosts, dial: Dial | None = None) -> None:
        self._hosts = hosts
        self._dial = dial or dial_public
        self._busy: set[asyncio.Task[None]] = set()
        self.refused: dict[str, str] = {}
        """What was asked for and not given, and why; the first few."""

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take a connection."""
        if len(self._busy) >= _MOST_AT_ONCE:
            writer.close()
            return
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)

    def close(self) -> None:
        """End all connections."""
        for task in self._busy:
            task.cancel()

    def notes(self) -> list[str]:
        """What a person or a model should know."""
        return [f"the network was refused: {where} ({why})" for where, why in self.refused.items()]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            try:
                async with asyncio.timeout(_HEAD_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                await self._answer(head, reader, writer)
            except Refused as refusal:
                await _say(writer, refusal.status, str(refusal))
            finally:
                writer.close()

    async def _answer(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, _, fields = head.partition(b"\r\n")
        words = first.decode("ascii", "replace").split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise Refused("not a request to a proxy", status="400 Bad Request")
        method, target, _ = words
        if method == "CONNECT":
            host, port = _authority(target, None)
            stream = await self._reach(host, port)
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            host, port, path = _plain_url(target)
            stream = await self._reach(host, port)
            stream[1].write(_forwarded(method, path, target, fields))
        await _join((reader, writer), stream)

    async def _reach(self, host: str, port: int) -> Stream:
        where = f"{host[:253]}:{port}"
        try:
            if reason := self._hosts.refusal(host, port):
                raise Refused(reason)
            async with asyncio.timeout(_CONNECT_S):
                return await self._dial(host, port)
        except Refused as refusal:
            if len(self.refused) < _MOST_REMEMBERED:
                self.refused.setdefault(where, str(refusal))
            raise
        except (OSError, TimeoutError) as problem:
            raise Refused(f"{where} cannot be reached: {problem}", status="502 Bad Gateway") from problem


async def dial_public(host: str, port: int) -> Stream:
    """Connect to a name, unless any address it has lies in a network of one's own."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in found]
    if not addresses or not all(map(is_public, addresses)):
        raise Refused("its address is not a public one")
    last: OSError = OSError("it has no address")
    for address in dict.fromkeys(addresses):
        try:
            return await asyncio.open_connection(address, port)
        except OSError as problem:
            last = problem
    raise last


def _authority(text: str, default_port: int | None) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, "" if default_port is None else str(default_port)
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536):
        raise Refused("no port that could be meant", status="400 Bad Request")
    return host.lower(), int(port)


def _plain_url(target: str) -> tuple[str, int, str]:
    scheme, found, rest = target.partition("://")
    if not found or scheme.lower() != "http":
        raise Refused("only http:// and CONNECT are understood", status="400 Bad Request")
    end = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    host, port = _authority(rest[:end], 80)
    path = rest[end:]
    return host, port, path if path.startswith("/") else f"/{path}"


def _forwarded(method: str, path: str, target: str, fields: bytes) -> bytes:
    """The request as its server sees it: the host is the one that was judged, whatever the fields said."""
    authority = target.partition("://")[2].partition("/")[0].partition("?")[0]
    kept = [line for line in fields.split(b"\r\n") if line and not line.lower().lstrip().startswith(_HOP_BY_HOP)]
    lines = [f"{method} {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close".encode(), *kept]
    return b"\r\n".join(lines) + b"\r\n\r\n"


async def _join(one: Stream, other: Stream) -> None:
    """Carry bytes both ways until either side has no more to say and the other has said the rest."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_carry(one[0], other[1]))
            group.create_task(_carry(other[0], one[1]))
    except* (OSError, TimeoutError):
        pass
    finally:
        other[1].close()


async def _carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while True:
        async with asyncio.timeout(_IDLE_S):
            piece = await source.read(_PIECE)
        if not piece:
            break
        sink.write(piece)
        await sink.drain()
    if sink.can_write_eof():
        sink.write_eof()


async def _say(writer: asyncio.StreamWriter, status: str, reason: str) -> None:
    text = f"{reason}\n".encode()
    told = reason.encode("ascii", "replace").decode().replace("\r", " ").replace("\n", " ")
    head = f"HTTP/1.1 {status}\r\n{REASON_HEADER}: {told}\r\nContent-Type: text/plain\r\n"
    writer.write(f"{head}Content-Length: {len(text)}\r\nConnection: close\r\n\r\n".encode() + text)
    await writer.drain()
