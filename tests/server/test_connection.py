"""HTTP/1.1 over real sockets: requests in their order, answers as long as they say, ends when they should be."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agi.server.connection import Connection
from agi.server.exchange import Clock, status_line
from agi.server.host import Server

HOST = b"Host: x\r\n\r\n"


class Bare(Connection):
    """One without any limit."""

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)


@contextlib.asynccontextmanager
async def serving(app: Any) -> AsyncIterator[tuple[Server, Callable[..., Any]]]:
    """A server of bare connections, and how to say something to it and hear all until it closes."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        server = Server(app, sock, Bare)
        listening = asyncio.Event()
        server.on_started = listening.set
        running = asyncio.create_task(server.serve())
        await listening.wait()

        async def say(raw: bytes) -> bytes:
            reader, writer = await asyncio.open_connection(*sock.getsockname())
            writer.write(raw)
            try:
                return await reader.read()
            finally:
                writer.close()

        yield server, say
        server.should_exit = True
        await running


def answers(*messages: dict[str, Any]) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        for message in messages:
            await send(message)

    return app


def start(status: int = 200, *headers: tuple[bytes, bytes]) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": headers}


def body(text: bytes, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": text, "more_body": more}


CLOSE = (b"connection", b"close")


async def test_requests_sent_at_once_are_answered_in_their_order() -> None:
    """The second waits until the first is out, however long that takes."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.01 if scope["path"] == "/a" else 0)
        await send(start(200, (b"content-length", b"2")))
        await send(body(scope["path"].encode()))

    async with serving(app) as (_, say):
        said = await say(b"GET /a HTTP/1.1\r\n" + HOST + b"GET /b HTTP/1.1\r\nConnection: close\r\n" + HOST)
    assert said.index(b"/a") < said.index(b"/b")
    assert said.count(b"HTTP/1.1 200 OK\r\ndate: ") == 2


@pytest.mark.parametrize(
    ("method", "messages", "end"),
    [
        ("GET", (start(200, CLOSE), body(b"he", True), body(b"", True), body(b"y")), b"2\r\nhe\r\n1\r\ny\r\n0\r\n\r\n"),
        ("GET", (start(200, CLOSE, (b"Content-Length", b"3")), body(b"hey")), b"content-length: 3\r\n\r\nhey"),
        ("GET", (start(204, CLOSE), body(b"")), b"connection: close\r\n\r\n"),
        ("HEAD", (start(200, CLOSE, (b"content-length", b"3")), body(b"hey")), b"content-length: 3\r\n\r\n"),
    ],
)
async def test_an_answer_is_framed_as_it_is_known(method: str, messages: Any, end: bytes) -> None:
    """Its length where that is said, pieces where it is not, nothing where there is nothing."""
    async with serving(answers(*messages)) as (_, say):
        said = await say(f"{method} / HTTP/1.1\r\n".encode() + HOST)
    assert said.endswith(end)
    assert (b"transfer-encoding" in said) == (b"0\r\n\r\n" in end)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ((), b"HTTP/1.1 500 "),
        ((body(b"x"),), b"HTTP/1.1 500 "),
        ((start(200, (b"x", b"a\r\nset-cookie: b")),), b"HTTP/1.1 500 "),
        ((start(200, (b"content-length", b"1")), body(b"xyz")), b"\r\n\r\n"),
        ((start(200, (b"content-length", b"9")), body(b"xyz")), b"\r\n\r\n"),
        ((start(200), start(200)), b"\r\n\r\n"),
    ],
)
async def test_what_an_application_gets_wrong_ends_the_connection(messages: Any, expected: bytes) -> None:
    """Before the answer began it is told, afterwards nothing is made up; a header never becomes two."""
    told: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
    async with serving(answers(*messages)) as (_, say):
        said = await say(b"GET / HTTP/1.1\r\n" + HOST)
    assert len(told) == 1
    assert b"set-cookie" not in said
    assert said.startswith(expected) or said.endswith(expected)


async def test_a_client_that_asks_before_it_sends_is_told_to_go_on_once_it_is_read() -> None:
    """Nobody reads a body that nobody wants."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        got = (await receive())["body"] if scope["path"] == "/read" else b""
        await send(start(200, CLOSE))
        await send(body(got))

    head = b" HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n" + HOST + b"ok"
    async with serving(app) as (_, say):
        read, unread = await say(b"POST /read" + head), await say(b"POST /no" + head)
    assert read.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert unread.startswith(b"HTTP/1.1 200 OK\r\n")


async def test_a_client_of_old_gets_one_answer_and_an_end() -> None:
    """HTTP/1.0 keeps no connection."""
    async with serving(answers(start(200, (b"content-length", b"0")), body(b""))) as (_, say):
        assert b"connection: close\r\n" in await say(b"GET / HTTP/1.0\r\n" + HOST)


async def test_a_client_of_old_is_told_nothing_it_cannot_read() -> None:
    """Neither to go on, nor pieces: what does not say its length lasts until the end of the connection."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send(start())
        await send(body(b"on ", more=True))
        await send(body(b"and on"))

    async with serving(app) as (_, say):
        said = await say(b"POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n" + HOST + b"ok")
    assert said.startswith(b"HTTP/1.1 200 OK\r\n")
    assert said.endswith(b"connection: close\r\n\r\non and on")


async def test_what_goes_wrong_after_an_answer_takes_no_other_away() -> None:
    """The connection is the next request's by then."""
    failed = asyncio.Event()
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: failed.set())

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/b":
            await failed.wait()
        await send(start(200, (b"content-length", b"2")))
        await send(body(scope["path"].encode()))
        if scope["path"] == "/a":
            raise RuntimeError("too late")

    async with serving(app) as (_, say):
        said = await say(b"GET /a HTTP/1.1\r\n" + HOST + b"GET /b HTTP/1.1\r\nConnection: close\r\n" + HOST)
    assert said.endswith(b"/b")


async def test_a_connection_that_rests_too_long_is_closed() -> None:
    """Between two requests."""
    async with serving(answers(start(200, (b"content-length", b"0")), body(b""))) as (server, say):
        server.keep_alive_s = 0.01
        assert (await say(b"GET / HTTP/1.1\r\n" + HOST)).count(b"HTTP/1.1 200") == 1


async def test_an_answer_that_is_under_way_is_finished_before_the_end() -> None:
    """Stopping waits for it, and for nothing else."""
    reached = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        reached.set()
        await asyncio.sleep(0.03)
        await send(start(200, (b"content-length", b"2")))
        await send(body(b"ok"))

    async with serving(app) as (server, say):
        said = asyncio.create_task(say(b"GET / HTTP/1.1\r\n" + HOST))
        await reached.wait()
        server.should_exit = True
    assert (await said).endswith(b"\r\n\r\nok")


async def test_whoever_is_being_answered_hears_that_the_client_has_gone_though_others_wait() -> None:
    """A stream with a request behind it ends with its connection, and the one behind it never begins."""
    begun: list[str] = []
    over = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        begun.append(scope["path"])
        await send(start())
        await send(body(b"once", more=True))
        while (await receive())["type"] != "http.disconnect":
            pass
        await send(body(b"for nobody"))
        over.set()

    async with serving(app) as (server, _):
        reader, writer = await asyncio.open_connection(*server.sock.getsockname())
        writer.write(b"GET /a HTTP/1.1\r\n" + HOST + b"GET /b HTTP/1.1\r\n" + HOST)
        await reader.readuntil(b"once")
        (connection,) = server.connections
        connection.transport.abort()
        await asyncio.wait_for(over.wait(), 5)
        writer.close()
    assert begun == ["/a"]
    assert not server.tasks


async def test_who_does_not_end_in_time_is_ended() -> None:
    """An application that waits for ever holds nobody up."""
    reached, ended = asyncio.Event(), asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with serving(app) as (server, say):
        server.grace_s = 0.02
        said = asyncio.create_task(say(b"GET / HTTP/1.1\r\n" + HOST))
        await reached.wait()
    await asyncio.wait_for(ended.wait(), 5)
    assert (await said).startswith(b"HTTP/1.1 500 ")


def test_the_date_is_told_as_http_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of the standard."""
    monkeypatch.setattr(time, "time", lambda: 784111777.9)
    assert Clock().date() == b"Sun, 06 Nov 1994 08:49:37 GMT"


def test_a_status_without_a_name_is_a_status() -> None:
    """Its name is for people only."""
    assert (status_line(404), status_line(299)) == (b"HTTP/1.1 404 Not Found\r\n", b"HTTP/1.1 299 \r\n")
