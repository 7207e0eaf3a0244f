"""One connection: losses, limits, cancellation and flow control."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import TYPE_CHECKING

import pytest

from agi.net.http import HttpClient, NetError, Timeouts

if TYPE_CHECKING:
    from conftest import Peer, Servers

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"


async def failure(response: Awaitable[object]) -> NetError:
    with pytest.raises(NetError) as caught:
        await response
    assert caught.value.message
    return caught.value


async def collect(chunks: AsyncIterator[bytes], into: list[bytes]) -> None:
    async for chunk in chunks:
        into.append(chunk)


async def read(client: HttpClient, url: str) -> bytes:
    return await (await client.request("GET", url)).read()


@pytest.mark.parametrize(
    "pieces", [[CHUNKED + b"5\r\nhel"], [HEAD + b"content-length: 5\r\n\r\nhel"], [CHUNKED + b"3\r\nhel\r\n"]]
)
@pytest.mark.parametrize("then", ["close", "reset"])
async def test_an_answer_that_ends_too_early_is_an_error(
    client: HttpClient, serve: Servers, pieces: list[bytes], then: str
) -> None:
    """What had arrived is handed on, then the loss is told; it never looks like the end."""
    server = await serve.saying(*pieces, then=then)
    response = await client.request("GET", server.url)
    chunks = response.chunks()
    assert await anext(chunks) == b"hel"
    error = await failure(anext(chunks))
    assert (error.code, error.sent) == ("connection_lost", True)
    assert f"127.0.0.1:{server.port}" in error.message


async def test_a_body_without_a_length_that_is_reset_is_an_error(client: HttpClient, serve: Servers) -> None:
    """Only an orderly end is an end."""
    server = await serve.saying(HEAD + b"\r\nhel", then="reset")
    response = await client.request("GET", server.url)
    assert (await failure(response.read())).code == "connection_lost"


async def test_a_server_that_closes_without_a_word_is_an_error(client: HttpClient, serve: Servers) -> None:
    """On a fresh connection there is nobody else to blame."""
    server = await serve.saying()
    assert (await failure(client.request("GET", server.url))).code == "connection_lost"


async def test_a_server_that_never_answers_runs_into_the_first_byte_limit(client: HttpClient, serve: Servers) -> None:
    """Headers that trickle in do not move the limit."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(HEAD)
        for _ in range(1000):
            await peer.send(b"x: y\r\n")

    server = await serve(script)
    error = await failure(client.request("GET", server.url, timeouts=Timeouts(first_byte=0.02)))
    assert (error.code, error.sent) == ("first_byte_timeout", True)
    assert error.hint


async def test_a_server_that_falls_silent_runs_into_the_idle_limit(client: HttpClient, serve: Servers) -> None:
    """The limit is counted from each piece anew, and the connection is closed."""
    pieces = [b"1\r\na\r\n"] * 60
    server = await serve.saying(CHUNKED, *pieces, then="stay")
    response = await client.request("GET", server.url, timeouts=Timeouts(first_byte=5, idle=0.05))
    heard: list[bytes] = []
    error = await asyncio.wait_for(failure(collect(response.chunks(), heard)), 2)
    assert (b"".join(heard), error.code) == (b"a" * 60, "idle_timeout")
    await server.finished()


async def test_a_slow_reader_is_not_taken_for_a_silent_server(client: HttpClient, serve: Servers) -> None:
    """Only time spent waiting counts."""
    go_on = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(CHUNKED + b"1\r\na\r\n")
        await go_on.wait()
        await peer.send(b"1\r\nb\r\n0\r\n\r\n")

    server = await serve(script)
    chunks = (await client.request("GET", server.url, timeouts=Timeouts(idle=0.05))).chunks()
    assert await anext(chunks) == b"a"
    await asyncio.sleep(0.06)
    go_on.set()
    assert await anext(chunks) == b"b"


async def test_giant_headers_are_refused(client: HttpClient, serve: Servers) -> None:
    """The limit is 64 KiB, and the connection is closed at once."""
    server = await serve.saying(HEAD, *[b"x: " + b"a" * 8000 + b"\r\n"] * 20, then="stay")
    error = await failure(client.request("GET", server.url))
    assert error.code == "bad_response"


async def test_something_that_is_no_http_server_is_named_as_such(client: HttpClient, serve: Servers) -> None:
    """The message says which host and port to look at."""
    server = await serve.saying(b"220 mail.example ESMTP\r\n")
    error = await failure(client.request("GET", server.url + "/?key=secret"))
    assert error.code == "bad_response"
    assert f"127.0.0.1:{server.port}" in error.message
    assert "secret" not in error.message + error.hint


@pytest.mark.parametrize("pieces", [[], [CHUNKED + b"1\r\na\r\n"]])
async def test_a_cancelled_task_takes_its_connection_along(
    client: HttpClient, serve: Servers, pieces: list[bytes]
) -> None:
    """Before the headers and in the middle of the body, the server learns at once that nobody listens."""
    waiting = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(*pieces)
        waiting.set()
        await peer.gone()

    server = await serve(script)
    task = asyncio.create_task(read(client, server.url))
    await waiting.wait()
    await asyncio.sleep(0.002)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.finished()


async def test_a_body_given_up_by_a_deadline_never_looks_complete(client: HttpClient, serve: Servers) -> None:
    """A reader that goes on after a cancelled wait is told of the loss, even where the body has no length."""
    server = await serve.saying(HEAD + b"\r\nhel", then="stay")
    response = await client.request("GET", server.url)
    connection = response._open()
    assert await connection.next_chunk(5) == b"hel"
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(connection.next_chunk(5), 0.005)
    await server.finished()
    assert (await failure(connection.next_chunk(5))).code == "connection_lost"


async def test_a_reader_that_stops_makes_the_server_wait(client: HttpClient, serve: Servers) -> None:
    """Bytes are not piled up here: the rest stays with the server until it is wanted."""
    piece = b"a" * 65536
    total = 512
    sent = 0

    async def script(peer: Peer) -> None:
        nonlocal sent
        await peer.request()
        peer.writer.write(HEAD + b"content-length: %d\r\n\r\n" % (len(piece) * total))
        for _ in range(total):
            peer.writer.write(piece)
            await peer.writer.drain()
            sent += 1

    server = await serve(script)
    response = await client.request("GET", server.url)
    before = -1
    while sent != before:
        before = sent
        await asyncio.sleep(0.01)
    assert sent < total
    assert sum([len(chunk) async for chunk in response.chunks()]) == len(piece) * total
