"""What a command may use up, on every rung: a runaway is stopped, and the machine does not notice."""

import os
import resource
import subprocess
import time

import pytest

from agi.sandbox.base import GIB, MIB, Limits
from agi.sandbox.limits import as_shell, memory_of, threads_now, wanted

from .conftest import LADDERS

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

    assert all(f"agi-{os.getpid()}-" in path for path in mine), told


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


def test_no_limit_is_higher_than_our_own():
    """Such a one could not be set."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    numbers = wanted(Limits(open_files=1 << 40), grouped=True)

    assert numbers[resource.RLIMIT_NOFILE] == hard
    assert numbers[resource.RLIMIT_CORE] == 0


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
