"""What a command may use up, on every rung: a runaway is stopped, and the machine does not notice."""

import errno
import json
import os
import resource
import subprocess
import sys
import time

import pytest

from agi.sandbox.base import GIB, MIB, Limits
from agi.sandbox.ladder import CONFINING
from agi.sandbox.limits import as_shell, memory_of, threads_now, wanted

from .conftest import LADDERS, environment_of_another, python_of

HOG = "python3 -c 'data = bytearray(600 << 20); print(len(data))'"
BOMB = """python3 -c '
import os, time
try:
    while True:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
except OSError as error:
    print(error.strerror)
'"""


def is_grouped():
    return LADDERS["bubblewrap"].rung and LADDERS["bubblewrap"]._groups is not None


@pytest.mark.threat("T35")
async def test_a_memory_hog_is_stopped(on_every_rung):
    """It fails to get the memory, or is ended."""
    result = await on_every_rung(HOG, limits=Limits(memory=300 * MIB))
    fine = await on_every_rung(HOG, limits=Limits(memory=2 * GIB))

    assert "629145600" not in result.stdout.head
    assert fine.stdout.head == "629145600\n"
    if is_grouped():
        assert result.notes == ("it used more memory than a command may, and was ended",)


@pytest.mark.threat("T35")
async def test_a_fork_bomb_is_stopped(on_every_rung):
    """No more processes than allowed, and none of them is left."""
    if os.getuid() == 0 and not is_grouped():
        pytest.skip("as root, only control groups limit the number of processes, and none can be made here")
    result = await on_every_rung(BOMB, limits=Limits(processes=60), timeout_s=30)

    assert result.stdout.head == "Resource temporarily unavailable\n"
    assert result.leftovers


@pytest.mark.threat("T35")
async def test_a_command_shares_its_limits_before_it_does_anything(on_every_rung):
    """One that could start processes before would always have some that are not found."""
    if not is_grouped():
        pytest.skip("no control groups can be made here")
    result = await on_every_rung("exec cat /proc/self/cgroup")
    told = {line.split(":")[1]: line.split(":")[2] for line in result.stdout.head.splitlines()}
    mine = [told[name] for name in ("memory", "pids")] if "pids" in told else [told[""]]

    # One that was born in its group sees it as the root of all; `test_cgroups.py` looks from outside.
    assert all(f"agi-{os.getpid()}-" in path or mine == ["/"] for path in mine), told


@pytest.mark.threat("T35")
async def test_a_disk_filler_is_stopped(on_every_rung, workspace):
    """No file grows beyond the limit."""
    result = await on_every_rung("head -c 50M /dev/zero > big", limits=Limits(file_size=10 * MIB))

    assert result.exit_code != 0 or result.signal
    assert (workspace / "big").stat().st_size <= 10 * MIB


async def test_scratch_space_is_limited(apart):
    """The folders that last as long as the command are in memory."""
    result = await apart(
        "for place in /tmp ~ /run; do head -c 50M /dev/zero > $place/big && echo too much; done",
        limits=Limits(scratch=MIB),
    )

    assert result.stdout.head == ""


async def test_processor_time_open_files_and_core_files_are_limited(on_every_rung):
    """For each process."""
    result = await on_every_rung("ulimit -c; ulimit -n; ulimit -t", limits=Limits(cpu_seconds=100, open_files=300))
    spent = await on_every_rung("while :; do :; done", limits=Limits(cpu_seconds=1), timeout_s=60)

    assert result.stdout.head.split() == ["0", "300", "100"]
    assert spent.signal in ("SIGKILL", "SIGXCPU")


@pytest.mark.threat("T35")
async def test_endless_output_costs_no_memory(on_every_rung):
    """It is read until time is up, and only its ends are kept."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await on_every_rung("yes", timeout_s=1)

    assert result.timed_out
    assert result.stdout.omitted_bytes > 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024


async def test_commands_go_first_when_the_machine_is_out_of_memory(on_every_rung):
    """Before the daemon, and before the user's own programs."""
    result = await on_every_rung("for n in 1 2 3 4 5 6 7 8 9; do cat /proc/self/oom_score_adj; sleep 0.05; done")

    assert result.stdout.head.split()[-1] == "500" or (os.getuid() == 0 and not is_grouped())


def test_memory_has_a_default_by_the_machine():
    """Three quarters of it, and 8 GiB at most; 0 is no limit."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

    assert memory_of(Limits()) == min(8 * GIB, machine * 3 // 4)
    assert memory_of(Limits(memory=5)) == 5
    assert memory_of(Limits(memory=0)) is None


RAISED = """
import json, os, resource, sys
from agi.sandbox.base import Limits
from agi.sandbox.ladder import Ladder
from agi.sandbox.limits import wanted

for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):
    resource.setrlimit(kind, (1024, 4096))
ladder = Ladder(os.environ, "off")
ladder.rung
ladder.close()
numbers = wanted(Limits(open_files=1 << 40, file_size=1 << 40), grouped=True)
print(json.dumps([resource.getrlimit(resource.RLIMIT_NOFILE), *(numbers[kind] for kind in (7, 1, 4))]))
"""


def test_no_limit_is_higher_than_our_own_and_of_open_files_half_is_left_to_us():
    """A higher one could not be set. We open as many as we may, whatever we were started with."""
    said = subprocess.run([sys.executable, "-c", RAISED], capture_output=True, text=True, check=True)

    assert json.loads(said.stdout) == [[4096, 4096], 2048, 4096, 0]


PARKING = """python3 -c '
import array, os, socket, sys, time
held = array.array("i", [0] * 253).tobytes()
pairs, parked = [], 0
try:
    while parked < 100_000:
        pairs.append(socket.socketpair())
        pairs[-1][0].setblocking(False)
        try:
            while True:
                pairs[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, held)])
                parked += 253
        except BlockingIOError:
            pass
except OSError as problem:
    print(problem.strerror, file=open("stopped", "a"))
until = time.monotonic() + 40
while not os.path.exists("go on") and time.monotonic() < until:
    time.sleep(0.01)
'"""
PARKED = """
import asyncio, json, os, resource, sys
from pathlib import Path
from agi.errors import AgiError
from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.sandbox.ladder import Ladder
from agi.workspace.processes import run_command

rung, folder, greedy = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
folder.mkdir()
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 8192))
env = dict(os.environ)
ladder = Ladder(env, "off") if rung == "none" else Ladder(env, tried=[rung])
if ladder.rung.name != rung:
    sys.exit(f"{rung} does not work here: {ladder.rung.why}")
cell = Cell(ladder, Confinement(workspace=folder))

def run(command):
    return run_command(command, cwd=folder, timeout_s=60, env=env, on_output=lambda *_: None, cell=cell)

async def main():
    stopped = folder / "stopped"
    parking = [asyncio.create_task(run(greedy)) for _ in range(3)]
    while not all(task.done() for task in parking) and not (stopped.exists() and stopped.read_text().count("\\n") == 3):
        await asyncio.sleep(0.01)
    try:
        said = (await run("echo fine")).stdout.head
    except (AgiError, OSError) as problem:
        said = str(problem)
    (folder / "go on").touch()
    await asyncio.gather(*parking, return_exceptions=True)
    print(json.dumps([stopped.read_text(), said]))

asyncio.run(main())
ladder.close()
"""
"""A daemon, one of whose commands sends descriptors to itself and takes none of them, as many as it may."""


@pytest.mark.threat("T35")
@pytest.mark.parametrize("rung", [*CONFINING, "none"])
def test_descriptors_that_commands_have_sent_and_not_taken_stop_no_other_command(elsewhere, rung):
    """The kernel counts them for a user as a whole: commands are refused more before the daemon is."""
    elsewhere.chmod(0o777)
    command = [*python_of(23458), "-c", PARKED, rung, str(elsewhere / "workspace"), PARKING]
    ran = subprocess.run(command, env=environment_of_another(), capture_output=True, text=True, timeout=110)
    if "does not work here" in ran.stderr:
        pytest.skip(ran.stderr.strip())
    assert ran.returncode == 0, ran.stderr

    assert json.loads(ran.stdout) == [f"{os.strerror(errno.ETOOMANYREFS)}\n" * 3, "fine\n"]


def test_in_a_group_memory_and_processes_are_its_business():
    """Else each process is limited, and all the user's processes are counted."""
    limits = Limits(memory=GIB, processes=100)

    assert resource.RLIMIT_DATA not in wanted(limits, grouped=True)
    alone = wanted(limits, grouped=False, others=50)
    assert (alone[resource.RLIMIT_DATA], alone[resource.RLIMIT_NPROC]) == (GIB, 150)
    assert resource.RLIMIT_AS not in alone
    assert threads_now() > 0


def test_none_is_no_limit():
    """Whoever wants none says so."""
    open_ended = Limits(memory=0, processes=None, file_size=None, cpu_seconds=None, open_files=None)

    assert wanted(open_ended, grouped=False) == {resource.RLIMIT_CORE: 0}


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash", "/bin/dash", "/usr/bin/busybox"])
def test_any_shell_sets_them(shell):
    """The same limits, whichever shell the system calls sh."""
    if not os.path.exists(shell):
        pytest.skip(f"{shell} is not installed")
    argv = [shell, "sh"] if shell.endswith("busybox") else [shell]
    script = as_shell({resource.RLIMIT_NOFILE: 100, resource.RLIMIT_FSIZE: 51200, resource.RLIMIT_NPROC: 5000})
    code = "import resource as r; print([r.getrlimit(k)[1] for k in (r.RLIMIT_NOFILE, r.RLIMIT_FSIZE, r.RLIMIT_NPROC)])"
    posix = "set -o posix 2>/dev/null;" if "bash" in shell else ""
    said = subprocess.check_output([*argv, "-c", f'{posix}{script}\npython3 -c "{code}"'], text=True)

    assert said == "[100, 51200, 5000]\n"


@pytest.mark.threat("T35")
async def test_a_sleeper_is_ended_when_time_is_up(on_every_rung):
    """Together with whatever it started."""
    began = time.monotonic()
    result = await on_every_rung("setsid sleep 100 & sleep 100", timeout_s=0.5)

    assert result.timed_out
    assert time.monotonic() - began < 20
