"""Where the daemon listens: at the port that was asked for, at loopback unless told otherwise, and without delay."""

from __future__ import annotations

import asyncio
import socket

import pytest

from agi.errors import ConfigError
from agi.server.listening import is_loopback, listen_at, own_names, url_of


def test_the_usual_port_gives_way_to_a_free_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """If taken and not asked for by name, a free one."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        usual = other.getsockname()[1]
        monkeypatch.setattr("agi.server.listening.PORT", usual)
        with listen_at("127.0.0.1", None) as sock:
            assert sock.getsockname()[1] != usual
    with listen_at("127.0.0.1", None) as sock:
        assert sock.getsockname()[1] == usual


async def test_small_writes_are_sent_at_once() -> None:
    """Connections have no Nagle delay: the first words of a stream do not wait for the client's acknowledgement."""
    delays: list[int] = []

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        delays.append(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(note, sock=listen_at("127.0.0.1", 0)) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
    assert delays == [1]


@pytest.mark.parametrize(
    ("host", "port", "named"),
    [("999.1.1.1", 0, "999.1.1.1"), ("127.0.0.1", 70_000, "70000"), ("127.0.0.1", -1, "-1"), ("192.0.2.1", 0, "192")],
)
def test_an_address_that_cannot_be_listened_at_is_an_error(host: str, port: int, named: str) -> None:
    """It says which."""
    with pytest.raises(ConfigError, match=named) as refused:
        listen_at(host, port)
    assert refused.value.code == "cannot_listen"


def test_what_counts_as_loopback() -> None:
    """Only what cannot leave the machine."""
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.1.2.3", "localhost", "::1"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "127.a.b.c", "10.0.0.1", "localhost.evil"))


def test_an_exposed_daemon_goes_by_its_own_names() -> None:
    """Its address, its host name and what it was told; everywhere is no name."""
    bound = own_names("192.0.2.1", ("agi.example",))
    assert bound == ("192.0.2.1", socket.gethostname(), "agi.example")
    anywhere = own_names("0.0.0.0")
    assert "0.0.0.0" not in anywhere
    assert socket.gethostname() in anywhere


def test_urls_are_reachable_from_this_machine() -> None:
    """Also where it listens everywhere, and for IPv6."""
    assert url_of("0.0.0.0", 1) == "http://127.0.0.1:1"
    assert url_of("::1", 1) == "http://[::1]:1"
    assert url_of("127.0.0.1", 1) == "http://127.0.0.1:1"
