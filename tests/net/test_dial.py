"""Connections under TLS and through proxies."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agi.errors import ConfigError
from agi.net.dial import watch_for_dead_peers
from agi.net.http import HttpClient, NetError, Proxies, Timeouts

if TYPE_CHECKING:
    from conftest import Peer, Servers


async def failure(response: Awaitable[object]) -> NetError:
    with pytest.raises(NetError) as caught:
        await response
    assert caught.value.hint
    assert "secret" not in caught.value.message
    return caught.value


async def read(client: HttpClient, url: str) -> bytes:
    return await (await client.request("GET", url)).read()


def tunnels_to(port: int, seen: list[bytes]) -> Callable[[Peer], Awaitable[None]]:
    """A proxy that opens every tunnel to one port of this machine."""

    async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            target.write(data)
        target.close()

    async def script(peer: Peer) -> None:
        seen.append(await peer.request())
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await peer.send(b"HTTP/1.1 200 Connection established\r\nvia: proxy\r\n\r\n")
        try:
            await asyncio.gather(pump(peer.reader, writer), pump(reader, peer.writer))
        finally:
            writer.transport.abort()

    return script


async def test_a_server_signed_by_the_given_authority_is_trusted(
    serve: Servers, server_tls: ssl.SSLContext, ca_file: str
) -> None:
    """And its connection serves again."""
    server = await serve.answering(server_tls)
    async with HttpClient(ca_file=ca_file) as client:
        assert [await read(client, server.url) for _ in range(2)] == [b"ok"] * 2
    assert len(server.peers) == 1


async def test_an_idle_tls_connection_the_server_closed_is_replaced(
    serve: Servers, server_tls: ssl.SSLContext, ca_file: str
) -> None:
    """TLS makes no difference to keeping connections."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"hello")

    server = await serve(script, server_tls)
    async with HttpClient(ca_file=ca_file) as client:
        assert [await read(client, server.url) for _ in range(2)] == [b"hello"] * 2
    assert len(server.peers) == 2


async def test_a_server_nobody_vouches_for_is_not_spoken_to(serve: Servers, server_tls: ssl.SSLContext) -> None:
    """The request is never sent, and no hint suggests to verify less."""
    server = await serve.answering(server_tls)
    async with HttpClient() as client:
        error = await failure(client.request("GET", server.url, headers={"authorization": "secret"}))
    assert (error.code, error.sent) == ("tls_failed", False)
    assert "CA file" in error.hint
    assert server.peers == []


async def test_a_certificate_for_another_name_is_refused(
    serve: Servers, server_tls: ssl.SSLContext, ca_file: str
) -> None:
    """Trusting the authority is not enough."""
    server = await serve.answering(server_tls)
    async with HttpClient(ca_file=ca_file) as client:
        error = await failure(client.request("GET", f"https://localhost:{server.port}/"))
    assert error.code == "tls_failed"
    assert "localhost" in error.message


async def test_https_to_a_plain_server_is_a_tls_failure(serve: Servers) -> None:
    """The address is right, the scheme is not."""

    async def script(peer: Peer) -> None:
        await peer.reader.read(10)
        await peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    server = await serve(script)
    async with HttpClient() as client:
        error = await failure(client.request("GET", f"https://127.0.0.1:{server.port}/"))
    assert (error.code, error.sent) == ("tls_failed", False)


async def test_a_server_that_accepts_and_says_nothing_runs_into_the_connect_limit(serve: Servers) -> None:
    """The handshake counts as connecting."""
    server = await serve(lambda peer: peer.gone())
    async with HttpClient(timeouts=Timeouts(connect=0.02)) as client:
        error = await failure(client.request("GET", f"https://127.0.0.1:{server.port}/"))
    assert (error.code, error.sent) == ("connect_timeout", False)


@pytest.mark.parametrize("content", [None, "not a certificate"])
async def test_an_authority_that_cannot_be_read_is_a_configuration_error(tmp_path: Path, content: str | None) -> None:
    """It is not skipped over: the user asked for it."""
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    async with HttpClient(ca_file=str(path)) as client:
        with pytest.raises(ConfigError, match=r"ca\.pem"):
            await client.request("GET", "https://127.0.0.1:1/")


async def test_plain_http_goes_through_its_proxy_in_absolute_form(serve: Servers) -> None:
    """The proxy sees the whole URL and its own credentials, and its connection serves again."""
    seen: list[bytes] = []

    async def script(peer: Peer) -> None:
        while request := await peer.request():
            seen.append(request)
            await peer.answer(b"hello")

    proxy = await serve(script)
    proxies = Proxies.from_env({"HTTP_PROXY": f"http://me:secret@127.0.0.1:{proxy.port}"})
    async with HttpClient(proxies=proxies) as client:
        assert [await read(client, "http://api.example.test/v1?a=b") for _ in range(2)] == [b"hello"] * 2
    assert seen[0].startswith(b"GET http://api.example.test/v1?a=b HTTP/1.1\r\nhost: api.example.test\r\n")
    assert b"\r\nproxy-authorization: Basic %s\r\n" % base64.b64encode(b"me:secret") in seen[0]
    assert len(proxy.peers) == 1


async def test_https_goes_through_a_tunnel_that_its_proxy_opens(
    serve: Servers, server_tls: ssl.SSLContext, ca_file: str
) -> None:
    """The proxy learns host and port and nothing more; the server is verified as ever; the tunnel serves again."""
    requests: list[bytes] = []
    seen: list[bytes] = []

    async def script(peer: Peer) -> None:
        while request := await peer.request():
            requests.append(request)
            await peer.answer(b"hello")

    server = await serve(script, server_tls)
    proxy = await serve(tunnels_to(server.port, seen))
    proxies = Proxies.from_env({"https_proxy": f"http://me:secret@127.0.0.1:{proxy.port}"})
    async with HttpClient(proxies=proxies, ca_file=ca_file) as client:
        assert [await read(client, "https://api.example.test/v1") for _ in range(2)] == [b"hello"] * 2
    assert seen == [
        b"CONNECT api.example.test:443 HTTP/1.1\r\nhost: api.example.test:443\r\nuser-agent: agi\r\n"
        b"proxy-authorization: Basic " + base64.b64encode(b"me:secret") + b"\r\n\r\n"
    ]
    assert requests[0].startswith(b"GET /v1 HTTP/1.1\r\nhost: api.example.test\r\n")
    assert b"proxy-authorization" not in requests[0]


async def test_a_proxy_that_answers_for_the_server_is_not_believed(serve: Servers, server_tls: ssl.SSLContext) -> None:
    """An intercepting proxy needs its authority in the CA file."""
    server = await serve.answering(server_tls)
    proxy = await serve(tunnels_to(server.port, []))
    proxies = Proxies.from_env({"https_proxy": f"http://127.0.0.1:{proxy.port}"})
    async with HttpClient(proxies=proxies) as client:
        error = await failure(client.request("GET", "https://api.example.test/"))
    assert (error.code, error.sent) == ("tls_failed", False)
    assert "api.example.test:443 through the proxy" in error.message


@pytest.mark.parametrize(
    "reply",
    [b"HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno", b"HTTP/1.1 407 Who\r\n\r\n", b"", b"garbage\r\n"],
)
async def test_a_proxy_that_opens_no_tunnel_is_named(serve: Servers, reply: bytes) -> None:
    """The failing hop is the proxy, not the server behind it."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(reply)

    proxy = await serve(script)
    proxies = Proxies.from_env({"https_proxy": f"http://127.0.0.1:{proxy.port}"})
    async with HttpClient(proxies=proxies) as client:
        error = await failure(client.request("GET", "https://api.example.test/"))
    assert (error.code, error.sent) == ("proxy_failed", False)
    assert f"127.0.0.1:{proxy.port}" in error.message


async def test_a_proxy_that_wants_credentials_is_named_for_plain_http_too(serve: Servers) -> None:
    """A 407 is never the server's answer."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"who are you", b"407 Proxy Authentication Required")
        await peer.gone()

    proxy = await serve(script)
    proxies = Proxies.from_env({"http_proxy": f"http://127.0.0.1:{proxy.port}"})
    async with HttpClient(proxies=proxies) as client:
        error = await failure(client.request("GET", "http://api.example.test/"))
    assert (error.code, error.sent) == ("proxy_failed", False)
    await proxy.finished()


async def test_a_proxy_that_is_not_there_is_named() -> None:
    """Not the server: nobody has looked for it yet."""
    async with HttpClient(proxies=Proxies.from_env({"http_proxy": "http://127.0.0.1:1"})) as client:
        error = await failure(client.request("GET", "http://api.example.test/"))
    assert (error.code, error.sent) == ("proxy_failed", False)
    assert "the proxy 127.0.0.1:1" in error.message


async def test_a_proxy_that_says_nothing_runs_into_the_connect_limit(serve: Servers) -> None:
    """Its connection is closed."""
    proxy = await serve(lambda peer: peer.gone())
    proxies = Proxies.from_env({"https_proxy": f"http://127.0.0.1:{proxy.port}"})
    async with HttpClient(proxies=proxies, timeouts=Timeouts(connect=0.02)) as client:
        error = await failure(client.request("GET", "https://api.example.test/"))
    assert (error.code, error.sent) == ("connect_timeout", False)
    await proxy.finished()


async def test_loopback_is_reached_without_the_proxy(serve: Servers) -> None:
    """Even if every variable names one."""
    server = await serve.answering()
    proxies = Proxies.from_env({"http_proxy": "http://127.0.0.1:1", "HTTP_PROXY": "http://127.0.0.1:1"})
    async with HttpClient(proxies=proxies) as client:
        assert await read(client, server.url) == b"ok"


def test_a_vanished_peer_is_found_out_by_the_kernel() -> None:
    """Connections to other machines are probed while they are silent."""
    with socket.socket() as sock:
        watch_for_dead_peers(sock)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
