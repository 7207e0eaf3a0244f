"""The client against scripted servers: what goes out, and what comes back."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import Awaitable
from typing import TYPE_CHECKING

import pytest

from agi.errors import Invalid, TooLarge
from agi.net.http import HttpClient, NetError
from agi.net.sse import sse_events

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


async def test_a_request_reaches_the_server_as_it_was_meant(client: HttpClient, serve: Servers) -> None:
    """Method, target, headers and body arrive; status and headers come back."""
    seen = []

    async def script(peer: Peer) -> None:
        seen.append(await peer.request())
        await peer.answer(b"made", b"201 Created", b"X-Id: 7\r\n")

    server = await serve(script)
    async with await client.request("POST", server.url + "/v1?a=b", headers={"X-Key": "k"}, body=b"{}") as response:
        assert (response.status, response.headers["x-id"], await response.read()) == (201, "7", b"made")
    head, _, body = seen[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1?a=b HTTP/1.1\r\nhost: 127.0.0.1:%d\r\n" % server.port)
    assert b"\r\naccept-encoding: identity\r\n" in head
    assert b"\r\nx-key: k\r\n" in head
    assert body == b"{}"


@pytest.mark.parametrize(
    "pieces",
    [
        [CHUNKED, b"3\r\nh\xc3", b"\xa9\r\n3", b"\r\nllo\r\n0\r\n", b"\r\n"],
        [HEAD + b"content-length: 6\r\n\r\nh\xc3", b"\xa9llo"],
        [HEAD + b"\r\nh\xc3", b"\xa9llo"],
        [b"HTTP/1.1 100 Continue\r\n\r\n", HEAD, b"content-length: 6\r\n\r\n", "héllo".encode()],
    ],
)
async def test_a_body_arrives_whole_however_it_is_framed(
    client: HttpClient, serve: Servers, pieces: list[bytes]
) -> None:
    """In chunks, by length, or until the server closes; characters may be split."""
    server = await serve.saying(*pieces)
    assert await read(client, server.url) == "héllo".encode()


async def test_pieces_are_handed_on_as_they_arrive(client: HttpClient, serve: Servers) -> None:
    """The first piece is here before the server has thought of the second."""
    go_on = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(CHUNKED + b"3\r\none\r\n")
        await go_on.wait()
        await peer.send(b"3\r\ntwo\r\n0\r\n\r\n")

    server = await serve(script)
    chunks = (await client.request("GET", server.url)).chunks()
    assert await anext(chunks) == b"one"
    go_on.set()
    assert [chunk async for chunk in chunks] == [b"two"]


async def test_an_event_stream_is_read_from_the_socket(client: HttpClient, serve: Servers) -> None:
    """The two halves of this room fit together."""
    server = await serve.saying(CHUNKED + b"9\r\ndata: 1\n\n\r\n", b"9\r\ndata: 2\n\n\r\n", b"0\r\n\r\n")
    async with await client.request("GET", server.url) as response:
        assert [event.data async for event in sse_events(response.chunks())] == [b"1", b"2"]


@pytest.mark.parametrize("status", [b"301 Moved", b"404 Not Found", b"500 Oops"])
async def test_redirects_and_errors_are_answers_like_any_other(
    client: HttpClient, serve: Servers, status: bytes
) -> None:
    """Nothing is followed and nothing raised: the caller decides."""
    server = await serve.saying(b"HTTP/1.1 %s\r\nlocation: /elsewhere\r\ncontent-length: 2\r\n\r\nno" % status)
    response = await client.request("GET", server.url)
    assert (response.status, await response.read()) == (int(status[:3]), b"no")
    assert len(server.peers) == 1


async def test_a_body_over_the_limit_is_refused_while_it_arrives(client: HttpClient, serve: Servers) -> None:
    """It is not read to its end first."""
    server = await serve.saying(CHUNKED + b"5\r\nhello\r\n", then="stay")
    response = await client.request("GET", server.url)
    with pytest.raises(TooLarge, match="more than 4 bytes"):
        await response.read(limit=4)
    await server.finished()


async def test_a_compressed_body_is_opened(client: HttpClient, serve: Servers) -> None:
    """Though none was asked for."""
    packed = gzip.compress(b"hello")
    head = HEAD + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
    server = await serve.saying(head, packed[:9], packed[9:])
    assert await read(client, server.url) == b"hello"


@pytest.mark.parametrize("encoding", [b"br", b"gzip"])
async def test_a_body_in_an_unreadable_encoding_is_an_error(
    client: HttpClient, serve: Servers, encoding: bytes
) -> None:
    """Unknown or damaged, it is refused and the connection closed."""
    server = await serve.saying(
        HEAD + b"content-encoding: %s\r\ncontent-length: 9\r\n\r\nhello" % encoding, then="stay"
    )
    response = await client.request("GET", server.url)
    assert (await failure(response.read())).code == "bad_response"
    await server.finished()


async def test_a_response_is_read_once(client: HttpClient, serve: Servers) -> None:
    """Its connection may carry another's answer by then."""
    server = await serve.answering()
    response = await client.request("GET", server.url)
    await response.read()
    with pytest.raises(RuntimeError, match="before"):
        await response.read()


async def test_nobody_listening_is_a_failed_connection(client: HttpClient) -> None:
    """The request has certainly not been seen."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        error = await failure(client.request("GET", f"http://127.0.0.1:{port}/?key=secret"))
    assert (error.code, error.sent) == ("connect_failed", False)
    assert f"127.0.0.1:{port}" in error.message
    assert "secret" not in error.message


async def test_a_name_that_does_not_exist_is_a_failed_connection(client: HttpClient) -> None:
    """The message names the host."""
    error = await failure(client.request("GET", "http://nowhere.invalid/"))
    assert (error.code, error.sent) == ("connect_failed", False)
    assert "nowhere.invalid:80" in error.message


async def test_a_bad_request_reaches_nobody(client: HttpClient, serve: Servers) -> None:
    """What is refused is refused before a connection is opened."""
    server = await serve.answering()
    with pytest.raises(Invalid):
        await client.request("GET", server.url, headers={"x": "a\r\nhost: b"})
    with pytest.raises(Invalid):
        await client.request("GET", server.url + "/\r\nhost: b")
    assert server.peers == []
