"""Who is at the other end: real sockets, real processes, real users, asked of the kernel."""

from __future__ import annotations

import asyncio
import contextlib
import functools
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
from types import SimpleNamespace

import pytest

from agi.sandbox.base import Confinement, RungName
from agi.sandbox.cell import Cell
from agi.sandbox.ladder import Ladder
from agi.sandbox.survivors import APART, CHILD_MARKER
from agi.server import peer, rows
from agi.server.peer import PATIENCE_S, OtherEnd, PeerCheck
from agi.server.rows import Address, Row, ask_kernel, read_tables
from agi.workspace.launching import launch
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
    monkeypatch.setattr(rows, "_NETLINK_SOCK_DIAG", 31)
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


@pytest.mark.threat("T9")
@pytest.mark.parametrize(
    ("rung", "way"),
    [
        ("landlock", "as ever"),
        ("landlock", "its helper killed"),
        ("landlock", "its helper and its holder killed"),
        ("landlock", "its helper let go"),
        ("none", "its helper killed"),
        ("none", "its helper let go"),
    ],
)
async def test_a_command_that_has_dropped_its_mark_is_known(rung: RungName, way: str, tmp_path: Path) -> None:
    """Its holder is, as long as it lives, and on Landlock the command itself: nobody gets rid of a filter."""
    ladder = ladder_of_its_own(rung)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(20)
        port = listener.getsockname()[1]
        command = ["/usr/bin/env", "-i", "A=b", bash(), "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}; exec sleep 60"]
        cell = Cell(ladder, Confinement(workspace=tmp_path, network="on"))
        launched = await launch(command, cwd=tmp_path, env=ENV, on_bytes=lambda *_: None, cell=cell)
        try:
            ours, _ = await asyncio.to_thread(listener.accept)
            (inner,) = children(launched.pid)
            helper = parent(launched.pid)
            assert {helper, launched.pid} <= APART
            if way == "its helper let go":
                ladder.close()
            if "killed" in way:
                os.kill(helper, signal.SIGKILL)
            if "holder" in way:
                os.kill(launched.pid, signal.SIGKILL)
            for gone in {"as ever": [], "its helper and its holder killed": [helper, launched.pid]}.get(way, [helper]):
                wait_until(functools.partial(is_over, gone))
            with ours:
                found = PeerCheck().accept(*addresses(ours))
                assert found is not None
                assert not PeerCheck().is_outside(found)
                # Where its holder lives, it is known for our own.
                assert PeerCheck().standing(found) == ("apart" if "holder" in way else "unknown")
        finally:
            with contextlib.suppress(OSError):
                os.kill(inner, signal.SIGKILL)
            await launched.end(0.5)
            launched.close()
            ladder.close()
    assert not {helper, launched.pid} & APART


OTHER_DAEMON = """
import asyncio, os, sys
from pathlib import Path
from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.sandbox.ladder import Ladder
from agi.workspace.processes import child_environment, run_command

env, folder = child_environment(os.environ, os.getpid()), Path(sys.argv[1]).resolve()
ladder = Ladder(env, tried=["landlock"])
cell = Cell(ladder, Confinement(workspace=folder, network="on"))
ran = asyncio.run(
    run_command(sys.argv[2], cwd=folder, timeout_s=60, env=env, on_output=lambda *_: None, cell=cell)
)
ladder.close()
print(ran.stdout.head, end="")
"""


@pytest.mark.threat("T9")
def test_a_command_of_another_daemon_needs_the_token_on_landlock_too(tmp_path: Path) -> None:
    """It has no process namespace, no mark of anybody's, and none of our processes above it."""
    ladder_of_its_own("landlock").close()
    with daemon() as port:
        request = f"GET /v1/sessions HTTP/1.1\\r\\nHost: localhost:{port}\\r\\n\\r\\n"
        script = f"exec 3<>/dev/tcp/127.0.0.1/{port}; printf '{request}' >&3; head -c 12 <&3"
        command = f'env -i A=b {bash()} -c "{script}"'
        other = [sys.executable, "-c", OTHER_DAEMON, str(tmp_path), command]
        plain = ["sh", "-c", f"exec {command}"]
        assert subprocess.run(plain, capture_output=True, check=True).stdout == b"HTTP/1.1 200"
        assert subprocess.run(other, capture_output=True, check=True).stdout == b"HTTP/1.1 401"
        assert subprocess.run(plain, capture_output=True, check=True).stdout == b"HTTP/1.1 200"


SHUT_IN = """
import ctypes, os, platform, subprocess, sys
from agi.sandbox.kernel import _Program, load_filter
from agi.sandbox.seccomp import Sockets, build_filter

def shut_in(promised=True):
    program = build_filter(platform.machine(), Sockets(internet=True, unix=True))
    if promised:
        load_filter(program)
    else:  # as those may who have power
        loaded = _Program(len(program) // 8, program)
        assert not ctypes.CDLL(None).prctl(22, 2, ctypes.byref(loaded), 0, 0)
"""

HOLDER = """
import time
from agi.sandbox.kernel import _prctl
how, fd, more = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if os.fork():
    os._exit(0)
os.setsid()
if how == "promise":
    _prctl(38, 1)
elif how != "nothing":
    shut_in(promised=how == "both")
for _ in range(more):
    os.dup(fd)
print(os.getpid(), flush=True)
time.sleep(60)
"""


@contextlib.contextmanager
def held_by_another(how: str, held: socket.socket | int, more: int = 0) -> Iterator[int]:
    """A process that is nobody's, and holds a descriptor of ours, and as many more as it is told; its number."""
    fd = held if isinstance(held, int) else held.fileno()
    arguments = [how, str(fd), str(more)]
    command = [sys.executable, "-c", SHUT_IN + HOLDER, *arguments]
    with subprocess.Popen(command, pass_fds=[fd], stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        pid = int(started.stdout.readline())
        started.wait()
        try:
            yield pid
        finally:
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("more", [0, 20])
@pytest.mark.parametrize(
    ("how", "standing"), [("nothing", "outside"), ("promise", "outside"), ("filter", "outside"), ("both", "apart")]
)
def test_a_filter_that_cannot_be_shed_is_what_commands_have(how: str, standing: str, more: int) -> None:
    """Services with one of the two are let in; with both it could be a command, however few descriptors it has."""
    if how == "filter" and os.getuid() != 0:
        pytest.skip("needs root, to have a filter without the promise")
    with connection() as (ours, client), held_by_another(how, client, more):
        client.close()
        found = PeerCheck().accept(*addresses(ours))
        assert found is not None
        assert PeerCheck().is_outside(found) == (standing == "outside")
        assert PeerCheck().standing(found) == standing


FIRST = """
shut_in()
SERVER = '''
import socket
from agi.server.peer import PeerCheck
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    for _ in range(2):
        ours, _ = listener.accept()
        check = PeerCheck()
        print(check.standing(check.accept(ours.getsockname(), ours.getpeername())), flush=True)
'''
with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE) as server:
    port = int(server.stdout.readline())
    client = [sys.argv[1], "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}; exec sleep 60"]
    for before in (None, shut_in):
        with subprocess.Popen(client, preexec_fn=before) as started:
            print(server.stdout.readline().decode().strip(), flush=True)
            started.kill()
"""


def test_a_filter_that_all_of_a_container_has_says_nothing() -> None:
    """What the first process there has, everybody has; a command has one more."""
    unshare = shutil.which("unshare")
    if os.getuid() != 0 or unshare is None:
        pytest.skip("needs root and unshare, to make a container of a kind")
    command = [unshare, "--pid", "--fork", "--mount-proc", sys.executable, "-c", SHUT_IN + FIRST, bash()]
    said = subprocess.run(command, capture_output=True, timeout=60, check=True).stdout.split()
    assert said == [b"outside", b"apart"]


class Ticking:
    """A clock that goes on with each look at it: it counts how much was done."""

    def __init__(self, tick: float = 1.0) -> None:
        self.now, self.tick = 0.0, tick

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


@pytest.mark.threat("T9")
def test_what_cannot_be_let_in_has_its_descriptors_left_alone() -> None:
    """A command may have thousands of them in each of its processes, and the daemon stands still while it reads."""
    with connection() as (ours, _), open(os.devnull, "rb") as null:
        ends = addresses(ours)
        with contextlib.ExitStack() as decoys:
            for _ in range(3):
                decoys.enter_context(held_by_another("both", null.fileno(), 900))
            work = Ticking()
            assert PeerCheck(patience_s=1e9, clock=work).same_user(*ends)
        with contextlib.ExitStack() as others:
            for _ in range(3):
                others.enter_context(held_by_another("nothing", null.fileno(), 900))
            more_work = Ticking()
            assert PeerCheck(patience_s=1e9, clock=more_work).same_user(*ends)
        assert more_work.now - work.now > 2000


@pytest.mark.threat("T9")
def test_a_look_that_takes_too_long_proves_nothing() -> None:
    """Who it was is not known then; the next one is looked for all the same."""
    with connection() as (ours, _):
        clock = Ticking(1.0)
        check = PeerCheck(clock=clock)
        assert not check.same_user(*addresses(ours))
        clock.tick = 0.0
        assert check.same_user(*addresses(ours))


def test_a_look_counts_what_it_works_more_than_what_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where others have the processor a look takes many times as long: whoever connects is no other one for that."""
    with connection() as (ours, _):
        ticks = Ticking()
        assert PeerCheck(patience_s=1e9, clock=ticks).same_user(*addresses(ours))
        waits = SimpleNamespace(monotonic=Ticking(4 * PATIENCE_S / ticks.now), thread_time=lambda: 0.0)
        monkeypatch.setattr(peer, "time", waits)
        assert PeerCheck().same_user(*addresses(ours))
        waits.thread_time = Ticking(PATIENCE_S)
        assert not PeerCheck().same_user(*addresses(ours))


@pytest.mark.threat("T9")
def test_looks_that_find_nobody_to_let_in_take_a_limited_time_together() -> None:
    """A command that connects a thousand times at once does not have the daemon stand still as many times as long."""
    with connection() as (ours, client), held_by_another("both", client, 300):
        client.close()
        clock = Ticking()
        check = PeerCheck(patience_s=1e9, clock=clock)
        found = check.accept(*addresses(ours))
        assert found is not None
        assert check.standing(found) == "apart"
        one = clock.now

        check = PeerCheck(patience_s=one * 5, clock=clock)
        found_each_time = [check.standing(found) for _ in range(40)]
        assert (found_each_time[0], found_each_time[-1]) == ("apart", "unknown")
        clock.now += one * 5 * 40
        assert check.standing(found) == "apart"


def test_looks_that_let_somebody_in_may_be_as_many_as_there_are_clients() -> None:
    """Only what was in vain counts; and when too much was, one who is found quickly enough is let in all the same."""
    with connection() as (ours, _), connection() as (theirs, other), held_by_another("both", other, 300):
        other.close()
        clock = Ticking()
        check = PeerCheck(patience_s=1e9, clock=clock)
        assert check.same_user(*addresses(ours))
        one = clock.now

        check = PeerCheck(patience_s=one * 5, clock=clock)
        assert all(check.same_user(*addresses(ours)) for _ in range(40))
        clock.tick = one * 10
        assert not any(check.same_user(*addresses(theirs)) for _ in range(10))
        clock.tick = 0.0
        assert check.same_user(*addresses(ours))


def test_the_other_end_is_looked_for_when_that_is_asked_and_once() -> None:
    """One who brings the token, or asks whether we are there, costs no search."""
    with connection() as (ours, _):
        clock = Ticking()
        check = PeerCheck(patience_s=1e9, clock=clock)
        end = OtherEnd(check, check.accept(*addresses(ours)))
        made = clock.now
        assert end.is_outside()
        looked = clock.now
        assert looked > made
        assert end.is_outside()
        assert end.is_known()
        assert clock.now == looked


def test_an_other_end_that_is_nobodys_is_neither_outside_nor_known() -> None:
    """Without a check, or without a row, nothing is proved."""
    assert not OtherEnd(None, None).is_outside()
    assert not OtherEnd(PeerCheck(), None).is_known()


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


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])


def is_over(pid: int) -> bool:
    try:
        return state(pid) in "ZX"
    except OSError:
        return True


def bash() -> str:
    return shutil.which("bash") or pytest.skip("needs bash, which opens connections by itself")


ENV = child_environment(os.environ, os.getpid())


def ladder_of_its_own(rung: RungName) -> Ladder:
    ladder = Ladder(ENV, "off") if rung == "none" else Ladder(ENV, tried=[rung])
    if ladder.rung.name != rung:
        pytest.skip(f"{rung} does not work here: {'; '.join(ladder.rung.why)}")
    return ladder


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
