"""Who is at the other end: real sockets, real processes, real users, asked of the kernel."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agi.sandbox.survivors import CHILD_MARKER
from agi.server import peer
from agi.server.peer import Address, PeerCheck, Row, ask_kernel, read_tables
from agi.workspace.processes import child_environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's tables are read on Linux only")

ESTABLISHED = 1
Ends = tuple[socket.socket, socket.socket]


@contextlib.contextmanager
def connection(server_host: str = "127.0.0.1", client_host: str = "127.0.0.1") -> Iterator[Ends]:
    """An accepted connection: our end and the client's."""
    family = socket.AF_INET6 if ":" in server_host else socket.AF_INET
    with socket.create_server((server_host, 0), family=family, dualstack_ipv6=server_host == "::") as listener:
        client = socket.socket(socket.AF_INET6 if ":" in client_host else socket.AF_INET)
        client.connect((client_host, listener.getsockname()[1]))
        ours, _ = listener.accept()
        with client, ours:
            yield ours, client


def addresses(ours: socket.socket) -> tuple[Address, Address]:
    """The server's and the client's address as a server sees them."""
    return ours.getsockname()[:2], ours.getpeername()[:2]


def inode(sock: socket.socket) -> int:
    return os.fstat(sock.fileno()).st_ino


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, "waited for 10 seconds"
        time.sleep(0.002)


@pytest.mark.parametrize(
    ("server_host", "client_host"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("::", "127.0.0.1"),
        ("::", "::ffff:127.0.0.1"),
        ("127.0.0.1", "::ffff:127.0.0.1"),
        ("127.0.0.1", "127.0.0.2"),
    ],
)
@pytest.mark.parametrize("look_up", [ask_kernel, read_tables])
def test_both_ways_of_asking_find_the_clients_socket(
    look_up: Callable[[Address, Address], Row | None], server_host: str, client_host: str
) -> None:
    """IPv4, IPv6 and IPv4 written as IPv6 on either side: the row is the client's, with its owner and inode."""
    host = "127.0.0.1" if client_host == "127.0.0.2" else client_host
    with connection(server_host, host) as (ours, client):
        server, peer_address = addresses(ours)
        assert look_up(peer_address, server) == Row(ESTABLISHED, os.getuid(), inode(client))


@pytest.mark.parametrize("look_up", [ask_kernel, read_tables])
def test_a_socket_that_is_not_there_is_not_found(look_up: Callable[[Address, Address], Row | None]) -> None:
    """Neither a listener on the same port nor anything else stands in for it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert look_up(("127.0.0.1", port), ("127.0.0.1", 9)) is None
        assert look_up(("::1", 9), ("127.0.0.1", port)) is None


def test_a_program_of_this_user_is_known() -> None:
    """The other end is proved by its user and its open socket."""
    with connection() as (ours, client):
        found = PeerCheck().accept(*addresses(ours))
        assert found is not None
        assert found.inode == inode(client)
        assert PeerCheck().same_user(*addresses(ours))


def test_a_kernel_without_socket_diagnostics_is_asked_by_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is the same, only slower."""
    monkeypatch.setattr(peer, "_NETLINK_SOCK_DIAG", 31)
    with connection() as (ours, _):
        assert ask_kernel(*reversed(addresses(ours))) is None
        assert PeerCheck().same_user(*addresses(ours))


@pytest.mark.parametrize("way", ["closed", "reset", "half closed"])
def test_a_peer_that_has_left_is_not_known(way: str) -> None:
    """Its row says user 0 or is gone: whoever it was, nothing proves it."""
    check = PeerCheck()
    with connection() as (ours, client):
        ends = addresses(ours)
        before = check.accept(*ends)
        assert before is not None
        if way == "half closed":
            client.shutdown(socket.SHUT_WR)
        else:
            if way == "reset":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
        assert check.accept(*ends) is None
        assert PeerCheck().accept(*ends) is None
        assert check.standing(before) == "unknown"


def test_an_address_that_is_none_is_not_known() -> None:
    """A Unix socket, a host name, an empty string: no proof."""
    for host in ("", "localhost", "/run/x.sock", "1:2"):
        assert PeerCheck().accept((host, 1), (host, 2)) is None


def test_other_systems_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Linux's tables everybody needs the token."""
    with connection() as (ours, _):
        monkeypatch.setattr(sys, "platform", "darwin")
        assert not PeerCheck().same_user(*addresses(ours))


def test_a_socket_held_by_a_child_is_not_outside() -> None:
    """A command the daemon runs is known by the process tree, even if it only shares the socket, until it ends."""
    with connection() as (ours, client):
        check, ends = PeerCheck(), addresses(ours)
        with subprocess.Popen(["sleep", "60"], pass_fds=[client.fileno()]) as child:
            wait_until(lambda: holds(child.pid, client))
            assert not check.same_user(*ends)
            child.kill()
        assert check.same_user(*ends)


def test_a_socket_held_by_a_grandchild_is_not_outside() -> None:
    """The whole tree counts, not only its first row."""
    with connection() as (ours, client), process_group(["sh", "-c", "sleep 60; true"], client) as shell:
        wait_until(lambda: bool(children(shell.pid)))
        assert not PeerCheck().same_user(*addresses(ours))


def test_a_double_fork_is_known_by_its_marker() -> None:
    """A command that left the tree still carries the daemon's mark in its environment."""
    with connection() as (ours, client):
        check, ends = PeerCheck(), addresses(ours)
        script = "setsid sleep 60 >/dev/null 2>&1 & echo $!"
        marked = {**os.environ, CHILD_MARKER: str(os.getpid())}
        started = subprocess.run(
            ["sh", "-c", script], env=marked, pass_fds=[client.fileno()], capture_output=True, check=True
        )
        orphan = int(started.stdout)
        try:
            wait_until(lambda: holds(orphan, client) and orphan not in children(os.getpid()))
            assert not check.same_user(*ends)
        finally:
            os.kill(orphan, signal.SIGKILL)
        wait_until(lambda: not holds(orphan, client))
        assert check.same_user(*ends)


def test_a_process_without_any_environment_is_not_taken_at_its_word() -> None:
    """An empty environment is also what a marked command shows in the middle of an exec, so it proves nothing."""
    with connection() as (ours, client):
        ends = addresses(ours)
        script = "setsid env -i sleep 60 >/dev/null 2>&1 & echo $!"
        fds = [client.fileno()]
        started = subprocess.run(["sh", "-c", script], pass_fds=fds, capture_output=True, check=True)
        orphan = int(started.stdout)
        try:
            wait_until(lambda: holds(orphan, client) and Path(f"/proc/{orphan}/comm").read_text() == "sleep\n")
            assert not PeerCheck().same_user(*ends)
        finally:
            os.kill(orphan, signal.SIGKILL)


def test_commands_that_hold_other_sockets_are_in_nobodys_way() -> None:
    """A running command does not lock the user out; neither does one that has ended and was not collected yet."""
    with connection() as (ours, _), process_group(["sleep", "60"]), subprocess.Popen(["true"]) as ended:
        wait_until(lambda: state(ended.pid) == "Z")
        assert PeerCheck().same_user(*addresses(ours))


def test_an_ended_command_is_in_nobodys_way_for_a_plain_user_either() -> None:
    """Only root may look into an ended process; that it has ended is enough for everybody else."""
    if os.getuid() != 0:
        pytest.skip("needs root, to become another user")
    child = os.fork()
    if not child:
        status = 1
        with contextlib.suppress(BaseException):
            os.setresuid(12345, 12345, 12345)
            with connection() as (ours, _), subprocess.Popen(["/bin/true"]) as ended:
                wait_until(lambda: state(ended.pid) == "Z")
                status = 0 if PeerCheck().same_user(*addresses(ours)) else 2
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.threat("T9")
def test_a_process_in_a_namespace_of_its_own_is_no_user() -> None:
    """Commands of any daemon run in one, whatever they made of their environment; a container needs the token, too."""
    unshare = shutil.which("unshare")
    if os.getuid() != 0 or unshare is None:
        pytest.skip("needs root and unshare, to make a namespace of processes")
    script = f"env -i A=b setsid {unshare} --pid --fork sleep 60 >/dev/null 2>&1 & echo $!"
    with connection() as (ours, client):
        held = [client.fileno()]
        started = subprocess.run(["sh", "-c", script], pass_fds=held, capture_output=True, check=True)
        outer = int(started.stdout)
        wait_until(lambda: bool(children(outer)))
        (inner,) = children(outer)
        wait_until(lambda: Path(f"/proc/{inner}/comm").read_text() == "sleep\n")
        try:
            check, ends = PeerCheck(), addresses(ours)
            peer_found = check.accept(*ends)
            assert holds(inner, client)
            assert not check.same_user(*ends)
            assert peer_found is not None
            assert check.standing(peer_found) == "apart"
        finally:
            os.kill(inner, signal.SIGKILL)
        wait_until(lambda: not holds(outer, client))
        assert PeerCheck().same_user(*addresses(ours))


@pytest.mark.threat("T9")
def test_who_cannot_be_looked_into_is_not_let_in() -> None:
    """A command may keep others from seeing what it holds: then nobody is seen to hold it, which proves nothing."""
    if os.getuid() != 0:
        pytest.skip("needs root, to become another user")
    child = os.fork()
    if not child:
        status = 1
        with contextlib.suppress(BaseException):
            os.setresuid(12345, 12345, 12345)
            with connection() as (ours, client):
                was_known = PeerCheck().same_user(*addresses(ours))
                ends, hidden = addresses(ours), os.fork()  # who changed its user is hidden from then on
                if not hidden:
                    signal.pause()
                client.close()
                status = 0 if was_known and not PeerCheck().same_user(*ends) else 2
                os.kill(hidden, signal.SIGKILL)
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_marker_is_one_variable_with_the_daemons_pid() -> None:
    """The launcher puts it into the environment of every command."""
    assert child_environment({}, 42)[CHILD_MARKER] == "42"


def holds(pid: int, sock: socket.socket) -> bool:
    with contextlib.suppress(OSError):
        folder = Path(f"/proc/{pid}/fd")
        return any(os.readlink(entry) == f"socket:[{inode(sock)}]" for entry in folder.iterdir())
    return False


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


@contextlib.contextmanager
def process_group(command: list[str], *socks: socket.socket) -> Iterator[subprocess.Popen[bytes]]:
    fds = [sock.fileno() for sock in socks]
    with subprocess.Popen(command, pass_fds=fds, start_new_session=True) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


CLIENT = """
import socket, sys
sock = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
sock.sendall(f"GET /v1/sessions HTTP/1.1\\r\\nHost: localhost:{sys.argv[1]}\\r\\n{sys.argv[2]}\\r\\n".encode())
status = sock.recv(100).split()[1].decode()
with open(sys.argv[3], "w") as file:
    file.write(status + "\\n")
"""

ORPHAN = """
import os, sys
if os.fork():
    os._exit(0)
os.setsid()
import time
while os.getppid() == int(sys.argv[4]):
    time.sleep(0.001)
""" + CLIENT.replace("import socket, sys", "import socket")

HIT_AND_RUN = """
import socket, sys
request = f"GET /hit HTTP/1.1\\r\\nHost: localhost:{sys.argv[1]}\\r\\n\\r\\n".encode()
for _ in range(100):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as sock:
        sock.sendall(request)
with open(sys.argv[3], "w") as file:
    file.write("0\\n")
"""

DAEMON = """
import asyncio, os, socket, sys
from agi.server.guard import Guard, GuardSettings
from agi.server.limits import make_server
from agi.server.peer import PeerCheck
from agi.sandbox.survivors import CHILD_MARKER

async def run(script, *arguments):
    env = {**os.environ, CHILD_MARKER: str(os.getpid())}
    process = await asyncio.create_subprocess_exec(sys.executable, "-S", "-c", script, *arguments, env=env)
    await process.wait()

hits = 0

async def app(scope, receive, send):
    global hits
    hits += scope["path"] == "/hit"
    script = dict(scope["headers"]).get(b"x-run", b"").decode()
    if script:
        arguments = dict(scope["headers"])[b"x-arguments"].decode().split("|")
        await run(bytes.fromhex(script).decode(), *arguments)
    headers = [(b"content-length", b"0"), (b"x-hits", str(hits).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body"})

sock = socket.create_server(("127.0.0.1", 0))
settings = GuardSettings(token="x" * 32, port=sock.getsockname()[1], auth=sys.argv[1])
guard = Guard(app, settings, log=lambda line: None, on_error=lambda error: None)
print(settings.port, flush=True)
asyncio.run(make_server(guard, sock=sock, log=lambda line: None, peers=PeerCheck()).serve())
"""


@contextlib.contextmanager
def daemon(auth: str = "auto") -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", DAEMON, auth], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def ask(port: int, *headers: str, path: str = "/v1/sessions") -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
        sock.sendall("\r\n".join([f"GET {path} HTTP/1.1", f"Host: localhost:{port}", *headers, "", ""]).encode())
        return sock.recv(65536)


def status_of(port: int, *headers: str, path: str = "/v1/sessions") -> int:
    return int(ask(port, *headers, path=path).split()[1])


def hits(port: int) -> int:
    return int(ask(port).partition(b"x-hits: ")[2].split()[0])


def status_inside(port: int, script: str, tmp_path: Path, header: str = "") -> int:
    """What a command gets that the daemon itself starts."""
    result = tmp_path / "status"
    arguments = "|".join([str(port), header, str(result), "0"])
    code = textwrap.dedent(script).encode().hex()
    assert status_of(port, f"X-Run: {code}", f"X-Arguments: {arguments}", "Authorization: Bearer " + "x" * 32) == 200
    wait_until(lambda: result.exists() and result.read_text().endswith("\n"))
    return int(result.read_text())


def test_this_user_needs_no_token_under_auto_and_needs_one_under_token() -> None:
    """A plain program that the daemon did not start is let in on the kernel's word."""
    with daemon("auto") as port:
        assert status_of(port) == 200
        assert status_of(port, "Authorization: Bearer wrong") == 401
    with daemon("token") as port:
        assert status_of(port) == 401
        assert status_of(port, "Authorization: Bearer " + "x" * 32) == 200


@pytest.mark.advisory("AutoJack")
@pytest.mark.threat("T9")
@pytest.mark.parametrize("script", [CLIENT, ORPHAN], ids=["child", "double fork"])
def test_a_command_of_the_daemon_needs_the_token(script: str, tmp_path: Path) -> None:
    """What an agent runs cannot drive the daemon, while its user still can, before and after."""
    with daemon() as port:
        assert status_of(port) == 200
        assert status_inside(port, script, tmp_path) == 401
        assert status_of(port) == 200


@pytest.mark.parametrize("uid", [65534, 12345])
def test_another_user_needs_the_token(uid: int) -> None:
    """The kernel says who asks, whatever the client says of itself."""
    setpriv, bash = shutil.which("setpriv"), shutil.which("bash")
    if os.getuid() != 0 or setpriv is None or bash is None:
        pytest.skip("needs root, setpriv and bash, to become another user")
    with daemon() as port:
        request = f"GET /v1/sessions HTTP/1.1\\r\\nHost: localhost:{port}\\r\\n%s\\r\\n"
        script = f"exec 3<>/dev/tcp/127.0.0.1/{port}; printf '{request}' \"$0\" >&3; head -c 12 <&3"
        become = [setpriv, f"--reuid={uid}", f"--regid={uid}", "--clear-groups", bash, "-c", script]
        for header, status in (("", b"HTTP/1.1 401"), ("Authorization: Bearer " + "x" * 32 + "\r\n", b"HTTP/1.1 200")):
            assert subprocess.run([*become, header], capture_output=True, check=True).stdout == status


def test_a_command_that_sends_and_leaves_at_once_is_not_let_in(tmp_path: Path) -> None:
    """The kernel shows a closed socket as nobody's; of a hundred such requests none reaches the application."""
    with daemon() as port:
        assert status_inside(port, HIT_AND_RUN, tmp_path) == 0
        assert hits(port) == 0
        assert status_of(port, path="/hit") == 200
        assert hits(port) == 1
