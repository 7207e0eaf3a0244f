"""The way out for commands: asked for each host, told why not, and blind to nothing that matters."""

import asyncio
import socket
from contextlib import suppress

import pytest

from agi.sandbox import proxy as proxies
from agi.sandbox.hosts import Hosts
from agi.sandbox.proxy import REASON_HEADER, Proxy, Refused, dial_public


class Outside:
    """A server that stands for every host on the internet, and remembers what it heard."""

    def __init__(self):
        self.dialed, self.heard = [], []

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self.server.close()

    async def answer(self, reader, writer):
        self.heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        writer.close()

    async def dial(self, host, port):
        self.dialed.append((host, port))
        return await asyncio.open_connection("127.0.0.1", self.port)


@pytest.fixture
async def outside():
    async with Outside() as server:
        yield server


@pytest.fixture
async def ask(outside):
    """Say something to a proxy that lets commands reach good.example, and hear the whole answer."""
    proxy = Proxy(Hosts(["good.example", "other.example:8080"]), outside.dial)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0, limit=proxies.LONGEST_HEAD)

    async def say(text):
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(text.encode() if isinstance(text, str) else text)
        answer = (await reader.read()).decode()
        writer.close()
        return answer

    say.proxy = proxy
    yield say
    proxy.close()
    server.close()


async def test_a_plain_request_goes_to_the_host_it_names(ask, outside):
    """The server sees the host that was judged, and nothing that was meant for the proxy."""
    answer = await ask(
        "GET http://good.example/path?q=1 HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: x\r\nX-Kept: 1\r\n\r\n"
    )

    assert answer.endswith("hi")
    assert outside.dialed == [("good.example", 80)]
    assert outside.heard == [b"GET /path?q=1 HTTP/1.1\r\nHost: good.example\r\nConnection: close\r\nX-Kept: 1\r\n\r\n"]


async def test_a_tunnel_is_opened_to_the_host_it_names(ask, outside):
    """What goes through it is not looked at."""
    answer = await ask("CONNECT good.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\nhello\r\n\r\n")

    assert answer == "HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    assert outside.dialed == [("good.example", 443)]
    assert outside.heard == [b"hello\r\n\r\n"]


@pytest.mark.parametrize(
    "first",
    [
        "CONNECT evil.example:443",
        "CONNECT good.example.evil.example:443",
        "CONNECT good.example:22",
        "CONNECT 127.0.0.1:443",
        "CONNECT [::1]:443",
        "CONNECT [::ffff:127.0.0.1]:443",
        "CONNECT 2130706433:80",
        "CONNECT 169.254.169.254:80",
        "CONNECT good.example.:443",
        "CONNECT good.example@evil.example:443",
        "GET http://evil.example/",
        "GET http://user@good.example/",
        "GET http://good.example@evil.example/",
        "GET http://evil.example#good.example/",
        "GET http://evil.example\\good.example/",
        "GET http://localhost/",
        "GET http://[::1]/",
        "GET http://other.example/",
    ],
)
async def test_a_host_that_is_not_allowed_is_refused_with_the_reason(ask, outside, first):
    """In the status, a header and the text; and it is remembered for whoever started the command."""
    answer = await ask(f"{first} HTTP/1.1\r\nHost: good.example\r\n\r\n")

    assert answer.startswith("HTTP/1.1 403 Forbidden\r\n")
    assert f"\r\n{REASON_HEADER}: " in answer
    assert outside.dialed == []
    assert len(ask.proxy.notes()) == 1


@pytest.mark.parametrize(
    "text",
    [
        "GET /path HTTP/1.1\r\n\r\n",
        "GET ftp://good.example/ HTTP/1.1\r\n\r\n",
        "CONNECT good.example HTTP/1.1\r\n\r\n",
        "CONNECT good.example:99999 HTTP/1.1\r\n\r\n",
        "CONNECT good.example:４４３ HTTP/1.1\r\n\r\n",
        "GET http://good.example/ extra HTTP/1.1\r\n\r\n",
        "rubbish\r\n\r\n",
        "GET http://good.example/ SPDY\r\n\r\n",
    ],
)
async def test_what_is_no_request_to_a_proxy_is_refused(ask, outside, text):
    """Nothing is guessed."""
    assert (await ask(text)).startswith("HTTP/1.1 400 ")
    assert outside.dialed == []


async def test_a_head_without_end_is_cut_off(ask, outside):
    """Memory stays bounded."""
    with suppress(ConnectionResetError):
        assert await ask(b"GET http://good.example/ HTTP/1.1\r\n" + b"X-A: b\r\n" * 50_000) == ""
    assert outside.dialed == []


async def test_a_host_that_cannot_be_reached_is_told(ask, outside):
    """As any proxy does."""

    async def fail(host, port):
        raise ConnectionRefusedError(111, "Connection refused")

    ask.proxy._dial = fail
    assert (await ask("CONNECT good.example:443 HTTP/1.1\r\n\r\n")).startswith("HTTP/1.1 502 ")


@pytest.mark.threat("T9", "T31")
async def test_a_name_that_leads_to_this_machine_is_refused():
    """The name is allowed, its address is not: the list of names is not the last word."""
    with pytest.raises(Refused):
        await dial_public("localhost", 80)


@pytest.mark.threat("T31")
async def test_one_private_address_among_public_ones_is_enough(monkeypatch):
    """A name that means both is one that may mean either the next time it is asked."""

    async def answer(self, host, port, **options):
        return [(socket.AF_INET, 1, 6, "", (address, port)) for address in ("1.1.1.1", "10.0.0.1")]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", answer)
    with pytest.raises(Refused):
        await dial_public("good.example", 80)
