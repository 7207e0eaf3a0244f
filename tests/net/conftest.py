"""Scripted peers for the wire: real sockets on loopback, whose every byte a test decides. On both event loops."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

import pytest
import uvloop

from agi.net.http import HttpClient, Timeouts


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


class Peer:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def request(self) -> bytes:
        """One whole request, head and body; nothing when the client is gone."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name == b"content-length":
                return head + await self.reader.readexactly(int(value))
        return head

    async def send(self, *pieces: bytes) -> None:
        """Each piece in a segment of its own, as far as the kernel lets us say so."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            await asyncio.sleep(0.001)

    async def answer(self, body: bytes = b"ok", status: bytes = b"200 OK", extra: bytes = b"") -> None:
        """A plain response of known length."""
        await self.send(b"HTTP/1.1 %s\r\ncontent-length: %d\r\n%s\r\n%s" % (status, len(body), extra, body))

    async def answer_all(self) -> None:
        """Answer request after request, until the client goes."""
        while await self.request():
            await self.answer()

    async def gone(self) -> None:
        """Wait until the client has closed the connection."""
        try:
            while await self.reader.read(65536):
                pass
        except ConnectionError:
            pass

    def reset(self) -> None:
        """Break the connection rudely."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Script = Callable[[Peer], Awaitable[None]]


class Server:
    """A listening socket; `peers` are the connections it was given, in order."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None) -> None:
        self._script = script
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self.peers: list[Peer] = []
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = Peer(reader, writer)
        self.peers.append(peer)
        self._tasks.add(asyncio.ensure_future(self._run(peer)))

    async def _run(self, peer: Peer) -> None:
        try:
            await self._script(peer)
        finally:
            peer.writer.close()

    def close(self) -> None:
        """Take no further connection."""
        self._server.close()

    async def finished(self) -> None:
        """Wait for every script begun so far, and fail if one of them did."""
        await asyncio.gather(*self._tasks)

    async def ended(self, count: int) -> None:
        """Wait until so many of the scripts are over."""
        for task in islice(asyncio.as_completed(self._tasks), count):
            await task

    async def stop(self) -> None:
        self.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for peer in self.peers:
            with suppress(AttributeError):  # what asyncio raises for a transport that is gone already
                peer.writer.transport.abort()
        await asyncio.sleep(0)


class Servers:
    """Starts scripted servers; the script runs once a connection."""

    def __init__(self) -> None:
        self.started: list[Server] = []

    async def __call__(self, script: Script, tls: ssl.SSLContext | None = None) -> Server:
        server = Server(script, tls)
        await server.start()
        self.started.append(server)
        return server

    async def saying(self, *pieces: bytes, then: str = "close") -> Server:
        """A server that reads one request, sends these pieces, then closes, resets or stays until the client goes."""

        async def script(peer: Peer) -> None:
            await peer.request()
            await peer.send(*pieces)
            if then == "reset":
                peer.reset()
            elif then == "stay":
                await peer.gone()

        return await self(script)

    async def answering(self, tls: ssl.SSLContext | None = None) -> Server:
        """A server that answers every request with `ok`, for as long as it is asked."""
        return await self(Peer.answer_all, tls)


@pytest.fixture
async def serve() -> AsyncIterator[Servers]:
    """`await serve(script)` and its ready-made scripts."""
    servers = Servers()
    yield servers
    for server in servers.started:
        await server.stop()


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    """A client whose limits fail a test sooner than the test's own."""
    async with HttpClient(timeouts=Timeouts(connect=5, first_byte=5, idle=5)) as client:
        yield client


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a private authority (ca.pem) and a certificate it signed (server.pem, server.key)."""
    folder = tmp_path_factory.mktemp("certificates")
    make = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    authority = ["-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=a private authority"]
    authority += ["-addext", "keyUsage=critical,keyCertSign,cRLSign"]
    server = [
        "-keyout",
        "server.key",
        "-out",
        "server.pem",
        "-subj",
        "/CN=a server",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
    ]
    server += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:api.example.test"]
    server += ["-addext", "basicConstraints=critical,CA:FALSE", "-addext", "extendedKeyUsage=serverAuth"]
    for options in (authority, server):
        subprocess.run([*make, *options], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def server_tls(certificates: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    return context


@pytest.fixture
def ca_file(certificates: Path) -> str:
    return str(certificates / "ca.pem")
