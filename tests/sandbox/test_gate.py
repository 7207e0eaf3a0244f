"""The network of a sandbox: none, some hosts, or all."""

import asyncio

import pytest

from agi.errors import Invalid
from agi.sandbox import proxy as proxies

FETCH = """
import urllib.request, urllib.error, sys
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, timeout=20).read().decode())
    except urllib.error.HTTPError as error:
        print(error.code, error.headers.get("X-Agi-Refused"))
    except OSError as error:
        print("failed", error)
"""


@pytest.fixture
async def outside(monkeypatch):
    """A server that stands for every host, wherever the proxy would connect to."""

    async def answer(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        host = head.lower().partition(b"host: ")[2].partition(b"\r\n")[0]
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nthis is " + host)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    monkeypatch.setattr(proxies, "dial_public", lambda host, _: asyncio.open_connection("127.0.0.1", port))
    yield port
    server.close()


@pytest.mark.threat("T31")
async def test_only_hosts_on_the_list_can_be_reached(apart, workspace, outside):
    """Through the proxy that the environment names; a way around it does not exist."""
    (workspace / "fetch.py").write_text(FETCH)

    result = await apart(
        f"python3 fetch.py http://good.example/ http://evil.example/; no_proxy='*' python3 fetch.py http://127.0.0.1:{outside}",
        network="allow-list",
        hosts=("good.example",),
    )

    lines = result.stdout.head.splitlines()
    assert lines[:2] == ["this is good.example", "403 not on the list of allowed hosts"]
    assert lines[2].startswith("failed")
    assert result.notes == ("the network was refused: evil.example:80 (not on the list of allowed hosts)",)


async def test_many_connections_at_once_are_served(apart, workspace, outside):
    """The gate is a socket like any other."""
    (workspace / "fetch.py").write_text(FETCH)

    result = await apart(
        "for n in 1 2 3 4 5 6; do python3 fetch.py http://good.example/ & done; wait",
        network="allow-list",
        hosts=("good.example",),
    )

    assert result.stdout.head == "this is good.example\n" * 6


async def test_limits_and_exit_codes_are_the_same_behind_a_gate(apart, workspace):
    """What opens the gate becomes the command."""
    result = await apart("ulimit -c; exit 7", network="allow-list", hosts=("good.example",))

    assert (result.exit_code, result.stdout.head) == (7, "0\n")


async def test_a_list_that_means_nothing_is_refused_before_anything_runs(apart, workspace):
    """And says how to write one."""
    with pytest.raises(Invalid):
        await apart("touch ran", network="allow-list", hosts=("*",))
    assert not (workspace / "ran").exists()


@pytest.mark.threat("T9")
async def test_without_network_a_command_has_its_own_loopback(apart, workspace, outside):
    """Servers of its own work, those of the machine are not there."""
    (workspace / "both.py").write_text(
        "import socket, threading\n"
        "own = socket.create_server(('127.0.0.1', 0))\n"
        "threading.Thread(target=lambda: own.accept()[0].send(b'hi')).start()\n"
        "print(socket.create_connection(own.getsockname()).recv(2))\n"
        f"try: socket.create_connection(('127.0.0.1', {outside}), 5)\n"
        "except OSError as error: print(error.strerror)\n"
    )

    result = await apart("python3 both.py; cat /proc/net/dev | grep -c :")

    assert result.stdout.head == "b'hi'\nConnection refused\n1\n"


async def test_with_network_the_machines_is_reached(confined, workspace, outside):
    """Only where the policy says so; unix sockets stay closed."""
    (workspace / "fetch.py").write_text(FETCH)

    result = await confined(
        f"python3 fetch.py http://127.0.0.1:{outside}/; python3 -c 'import socket; socket.socket(socket.AF_UNIX)' 2>&1"
        " | tail -1",
        network="on",
    )

    assert result.stdout.head == (f"this is 127.0.0.1:{outside}\nPermissionError: [Errno 1] Operation not permitted\n")


async def test_unix_sockets_are_there_where_they_are_asked_for(confined, workspace):
    """Some test suites need them; pairs of connected ones need no asking."""
    script = "import socket; socket.socketpair(); socket.socket(socket.AF_UNIX).bind('s'); print('bound')"

    refused = await confined(f'python3 -c "{script}"')
    allowed = await confined(f'python3 -c "{script}"', unix_sockets=True)

    assert "Operation not permitted" in refused.stderr.head
    assert (allowed.stdout.head, allowed.stderr.head) == ("bound\n", "")
