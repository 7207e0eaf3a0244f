"""The helper from which commands are forked: whatever becomes of it, commands are seen through."""

import asyncio
import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from agi.errors import Unavailable
from agi.sandbox import helper as helping
from agi.sandbox.base import Confinement, Limits
from agi.sandbox.cell import Cell
from agi.sandbox.helper import Held, Helper
from agi.sandbox.ladder import Ladder
from agi.sandbox.line import Line
from agi.sandbox.passing import is_passing
from agi.sandbox.survivors import descendants
from agi.workspace.launching import launch
from agi.workspace.processes import run_command

from .conftest import ENV, runner

ORDER = {
    "grace": 0.4,
    "drain": 0.2,
    "limits": {},
    "score": 500,
    "landlock": None,
    "filter": None,
    "enclosure": None,
    "entrances": [],
    "birthplace": "",
}
ORDER["env"] = ENV


@pytest.fixture(params=["namespaces", "landlock", "none"])
def cell(request, workspace):
    """A cell with a helper of its own, on each rung that has one."""
    ladder = Ladder(ENV, "off") if request.param == "none" else Ladder(ENV, tried=[request.param])
    if ladder.rung.name != request.param:
        pytest.skip(f"{request.param} does not work here: {'; '.join(ladder.rung.why)}")
    yield Cell(ladder, Confinement(workspace=workspace))
    ladder.close()


def run(cell, command, timeout_s=60.0):
    folder = cell.confinement.workspace
    return run_command(command, cwd=folder, timeout_s=timeout_s, env=ENV, on_output=lambda *_: None, cell=cell)


def begin(cell, command):
    folder = cell.confinement.workspace
    return launch(["/bin/sh", "-c", command], cwd=folder, env=ENV, on_bytes=lambda *_: None, cell=cell)


def parent(pid):
    """Who forked a process, or has collected it since."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def state(pid):
    """What it does: `T` if it was stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def environment(pid):
    return Path(f"/proc/{pid}/environ").read_bytes()


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def spoken(pid):
    """The command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def wait_for(condition, seconds=20.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        await asyncio.sleep(0.01)


def written(path):
    return path.exists() and path.read_text().endswith("\n")


async def close(launched):
    await launched.end(0.5)
    launched.close()


async def test_a_command_has_its_three_streams_and_no_other_descriptor(cell):
    """Neither the line to the daemon nor the folder it was started by."""
    launched = await begin(cell, "echo x > ready; exec sleep 60")
    await wait_for(lambda: written(cell.confinement.workspace / "ready"))
    (command,) = children(launched.pid)

    # What a program opens for itself while it is loaded is gone in a moment; what was inherited would stay.
    await wait_for(lambda: sorted(os.listdir(f"/proc/{command}/fd")) == ["0", "1", "2"])
    await close(launched)


async def test_the_helper_knows_nothing(cell):
    """It has no environment, stands in no folder, and keeps nothing of a command."""
    launched = await begin(cell, "echo x > ready; sleep 60")
    await wait_for(lambda: written(cell.confinement.workspace / "ready"))
    helper = parent(launched.pid)
    kinds = sorted(os.readlink(f"/proc/{helper}/fd/{fd}").partition(":")[0] for fd in os.listdir(f"/proc/{helper}/fd"))

    assert environment(helper) == b""
    assert os.readlink(f"/proc/{helper}/cwd") == "/"
    assert kinds == ["/dev/null"] * 3 + ["anon_inode", "socket"]
    assert parent(helper) != os.getpid()
    await close(launched)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_helper_that_dies_is_replaced_and_takes_no_command_along(cell, number):
    """Who is held is held by somebody else, and the next command finds a new one."""
    go = cell.confinement.workspace / "go"
    launched = await begin(cell, f"echo x > ready; until [ -e {go} ]; do sleep 0.01; done; exit 7")
    await wait_for(lambda: written(cell.confinement.workspace / "ready"))
    helper = parent(launched.pid)
    os.kill(helper, number)
    await wait_for(lambda: not is_alive(helper))

    assert (await run(cell, "echo on")).stdout.head == "on\n"
    go.touch()
    assert await launched.child.exited_within(20)
    assert (launched.ending(), launched.close().leftovers) == ((7, ""), False)


async def test_who_waits_for_a_command_to_start_keeps_nobody_else_waiting(cell):
    """A helper takes its time where many commands begin at once; all else in the daemon goes on meanwhile."""
    launched = await begin(cell, "echo x > ready; exec sleep 60")
    await wait_for(lambda: written(cell.confinement.workspace / "ready"))
    helper = parent(launched.pid)
    os.kill(helper, signal.SIGSTOP)
    await wait_for(lambda: state(helper) == "T")

    running = asyncio.create_task(run(cell, "echo on"))
    for _ in range(20):
        await asyncio.sleep(0)

    assert (state(helper), running.done()) == ("T", False)
    os.kill(helper, signal.SIGCONT)
    assert (await running).stdout.head == "on\n"
    await close(launched)


async def test_a_command_that_is_canceled_while_it_is_started_never_begins(cell):
    """Whoever is forked for it finds nobody who gives leave."""
    folder = cell.confinement.workspace
    launched = await begin(cell, "echo x > ready; exec sleep 60")
    await wait_for(lambda: written(folder / "ready"))
    helper = parent(launched.pid)
    os.kill(helper, signal.SIGSTOP)
    running = asyncio.create_task(run(cell, "echo x > begun"))
    for _ in range(20):
        await asyncio.sleep(0)

    running.cancel()
    await asyncio.wait({running})
    os.kill(helper, signal.SIGCONT)

    assert running.cancelled()
    assert (await run(cell, "echo next")).stdout.head == "next\n"
    assert not (folder / "begun").exists()
    await close(launched)


async def test_a_helper_that_was_stopped_goes_on_and_is_not_left_behind(workspace):
    """Where nothing keeps a command in, it can stop the helper; the daemon, which waits for it, does not wait long."""
    ladder = Ladder(ENV, "off")
    cell = Cell(ladder, Confinement(workspace=workspace))
    launched = await begin(cell, "echo x > ready; sleep 60")
    await wait_for(lambda: written(workspace / "ready"))
    helper = parent(launched.pid)
    os.kill(helper, signal.SIGSTOP)

    again = await begin(cell, "sleep 60")
    assert parent(again.pid) == helper
    os.kill(helper, signal.SIGSTOP)
    ladder.close()
    await wait_for(lambda: not is_alive(helper))
    await close(launched)
    await close(again)


async def test_an_interpreter_that_does_not_come_up_is_not_waited_for_without_end(workspace, tmp_path, monkeypatch):
    """The event loop waits for it: after a while it is killed, and the command is refused."""
    stuck = tmp_path / "stuck"
    stuck.write_text("#!/bin/sh\nexec sleep 600\n")
    stuck.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stuck))
    monkeypatch.setattr(helping, "_ANSWER_S", 0.3)
    cell = Cell(Ladder(ENV, "off"), Confinement(workspace=workspace))
    assert cell.rung.name == "none"  # what limits commands is held open from now on
    before = os.listdir("/proc/self/fd")

    with pytest.raises(Unavailable, match="does not start") as refused:
        await run(cell, "touch ran")
    assert refused.value.code == "sandbox_failed"

    assert os.listdir("/proc/self/fd") == before
    assert not any("stuck" in command or "sleep 600" in command for command in map(spoken, children(os.getpid())))


async def test_one_that_does_not_start_is_an_error_and_leaks_nothing(workspace, monkeypatch):
    """Nothing ran then, and it is said."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    cell = Cell(Ladder(ENV, "off"), Confinement(workspace=workspace))
    assert cell.rung
    before = os.listdir("/proc/self/fd")

    with pytest.raises(Unavailable, match="does not start") as refused:
        await run(cell, "touch ran")
    assert refused.value.code == "sandbox_failed"

    assert os.listdir("/proc/self/fd") == before
    assert os.listdir(workspace) == []


def test_what_is_not_given_leave_never_begins(workspace):
    """A daemon that dies in the middle has started nothing."""
    helper, null = Helper(), os.open(os.devnull, os.O_RDWR)
    held = helper.start({**ORDER, "argv": ["/bin/touch", "ran"]}, cwd=workspace, streams=[null, null])
    held.close()
    until = time.monotonic() + 20
    while is_alive(held.pid):
        assert time.monotonic() < until
    again = helper.start({**ORDER, "argv": ["/bin/touch", "again"]}, cwd=workspace, streams=[null, null])
    again.begin()

    assert (again.wait(20), os.listdir(workspace)) == (0, ["again"])
    again.close()
    helper.close()
    os.close(null)


def test_a_process_that_was_forked_from_ours_has_a_helper_of_its_own(workspace):
    """Two that ask one would hear each other's answers."""
    code = (
        "import os, sys; from pathlib import Path; from agi.sandbox.helper import Helper; sys.path.pop(0)\n"
        f"order = {ORDER!r}\n"
        "def one(helper):\n"
        f"    held = helper.start({{**order, 'argv': ['/bin/true']}}, cwd=Path({str(workspace)!r}), streams=[1, 2])\n"
        "    found = int(Path(f'/proc/{held.pid}/stat').read_text().rpartition(')')[2].split()[1])\n"
        "    held.begin(); assert held.wait(20) == 0; held.close()\n"
        "    return found\n"
        "helper = Helper(); first = one(helper); pid = os.fork()\n"
        "print(one(helper) == first, flush=True)\n"
        "if pid: os.waitpid(pid, 0)\n"
        "helper.close()\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert sorted(said.stdout.split()) == ["False", "True"]


def test_a_daemon_that_was_started_to_ignore_its_children_still_hears_of_commands(workspace):
    """Some supervisors ignore SIGCHLD, which is inherited; nobody can be waited for then."""
    code = (
        "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "from pathlib import Path; from agi.sandbox.helper import Helper\n"
        f"order = {{**{ORDER!r}, 'argv': ['/bin/sh', '-c', 'exit 3']}}\n"
        f"helper = Helper(); held = helper.start(order, cwd=Path({str(workspace)!r}), streams=[1, 2])\n"
        "held.begin(); print(held.wait(10)); held.close(); helper.close()\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert said.stdout == "3\n"


PARKING = """
import os, resource, socket
from pathlib import Path
from agi.errors import Unavailable
from agi.sandbox.helper import Helper

def one():
    held = helper.start(order, cwd=Path("/"), streams=[null, null])
    helpers.append(int(Path(f"/proc/{held.pid}/stat").read_text().rpartition(")")[2].split()[1]))
    held.begin(); assert held.wait(20) == 0; held.close()

def refused():
    try:
        one()
    except Unavailable as problem:
        print(problem.code, problem.message, problem.hint, sep="|", flush=True)

helper, helpers, null = Helper(), [], os.open(os.devnull, os.O_RDWR)
one()
if os.getuid() == 0:
    os.setresuid(61234, 61234, 61234)  # whoever has power over the system has no such limit
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
ours, theirs = socket.socketpair()
socket.send_fds(ours, [b"x"], [null] * 100)
refused()
ours.close(); theirs.close()
one()
print(len(set(helpers)))
helper.close()
"""


@pytest.mark.threat("T9")
def test_a_helper_that_cannot_be_asked_is_kept(workspace):
    """A command of the same user can fill up what may be on its way between processes; that is said, and passes."""
    code = f"order = {{**{ORDER!r}, 'argv': ['/bin/true']}}\n{PARKING}"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    refusal, helpers = said.stdout.splitlines()
    error, message, hint = refusal.split("|")

    assert error == "sandbox_failed"
    assert os.strerror(errno.ETOOMANYREFS) in message
    assert hint.startswith("Nothing was run.")
    assert helpers == "1"


def test_a_rung_that_could_not_be_asked_is_not_one_that_does_not_hold():
    """Else a program that fills up what may be on its way would take the walls away."""
    assert is_passing(OSError(errno.ETOOMANYREFS, os.strerror(errno.ETOOMANYREFS)))


FIRST_PROCESS = """
import os, signal, time
from pathlib import Path
from agi.sandbox.helper import Helper

def start(*argv):
    held = helper.start({**order, "argv": argv}, cwd=Path("/"), streams=[null, null])
    held.begin()
    return held

def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

def left():
    pids = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and pid != "1"]
    return [pid for pid in pids if parent(pid) == 1]

assert os.getpid() == 1
helper, null = Helper(), os.open(os.devnull, os.O_RDWR)
long = start("/bin/sleep", "60")
killed = parent(long.pid)
os.kill(killed, signal.SIGKILL)
start("/bin/true").wait(20)
long.signal(signal.SIGKILL)
long.wait(20)
long.close()
until = time.monotonic() + 20
while {killed, long.pid} & set(left()) and time.monotonic() < until:
    short = start("/bin/true"); short.wait(20); short.close()
print(len({killed, long.pid} & set(left())), flush=True)
helper.close()
while left() and time.monotonic() < until:
    helper.close(); time.sleep(0.01)
print(len(left()))
"""


def test_a_daemon_that_is_the_first_process_leaves_no_dead_ones_lying_about():
    """In a container nobody else collects a helper, or the holders of one that was killed."""
    unshare = shutil.which("unshare")
    if os.getuid() != 0 or unshare is None:
        pytest.skip("needs root and unshare, to be the first process")
    code = f"order = {ORDER!r}\n{FIRST_PROCESS}"
    command = [unshare, "--pid", "--fork", "--mount-proc", sys.executable, "-c", code]
    said = subprocess.run(command, capture_output=True, text=True, timeout=90, check=True)

    assert said.stdout.split() == ["0", "0"]


def test_many_threads_may_ask_at_once(cell):
    """Each with an event loop of its own; one that ends takes no other's command along."""
    found = []

    def one(number):
        async def several():
            return [(await run(cell, f"echo {number}.{n}")).stdout.head for n in range(5)]

        found.append((number, asyncio.run(several())))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(found) == [(number, [f"{number}.{n}\n" for n in range(5)]) for number in range(6)]


async def test_who_stops_its_holder_ends_with_its_time_all_the_same(workspace):
    """Where nothing keeps a command in, it can reach whoever holds it."""
    run_in_none = runner("none", workspace)
    result = await run_in_none("echo $PPID > holder; env -i setsid sleep 60 & kill -STOP $PPID; sleep 60", timeout_s=1)
    holder = int((workspace / "holder").read_text())

    assert result.timed_out
    await wait_for(lambda: not is_alive(holder))


@pytest.mark.parametrize("said", [b"se", b"sex", b"se--1", b"se\xc2\xb2"])
def test_nonsense_on_the_line_is_the_end_of_one_that_was_killed(said):
    """Who is not kept in can take the line from its holder; the daemon still learns that it is over."""
    line = Line()
    held = Held(os.getpid(), line)
    line.theirs.send(said)
    held.collect()
    line.close()

    assert held.returncode == -signal.SIGKILL


@pytest.mark.threat("T27")
def test_a_first_process_that_has_hung_up_is_waited_for():
    """What is in its namespace lives as long as it does, and could still take a name that is given free."""
    line = Line()
    first = subprocess.Popen(["sleep", "60"])
    held = Held(first.pid, line, is_first=True)
    line.theirs.close()

    assert held.wait(0.1) is None
    first.kill()
    assert held.wait(20) == -signal.SIGKILL
    first.wait()
    line.close()


def test_who_talks_without_end_is_not_listened_to_without_end():
    """The daemon has others to listen to; what a holder has to say is a few bytes."""
    line = Line()
    line.theirs.send(b"s" * 50_000)
    heard = len(line.hear())
    line.close()

    assert heard < 1000


@pytest.mark.parametrize("limits", [Limits(open_files=12), Limits(cpu_seconds=2), Limits(file_size=0)])
async def test_limits_too_tight_for_the_holder_are_the_commands_alone(workspace, limits):
    """They hold, and what is left is still found and ended."""
    result = await runner("none", workspace)(
        "ulimit -n; ulimit -t; env -i setsid sleep 60 >/dev/null 2>&1 & echo $!; sleep 0.1", limits=limits
    )
    *_, left = result.stdout.head.split()

    assert result.leftovers
    assert not is_alive(int(left))
    if limits.open_files == 12:
        assert result.stdout.head.split()[0] == "12"


async def test_without_pidfds_the_end_is_noticed_by_a_thread(cell, monkeypatch):
    """As on older kernels."""

    def missing(pid):
        raise OSError("no such call")

    monkeypatch.setattr(os, "pidfd_open", missing)

    assert (await run(cell, "echo hi; exit 3")).exit_code == 3
    assert (await run(cell, "sleep 60", 0.3)).timed_out


async def test_a_command_that_is_killed_at_once_leaves_nobody(cell):
    """Not even who has cleared its environment: the holder knows its descendants."""
    launched = await begin(cell, "env -i /usr/bin/setsid /bin/sh -c 'echo x > ready; exec sleep 60' & sleep 60")
    await wait_for(lambda: written(cell.confinement.workspace / "ready"))
    running = {launched.pid, *descendants(launched.pid)}
    assert any(pid != launched.pid and b"\0PATH=" not in b"\0" + environment(pid) for pid in running)

    launched.child.kill()
    launched.close()

    await wait_for(lambda: not any(map(is_alive, running)))


DAEMON = """
import asyncio, os, sys
from pathlib import Path
from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.sandbox.ladder import Ladder
from agi.sandbox.line import Line
from agi.workspace.processes import child_environment, run_command

env = child_environment(os.environ, os.getpid())
folder = Path(sys.argv[1])
cell = Cell(Ladder(env, "off"), Confinement(workspace=folder))
asyncio.run(run_command("echo $PPID > holder; sleep 60", cwd=folder, timeout_s=90, env=env, on_output=print, cell=cell))
"""


def a_daemon(workspace):
    return subprocess.Popen([sys.executable, "-c", DAEMON, workspace])


async def test_when_the_daemon_is_killed_neither_helper_nor_holder_is_left(workspace):
    """Nobody is there to tell them, so the end of the line does."""
    daemon = a_daemon(workspace)
    try:
        await wait_for(lambda: written(workspace / "holder"), 60)
        holder = int((workspace / "holder").read_text())
        helper = parent(holder)
    finally:
        daemon.kill()
        daemon.wait()

    await wait_for(lambda: not is_alive(holder) and not is_alive(helper))
