"""Connections are kept where that is safe, and replaced where that is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING

import pytest

from agi.errors import Unavailable
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


async def read(client: HttpClient, url: str) -> bytes:
    return await (await client.request("GET", url)).read()


async def test_a_connection_serves_again_once_its_response_was_read(client: HttpClient, serve: Servers) -> None:
    """One connection carries request after request."""
    server = await serve.answering()
    assert [await read(client, server.url) for _ in range(3)] == [b"ok"] * 3
    assert len(server.peers) == 1


async def test_a_head_request_leaves_the_connection_usable(client: HttpClient, serve: Servers) -> None:
    """The length it tells is not waited for."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(HEAD + b"content-length: 5\r\n\r\n")
        await peer.answer_all()

    server = await serve(script)
    async with await client.request("HEAD", server.url) as response:
        assert (response.headers["content-length"], await response.read()) == ("5", b"")
    assert await read(client, server.url) == b"ok"
    assert len(server.peers) == 1


async def test_a_response_left_unread_closes_its_connection(client: HttpClient, serve: Servers) -> None:
    """What was not read must not become the next answer."""
    server = await serve.saying(CHUNKED + b"3\r\none\r\n", then="stay")
    async with await client.request("GET", server.url):
        pass
    await server.finished()


async def test_a_response_that_has_fully_arrived_keeps_its_connection_even_unread(
    client: HttpClient, serve: Servers
) -> None:
    """Who stops at the end of the data, before the end of the framing, does not pay for it."""
    server = await serve.answering()
    async with await client.request("GET", server.url) as response:
        assert response.status == 200
    assert await read(client, server.url) == b"ok"
    assert len(server.peers) == 1


async def test_a_server_that_says_close_is_not_asked_again_on_that_connection(
    client: HttpClient, serve: Servers
) -> None:
    """Keep-alive is the server's to grant."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer(extra=b"connection: close\r\n")
        await peer.gone()

    server = await serve(script)
    assert [await read(client, server.url) for _ in range(2)] == [b"ok"] * 2
    assert len(server.peers) == 2


async def test_an_idle_connection_the_server_closed_is_replaced_once(client: HttpClient, serve: Servers) -> None:
    """The request is answered on a fresh connection, and the caller notices nothing."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer()
        if len(server.peers) == 1:
            await peer.request()  # the second request comes, and is answered by a reset
            peer.reset()

    server = await serve(script)
    assert [await read(client, server.url) for _ in range(2)] == [b"ok"] * 2
    assert len(server.peers) == 2


async def test_a_fresh_connection_that_breaks_is_not_tried_again(client: HttpClient, serve: Servers) -> None:
    """The server may have acted on the request: only the caller can know."""
    server = await serve.saying(then="reset")
    error = await failure(client.request("POST", server.url, body=b"x"))
    assert (error.code, error.sent, len(server.peers)) == ("connection_lost", True, 1)


async def test_a_replaced_connection_is_replaced_only_once(client: HttpClient, serve: Servers) -> None:
    """Two in a row is no longer an idle connection's fault."""

    async def script(peer: Peer) -> None:
        await peer.request()
        if len(server.peers) == 1:
            await peer.answer()
            await peer.request()
        peer.reset()

    server = await serve(script)
    await read(client, server.url)
    assert (await failure(client.request("GET", server.url))).code == "connection_lost"
    assert len(server.peers) == 2


async def test_a_used_connection_that_breaks_inside_the_answer_is_not_tried_again(
    client: HttpClient, serve: Servers
) -> None:
    """One byte of an answer shows that the request was read."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer()
        await peer.request()
        await peer.send(b"H")

    server = await serve(script)
    await read(client, server.url)
    assert (await failure(client.request("GET", server.url))).code == "connection_lost"
    assert len(server.peers) == 1


async def test_a_used_connection_that_stays_silent_is_not_tried_again(client: HttpClient, serve: Servers) -> None:
    """Slow is not dead: the server may be at work on the request."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer()
        await peer.request()
        await peer.gone()

    server = await serve(script)
    await read(client, server.url)
    error = await failure(client.request("GET", server.url, timeouts=Timeouts(first_byte=0.02)))
    assert (error.code, len(server.peers)) == ("first_byte_timeout", 1)


async def test_a_failed_replacement_admits_that_the_request_may_have_been_seen(
    client: HttpClient, serve: Servers
) -> None:
    """The first connection took the bytes before it broke."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer()
        await peer.request()
        server.close()
        peer.reset()

    server = await serve(script)
    await read(client, server.url)
    error = await failure(client.request("GET", server.url))
    assert (error.code, error.sent) == ("connect_failed", True)


async def test_bytes_nobody_asked_for_close_an_idle_connection(client: HttpClient, serve: Servers) -> None:
    """They are never taken for the next answer."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer()
        if len(server.peers) == 1:
            await peer.send(HEAD + b"content-length: 6\r\n\r\nforged")
        await peer.gone()

    server = await serve(script)
    assert await read(client, server.url) == b"ok"
    await server.finished()
    assert await read(client, server.url) == b"ok"
    assert len(server.peers) == 2


async def test_bytes_after_an_answer_close_the_connection_before_it_is_read(client: HttpClient, serve: Servers) -> None:
    """The answer itself stays readable."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer()
        await peer.send(HEAD + b"content-length: 6\r\n\r\nforged")
        await peer.gone()

    server = await serve(script)
    response = await client.request("GET", server.url)
    await server.finished()
    assert await response.read() == b"ok"


async def test_an_old_idle_connection_is_not_trusted(serve: Servers) -> None:
    """A middle box may have forgotten it, and a request sent into it would hang."""
    server = await serve.answering()
    async with HttpClient(max_idle_seconds=0.001) as client:
        await read(client, server.url)
        await asyncio.sleep(0.003)
        assert await read(client, server.url) == b"ok"
    assert len(server.peers) == 2


async def test_only_so_many_connections_are_kept(serve: Servers) -> None:
    """The rest are closed when their response was read."""
    server = await serve.answering()
    async with HttpClient(max_idle_per_host=1) as client:
        responses = [await client.request("GET", server.url) for _ in range(3)]
        for response in responses:
            await response.read()
        await server.ended(2)
        assert await read(client, server.url) == b"ok"
    assert len(server.peers) == 3


async def test_an_unread_upload_does_not_poison_the_connection(client: HttpClient, serve: Servers) -> None:
    """A server that answers before it has read the request is not sent another one behind the first."""

    async def script(peer: Peer) -> None:
        if len(server.peers) == 1:
            await peer.reader.readuntil(b"\r\n\r\n")
            await peer.answer(status=b"413 Too Large")
            await asyncio.sleep(5)
        await peer.answer_all()

    server = await serve(script)
    response = await client.request("POST", server.url, body=b"a" * (32 * 1024 * 1024))
    assert (response.status, await response.read()) == (413, b"ok")
    assert await read(client, server.url) == b"ok"
    assert len(server.peers) == 2


async def test_a_response_outlives_the_connection_it_came_by(client: HttpClient, serve: Servers) -> None:
    """The server answers early, closes its side, and the connection is gone before the answer is read."""

    async def script(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        await peer.answer(status=b"413 Too Large")
        peer.writer.write_eof()
        await peer.gone()

    server = await serve(script)
    response = await client.request("POST", server.url, body=b"a" * (32 * 1024 * 1024))
    await server.finished()
    await asyncio.sleep(0.002)
    assert (response.status, await response.read()) == (413, b"ok")


async def test_requests_side_by_side_do_not_mix(client: HttpClient, serve: Servers) -> None:
    """Each has a connection of its own while it lasts."""

    async def script(peer: Peer) -> None:
        while request := await peer.request():
            await peer.answer(request.split(b" ")[1])

    server = await serve(script)
    for _ in range(2):
        bodies = await asyncio.gather(*(read(client, f"{server.url}/{n}") for n in range(6)))
        assert bodies == [b"/%d" % n for n in range(6)]
    assert len(server.peers) == 6


async def test_a_closed_client_closes_what_is_idle_and_takes_no_more(client: HttpClient, serve: Servers) -> None:
    """A response that is still open stays readable."""
    server = await serve.answering()
    idle, open_one = [await client.request("GET", server.url) for _ in range(2)]
    await idle.read()
    await client.close()
    with pytest.raises(Unavailable):
        await client.request("GET", server.url)
    assert await open_one.read() == b"ok"
    await server.finished()
