"""The limits of a connection, over real sockets: what is too slow, too large or one too many is ended."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agi.server.access import AccessLine
from agi.server.guard import FACTS
from agi.server.limits import DEFAULT_LIMITS, Limits, make_server

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
UPGRADE = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
KEY = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"


class House:
    """A server with an application that reads its body when asked to, and what it saw."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.lines: list[AccessLine] = []
        self.scopes: list[Any] = []
        self.received: list[Any] = []
        self.go_on = asyncio.Event()
        self.reads_at_once = True
        self.answers_first = False
        self.connections: set[Any] = set()

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            await receive()
            self.received.append(await receive())
            return
        if self.answers_first:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
            await send({"type": "http.response.body", "body": b"ha", "more_body": True})
        if scope["path"] == "/wait" or not self.reads_at_once:
            await self.go_on.wait()
        while (message := await receive())["type"] == "http.request":
            self.received.append(len(message["body"]))
            if not message["more_body"]:
                break
        else:
            self.received.append("gone")
        if not self.answers_first:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
            await send({"type": "http.response.body", "body": b"ok"})

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def say(self, *pieces: bytes) -> bytes:
        """Everything the server answers until it closes."""
        reader, writer = await self.connect()
        try:
            for piece in pieces:
                writer.write(piece)
            return await reader.read()
        finally:
            writer.close()

    async def say_slowly(self, *pieces: bytes) -> bytes:
        """The same, each piece in a packet of its own."""
        reader, writer = await self.connect()
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for piece in pieces:
                writer.write(piece)
                await asyncio.sleep(0.001)  # no more than turns of the loop: that another end has read cannot be seen
            return await reader.read()
        finally:
            writer.close()

    async def until(self, count: int) -> None:
        await eventually(lambda: len(self.connections) == count)


async def eventually(condition: Callable[[], bool]) -> None:
    for _ in range(5000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("waited for 5 seconds")


@contextlib.asynccontextmanager
async def open_house(**limits: Any) -> AsyncIterator[House]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        house = House(sock.getsockname()[1])
        short = {"header_timeout": 0.1, "body_timeout": 0.1, "linger": 0.1, **limits}
        server = make_server(house.app, sock=sock, log=house.lines.append, limits=Limits(**short))
        house.connections = server.connections
        serving = asyncio.create_task(server.serve())
        await eventually(lambda: server.started)
        try:
            yield house
        finally:
            house.go_on.set()
            serving.cancel()
            for listener in server.servers:
                listener.close()
            for connection in list(house.connections):
                connection.transport.abort()
            with contextlib.suppress(asyncio.CancelledError):
                await serving
            await asyncio.gather(*server.tasks)


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with open_house() as opened:
        yield opened


@pytest.mark.threat("T11")
async def test_half_sent_headers_are_ended_in_time(house: House) -> None:
    """A client that does not finish its headers is told so and closed, and never reaches the application."""
    began = time.monotonic()
    answer = await house.say(b"GET /slow?q=private HTTP/1.1\r\nHost: x\r\n")
    assert time.monotonic() - began < 1
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert house.scopes == []
    assert house.lines == [AccessLine("GET", "/slow", 408, 0.0, 0, "refused:timeout")]


@pytest.mark.threat("T11")
def test_ten_seconds_is_what_a_daemon_gives_headers() -> None:
    """The tests here are in a hurry; the daemon goes by these."""
    assert (DEFAULT_LIMITS.header_timeout, Limits().header_timeout) == (10.0, 10.0)
    assert DEFAULT_LIMITS.max_connections > 1000


@pytest.mark.threat("T11")
async def test_headers_that_drip_get_no_more_time(house: House) -> None:
    """The clock runs from the beginning of the request, not from the last byte."""
    reader, writer = await house.connect()
    writer.write(b"GET / HTTP/1.1\r\nX: ")
    answer = asyncio.create_task(reader.read())
    for _ in range(100):
        writer.write(b"x")
        await asyncio.sleep(0.01)
        if answer.done():
            break
    assert answer.done()
    assert answer.result().startswith(b"HTTP/1.1 408 ")
    writer.close()


async def test_a_connection_that_says_nothing_is_closed_without_a_word(house: House) -> None:
    """A browser's spare connection must not find an answer on it that it never asked for."""
    assert await house.say() == b""
    assert house.lines == []


async def test_a_kept_connection_may_rest_longer_than_headers_may_take(house: House) -> None:
    """Between two requests it may rest for longer; the headers of the next have their own time again."""
    reader, writer = await house.connect()
    for _ in range(2):
        writer.write(GET)
        await reader.readuntil(b"ok")
        await asyncio.sleep(0.15)
    writer.write(b"GET / HTTP")
    assert (await reader.read()).startswith(b"HTTP/1.1 408 ")
    writer.close()


async def test_empty_lines_between_requests_keep_no_connection_alive(house: House) -> None:
    """Bytes that begin no request stop no clock."""
    reader, writer = await house.connect()
    writer.write(GET)
    await reader.readuntil(b"ok")
    writer.write(b"\r\n")
    assert await asyncio.wait_for(reader.read(), 1) == b""
    writer.close()


@pytest.mark.parametrize(
    "headers",
    [b"X: " + b"x" * 70_000 + b"\r\n\r\n", b"X: " + b"x" * 400_000, b"X: %s\r\n" % (b"x" * 1000) * 70 + b"\r\n"],
    ids=["one", "one without end", "seventy"],
)
async def test_a_header_section_that_is_too_large_is_refused(house: House, headers: bytes) -> None:
    """64 KiB is the end, whether the section is finished or not."""
    answer = await house.say(b"GET / HTTP/1.1\r\nHost: x\r\n" + headers)
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert b'{"error":{"code":"too_large"' in answer
    assert house.scopes == []


async def test_headers_in_many_small_pieces_are_counted_all_the_same(house: House) -> None:
    """The parser keeps an unfinished header to itself, so the bytes are counted outside of it."""
    reader, writer = await house.connect()
    writer.write(b"GET / HTTP/1.1\r\nX: ")
    for _ in range(70):
        writer.write(b"x" * 1000)
        await asyncio.sleep(0)
    assert (await reader.read()).startswith(b"HTTP/1.1 431 ")
    writer.close()


async def test_more_than_a_hundred_headers_are_refused(house: House) -> None:
    """A hundred pass."""
    assert (await house.say(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 101 + b"\r\n")).startswith(b"HTTP/1.1 431 ")
    close = b"Connection: close\r\n\r\n"
    assert (await house.say(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 99 + close)).startswith(b"HTTP/1.1 200 ")


async def test_a_target_that_is_too_long_is_refused(house: House) -> None:
    """16 KiB pass, one more does not; an endless one is not waited for."""
    rest = b" HTTP/1.1\r\nConnection: close\r\n\r\n"
    assert (await house.say(b"GET /" + b"x" * 16_383 + rest)).startswith(b"HTTP/1.1 200 ")
    assert (await house.say(b"GET /" + b"x" * 16_384 + rest)).startswith(b"HTTP/1.1 414 ")
    assert (await house.say(b"GET /" + b"x" * 300_000)).startswith(b"HTTP/1.1 414 ")
    assert [len(line.path) for line in house.lines] == [501, 501]


STRANGE_METHODS = [
    b"FLAMINGO / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"get-it /v1/x?y HTTP/1.0\r\n\r\n",
    b"PROPFINE / HTTP/1.1\r\n\r\n",
    b"CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"CONNECT / HTTP/1.1\r\n\r\n",
]


@pytest.mark.parametrize("raw", STRANGE_METHODS)
async def test_a_method_that_nobody_knows_is_said_to_be_that(house: House, raw: bytes) -> None:
    """It is HTTP all the same; which ones are known is said."""
    answer = await house.say(raw)
    assert answer.startswith(b"HTTP/1.1 501 Not Implemented\r\n")
    assert b'"code":"unknown_method"' in answer
    assert b"OPTIONS are." in answer
    assert [line.how for line in house.lines] == ["refused:unknown_method"]
    assert house.scopes == []


@pytest.mark.parametrize("raw", STRANGE_METHODS)
async def test_a_strange_method_is_the_same_in_whatever_pieces_it_comes(raw: bytes) -> None:
    """Wherever its line is cut, and cut into single bytes."""
    line = raw.index(b"\n") + 1
    cuts = [(raw[:at], raw[at:]) for at in range(1, line)]
    async with open_house(header_timeout=10.0) as house:
        for pieces in (*cuts, tuple(raw[at : at + 1] for at in range(len(raw)))):
            answer = await house.say_slowly(*pieces)
            assert answer.startswith(b"HTTP/1.1 501 Not Implemented\r\n"), pieces
        assert {line.how for line in house.lines} == {"refused:unknown_method"}


async def test_a_line_that_begins_like_a_request_and_is_none_is_refused_at_its_end(house: House) -> None:
    """Or when it has become too long, or its time is up; another protocol is not waited for."""
    for pieces in (
        (b"HELO", b" example.com\r\n"),
        (b"FLAM", b"INGO"),
        (b"FLAM", b"x" * 16_384),
        (b"\x16\x03", b"\x01"),
    ):
        answer = await house.say_slowly(*pieces)
        assert answer.startswith(b"HTTP/1.1 400 "), pieces
    assert [line.how for line in house.lines] == ["refused:bad_request"] * 4


@pytest.mark.threat("T12")
@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"FLAMINGO",
        b"GE T / HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
async def test_what_is_not_http_is_refused_in_the_error_shape(house: House, raw: bytes) -> None:
    """Another protocol, an ambiguous length, a target that cannot be read: 400, logged, closed."""
    answer = await house.say(raw)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'{"error":{"code":"bad_request"' in answer
    assert b'"hint":""' not in answer
    assert [line.how for line in house.lines] == ["refused:bad_request"]
    assert house.scopes == []


async def test_too_many_trailers_and_endless_chunk_extensions_end_the_connection(house: House) -> None:
    """What surrounds a body is limited like headers are."""
    for flood in (b"0\r\n" + b"X: y\r\n" * 200, b"1;" + b"x" * 400_000):
        answer = await house.say(CHUNKED, flood)
        assert answer.startswith(b"HTTP/1.1 431 ")
        assert house.received.pop() == "gone"


async def test_a_body_that_stalls_is_ended_and_the_application_told(house: House) -> None:
    """An application that waits for the rest of a body does not wait for ever."""
    began = time.monotonic()
    assert await house.say(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf") == b""
    assert 0.09 < time.monotonic() - began < 1
    assert house.received == [4, "gone"]


async def test_a_body_that_comes_slowly_but_steadily_is_read(house: House) -> None:
    """Only silence counts as stalling."""
    reader, writer = await house.connect()
    writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n")
    for _ in range(6):
        await asyncio.sleep(0.04)
        writer.write(b"x")
    assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")
    writer.close()


async def test_an_application_that_does_not_read_is_not_the_clients_stall(house: House) -> None:
    """While reading is paused, the client cannot be blamed for its silence."""
    house.reads_at_once = False
    reader, writer = await house.connect()
    writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n" + b"x" * 5_000_000)
    await asyncio.sleep(0.25)
    house.go_on.set()
    assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")
    assert sum(house.received) == 5_000_000
    writer.close()


async def test_the_rest_of_an_unwanted_body_is_dropped_for_a_moment_only() -> None:
    """A client that uploads on after its answer gets the answer, and is then cut off."""

    async def deaf(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"no"})

    with socket.create_server(("127.0.0.1", 0)) as sock:
        server = make_server(deaf, sock=sock, log=lambda _: None, limits=Limits(linger=0.1))
        serving = asyncio.create_task(server.serve())
        reader, writer = await asyncio.open_connection(*sock.getsockname())
        writer.write(CHUNKED + b"2\r\n{}\r\n")
        assert (await reader.readuntil(b"no")).startswith(b"HTTP/1.1 404 ")
        # A cut connection ends in order or with a reset, whichever comes first.
        while not reader.at_eof() and reader.exception() is None:
            writer.write(b"2\r\n{}\r\n")
            await asyncio.sleep(0.01)
        writer.close()
        server.should_exit = True
        await serving


async def test_a_full_house_closes_the_newcomer_at_once() -> None:
    """When every connection is at work, one more is not let in, and finds room when one has left."""
    async with open_house(max_connections=2) as house:
        busy = [await house.connect() for _ in range(2)]
        for _, writer in busy:
            writer.write(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        await eventually(lambda: len(house.scopes) == 2)
        assert await house.say(GET) == b""
        house.go_on.set()
        for reader, writer in busy:
            await reader.readuntil(b"ok")
            writer.close()
        await house.until(0)
        assert (await house.say(GET.replace(b"Host", b"Connection: close\r\nHost"))).endswith(b"ok")


async def test_in_a_full_house_the_silent_make_room_oldest_first() -> None:
    """Connections that have asked for nothing do not keep others out."""
    async with open_house(max_connections=2, header_timeout=5) as house:
        first, second = await house.connect(), await house.connect()
        await house.until(2)
        reader, writer = await house.connect()
        writer.write(GET)
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")
        assert await first[0].read() == b""
        second[1].write(GET)
        assert (await second[0].readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")
        for opened in (first[1], second[1], writer):
            opened.close()


async def test_in_a_full_house_those_at_rest_make_room() -> None:
    """Who was answered and asks for nothing more can ask again over another connection."""
    async with open_house(max_connections=2) as house:
        first, second = await house.connect(), await house.connect()
        for reader, writer in (first, second):
            writer.write(GET)
            await reader.readuntil(b"ok")
        second[1].write(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        await eventually(lambda: len(house.scopes) == 3)
        third = await house.connect()
        third[1].write(GET.replace(b"/ ", b"/wait "))
        await eventually(lambda: len(house.scopes) == 4)
        assert await first[0].read() == b""
        fourth = await house.connect()
        assert await fourth[0].read() == b""  # the others are at work
        house.go_on.set()
        for reader, writer in (second, third):
            await reader.readuntil(b"ok")
            writer.close()
        first[1].close()
        fourth[1].close()


@pytest.mark.threat("T11")
async def test_in_a_full_house_those_who_do_not_read_make_room() -> None:
    """Whoever asks for much and takes nothing holds no place for ever; whoever answers it hears that it has gone."""
    gone = asyncio.Event()

    async def much(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
            await send({"type": "http.response.body", "body": b"ok"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while (await connected(receive)) is None:
            await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})
        gone.set()

    async def connected(receive: Any) -> Any:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.001):
                while (message := await receive())["type"] != "http.disconnect":
                    pass
                return message
        return None

    with socket.create_server(("127.0.0.1", 0)) as sock, socket.socket() as deaf:
        server = make_server(much, sock=sock, log=lambda _: None, limits=Limits(max_connections=1))
        serving = asyncio.create_task(server.serve())
        await eventually(lambda: server.started)
        deaf.setblocking(False)
        await asyncio.get_running_loop().sock_connect(deaf, sock.getsockname())
        deaf.send(b"GET /much HTTP/1.1\r\nHost: x\r\n\r\n")
        await eventually(lambda: any(one.flow.write_paused for one in server.connections))
        reader, writer = await asyncio.open_connection(*sock.getsockname())
        writer.write(GET)
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")
        await asyncio.wait_for(gone.wait(), 5)
        writer.close()
        server.should_exit = True
        await serving


@pytest.mark.threat("T11")
async def test_a_client_that_does_not_read_is_not_taken_for_another_after_its_handshake(house: House) -> None:
    """What it has left of earlier answers still counts when it goes on as a WebSocket."""
    reader, writer = await house.connect()
    writer.write(GET)
    await reader.readuntil(b"ok")
    (before,) = house.connections
    before.pause_writing()
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n" + UPGRADE + KEY + b"\r\n")
    await eventually(lambda: len(house.scopes) == 2)
    (talk,) = house.connections
    assert not talk.writable.is_set()
    talk.resume_writing()
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
    writer.close()
    await house.until(0)


@pytest.mark.threat("T11")
@pytest.mark.parametrize("how", ["the talk is over", "it shows no life"])
async def test_the_end_of_a_websocket_does_not_wait_for_one_who_does_not_read(house: House, how: str) -> None:
    """What is left for it is dropped after a moment, and with it the connection."""
    reader, writer = await house.connect()
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n" + UPGRADE + KEY + b"\r\n")
    await reader.readuntil(b"\r\n\r\n")
    writer.transport.pause_reading()
    (talk,) = house.connections
    talk.close_timeout = 0.01
    talk.transport.write(bytes(20_000_000))
    if how == "it shows no life":
        talk.keepalive_timeout()
    else:
        writer.write(b"\x81\x82mask" + bytes(a ^ b for a, b in zip(b"hi", b"ma", strict=True)))
    await house.until(0)
    writer.close()


@pytest.mark.parametrize("ends", [True, False])
async def test_after_the_end_of_a_websocket_nobody_listens(ends: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever still speaks hears so as if the client had gone, and a refused handshake is nothing to report."""
    heard: list[Exception] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if ends:
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.close", "code": 4401})
        else:
            await send({"type": "websocket.http.response.start", "status": 403, "headers": []})
            await send({"type": "websocket.http.response.body", "body": b"no"})
        try:
            await send({"type": "websocket.send", "text": "still here"})
        except OSError as error:
            heard.append(error)

    with socket.create_server(("127.0.0.1", 0)) as sock:
        server = make_server(app, sock=sock, log=lambda _: None)
        serving = asyncio.create_task(server.serve())
        reader, writer = await asyncio.open_connection(*sock.getsockname())
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n" + UPGRADE + KEY + b"\r\n")
        told = await reader.readuntil(b"\x11\x31" if ends else b"no")
        await eventually(lambda: not server.tasks)
        writer.close()
        server.should_exit = True
        await serving
    assert told.startswith(b"HTTP/1.1 101 " if ends else b"HTTP/1.1 403 ")
    assert len(heard) == 1
    assert caplog.records == []


@pytest.mark.threat("T11")
async def test_pings_of_a_client_that_does_not_read_are_not_answered(house: House) -> None:
    """The answers would pile up here, before anybody has proved anything."""
    reader, writer = await house.connect()
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n" + UPGRADE + KEY + b"\r\n")
    await reader.readuntil(b"\r\n\r\n")
    (talk,) = house.connections
    talk.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    for _ in range(20000):  # all before the client can read
        talk.data_received(b"\x89\xfd" + bytes(129))
    assert talk.transport.get_write_buffer_size() < 1 << 18
    writer.close()
    await house.until(0)


async def test_a_flood_of_requests_on_one_connection_is_cut(house: House) -> None:
    """A few may queue behind the one being answered; thousands in one packet would each take memory."""
    assert (await house.say(GET * 16 + GET.replace(b"Host", b"Connection: close\r\nHost"))).count(b"200 OK") == 17
    house.scopes.clear()
    with contextlib.suppress(ConnectionError):
        await house.say(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n" + GET * 5000)
    assert len(house.scopes) == 1
    assert [line.how for line in house.lines] == ["refused:too_many_requests"]


async def test_garbage_behind_a_request_that_is_being_answered_is_not_answered_into_it(house: House) -> None:
    """A second answer in the middle of the first would be read as part of it."""
    house.answers_first = True
    house.reads_at_once = False
    reader, writer = await house.connect()
    writer.write(GET + b"\x00garbage\r\n\r\n")
    received = b""
    with contextlib.suppress(ConnectionError):
        received = await reader.read()
    assert b"400" not in received
    writer.close()


@pytest.mark.threat("T11")
@pytest.mark.parametrize("first", [b"/wait", b"/"])
async def test_a_body_that_is_none_is_not_answered_before_the_request_it_waits_behind(first: bytes) -> None:
    """Its refusal would be taken for the answer of the earlier request, or for a part of it."""
    async with open_house() as house:
        house.answers_first = first == b"/"
        house.reads_at_once = False
        head = b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % first
        told = b""
        with contextlib.suppress(ConnectionError):
            told = await house.say(head + CHUNKED + b"no length\r\n")
        house.go_on.set()
        await house.until(0)
        await eventually(lambda: house.received == ["gone"])
    assert b"HTTP/1.1 400" not in told
    assert [scope["path"] for scope in house.scopes] == [first.decode()]
    assert [(line.path, line.status) for line in house.lines] == [("/", 400)]


@pytest.mark.parametrize("version", [b"HTTP/0.9", b"HTTP/2.0", b"HTTP/1.2"])
async def test_other_versions_are_not_spoken(house: House, version: bytes) -> None:
    """What a later or an earlier one means by the same words is not known here."""
    assert (await house.say(GET.replace(b"HTTP/1.1", version))).startswith(b"HTTP/1.1 400 ")
    assert house.scopes == []


async def test_a_client_that_is_not_read_is_not_too_slow(house: House) -> None:
    """The rest of its headers may be on the line, while earlier requests are answered."""
    reader, writer = await house.connect()
    writer.write(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n" + GET + GET[:-2])
    await eventually(lambda: len(house.scopes) == 1)
    await asyncio.sleep(0.15)
    writer.write(b"Connection: close\r\n\r\n")
    house.go_on.set()
    assert (await reader.read()).count(b"HTTP/1.1 200 ") == 3
    writer.close()


async def test_an_upgrade_to_something_else_is_answered_plainly_and_closed(house: House) -> None:
    """The parser reads nothing more after an upgrade, so the connection ends with the answer."""
    answer = await house.say(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close" in answer


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\nSec-WebSocket-Key: short\r\n",
        b"GET / HTTP/1.1\r\n" + KEY + KEY,
        b"GET / HTTP/1.1\r\nSec-WebSocket-Version: 8\r\n" + KEY,
        b"POST / HTTP/1.1\r\n" + KEY,
        b"GET / HTTP/1.0\r\n" + KEY,
    ],
    ids=["no key", "short key", "two keys", "two versions", "post", "of old"],
)
async def test_a_malformed_handshake_is_a_plain_request(house: House, head: bytes) -> None:
    """So it passes the guard like any other, and the connection ends with the answer."""
    answer = await house.say(head + b"Host: x\r\n" + UPGRADE + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert [scope["type"] for scope in house.scopes] == ["http"]
    await house.until(0)


@pytest.mark.parametrize("line", [b"X: " + b"x" * 20_000, b"Upgrade: websocket"], ids=["long line", "two upgrades"])
async def test_a_handshake_the_websocket_library_cannot_take_is_refused_and_forgotten(
    house: House, line: bytes
) -> None:
    """Its own parser is stricter, and would hold the connection for ever."""
    answer = await house.say(b"GET / HTTP/1.1\r\nHost: x\r\n" + line + b"\r\n" + UPGRADE + KEY + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 4")
    assert [line.how for line in house.lines] == ["refused:bad_request"]
    assert house.scopes == []
    await house.until(0)


@pytest.mark.threat("T11")
async def test_a_websocket_message_that_is_too_large_closes_with_1009() -> None:
    """The announced length is enough to refuse it; nothing of it is kept."""
    async with open_house(max_ws_message=1000) as house:
        reader, writer = await house.connect()
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n" + UPGRADE + KEY + b"\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
        writer.write(b"\x82\xfe" + (1001).to_bytes(2, "big") + b"mask" + b"x" * 1001)
        frame = await reader.read()
        assert (frame[0], int.from_bytes(frame[2:4], "big")) == (0x88, 1009)
        writer.close()
        await house.until(0)


async def test_a_websocket_outlives_the_time_for_headers(house: House) -> None:
    """The handshake was in time; the conversation has no end."""
    reader, writer = await house.connect()
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n" + UPGRADE + KEY + b"\r\n")
    await reader.readuntil(b"\r\n\r\n")
    await asyncio.sleep(0.15)
    writer.write(b"\x81\x82mask" + bytes(a ^ b for a, b in zip(b"hi", b"ma", strict=True)))
    await eventually(lambda: bool(house.received))
    assert house.received[0]["text"] == "hi"
    writer.close()


async def test_the_facts_of_the_connection_are_in_the_scope(house: House) -> None:
    """HTTP and WebSocket scopes tell the same; without a check of peers nobody is the same user."""
    await house.say(b"GET http://evil.example/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    reader, writer = await house.connect()
    writer.write(b"GET /b HTTP/1.1\r\nHost: x\r\n" + UPGRADE + KEY + b"\r\n")
    await reader.readuntil(b"\r\n\r\n")
    writer.close()
    facts = [scope["extensions"][FACTS] for scope in house.scopes]
    assert [(fact["absolute"], fact["peer"].is_outside()) for fact in facts] == [(True, False), (False, False)]


async def test_a_client_cannot_choose_the_address_it_comes_from(house: House) -> None:
    """Headers of a proxy are not believed."""
    await house.say(GET.replace(b"Host", b"Connection: close\r\nX-Forwarded-For: 1.2.3.4\r\nHost"))
    assert house.scopes[0]["client"][0] == "127.0.0.1"


def test_making_a_server_configures_no_logging() -> None:
    """Handlers are the daemon's business."""
    before = list(logging.getLogger().handlers)
    with socket.create_server(("127.0.0.1", 0)) as sock:
        server = make_server(House.app, sock=sock, log=lambda _: None)  # type: ignore[arg-type]
    assert logging.getLogger().handlers == before
    assert (server.keep_alive_s, server.grace_s) == (75, 5)


DAEMON = """
import asyncio, resource, socket, sys
from agi.server.guard import Guard, GuardSettings
from agi.server.limits import make_server
from agi.server.peer import PeerCheck

async def app(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
sock = socket.create_server(("127.0.0.1", 0), backlog=2048)
port = sock.getsockname()[1]
settings = GuardSettings(token="x" * 32, port=port, max_body=int(sys.argv[1]))
guard = Guard(app, settings, log=lambda line: None, on_error=lambda error: None)
print(port, flush=True)
asyncio.run(make_server(guard, sock=sock, log=lambda line: None, peers=PeerCheck()).serve())
"""


@contextlib.contextmanager
def daemon(max_body: int = 32 * 1024 * 1024) -> Iterator[tuple[int, int]]:
    """A guarded server in a process of its own, with default limits: its pid and port."""
    with subprocess.Popen([sys.executable, "-c", DAEMON, str(max_body)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield process.pid, int(process.stdout.readline())
        finally:
            process.kill()


def memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def upload(port: int, head: str, chunks: int, chunk: bytes, end: bytes = b"") -> bytes:
    """Send as much as the server takes, then read what it answered."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as sock:
        host = f"POST / HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Type: application/json\r\n"
        sock.sendall(f"{host}{head}\r\n\r\n".encode())
        with contextlib.suppress(ConnectionError):
            for _ in range(chunks):
                sock.sendall(chunk)
            sock.sendall(end)
        return sock.recv(65536)


@pytest.mark.threat("T11")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("how", ["announced", "chunked", "read to the end"])
def test_a_stream_of_300_mb_takes_no_memory(how: str) -> None:
    """Refused at once, cut on the way or read by the application: the guard and the protocol keep none of it."""
    megabyte = b"x" * 1_000_000
    with daemon(10**9 if how == "read to the end" else 32 * 1024 * 1024) as (pid, port):
        assert upload(port, "Content-Length: 2", 1, b"{}").startswith(b"HTTP/1.1 200 ")
        before = memory_mb(pid)
        if how == "chunked":
            framed = b"%x\r\n%s\r\n" % (len(megabyte), megabyte)
            answer = upload(port, "Transfer-Encoding: chunked", 300, framed, b"0\r\n\r\n")
        else:
            answer = upload(port, "Content-Length: 300000000", 300, megabyte)
        assert answer.startswith(b"HTTP/1.1 200 " if how == "read to the end" else b"HTTP/1.1 413 ")
        assert memory_mb(pid) - before < 20


@pytest.mark.threat("T11")
@pytest.mark.skipif(sys.platform != "linux", reason="needs many open files, and /proc")
def test_a_thousand_idle_connections_leave_the_daemon_answering() -> None:
    """Health answers newcomers in less than 100 ms while a thousand sockets say nothing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2500:
        pytest.skip(f"only {hard} open files are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2500), hard))
    with daemon() as (_, port), contextlib.ExitStack() as idle:
        for _ in range(1000):
            idle.enter_context(socket.create_connection(("127.0.0.1", port)))
        times = sorted(seconds_for_health(port) for _ in range(100))
    assert times[98] < 0.1
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def seconds_for_health(port: int) -> float:
    began = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
        sock.sendall(f"GET /healthz HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
        assert sock.recv(65536).startswith(b"HTTP/1.1 200 ")
    return time.perf_counter() - began


@pytest.mark.parametrize(("soft", "hard", "room", "raised"), [(1024, 4096, 3072, 4096), (1024, 1024, 524, 1024)])
def test_as_many_connections_fit_as_the_system_grants_files(soft: int, hard: int, room: int, raised: int) -> None:
    """A daemon asks for more where it may have it, and leaves room for its own files; in a process of its own."""
    code = (
        "import resource as r; from agi.server.limits import room_for_connections as room;"
        f"r.setrlimit(r.RLIMIT_NOFILE, ({soft}, {hard})); print(room(4000), r.getrlimit(r.RLIMIT_NOFILE)[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == [str(room), str(raised)]
