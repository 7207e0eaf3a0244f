"""Starting programs in a sandbox: on every rung they end the same way, and nothing of them is left.

AGI_COMMANDS sets how many commands the leak test runs (default 300).
"""

import asyncio
import errno
import os
import resource
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
import uvloop

from agi.errors import Invalid, Unavailable
from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.sandbox.holding import is_settled
from agi.sandbox.ladder import CONFINING, Ladder
from agi.workspace.launching import launch
from agi.workspace.processes import capture, child_environment, run_command

COMMANDS = int(os.environ.get("AGI_COMMANDS", "300"))
AT_ONCE = 4
ENV = child_environment(os.environ, os.getpid())
LADDERS = {**{rung: Ladder(ENV, tried=[rung]) for rung in CONFINING}, "none": Ladder(ENV, "off")}

TREE = """
sleep {mark}1 &
nohup sleep {mark}2 >/dev/null 2>&1 &
setsid sleep {mark}3 >/dev/null 2>&1 &
( (exec sleep {mark}4) & )
(setsid sh -c 'setsid sleep {mark}5 & sleep {mark}6' &)
env -i setsid sleep {mark}7 >/dev/null 2>&1 &
(trap '' TERM HUP INT; sleep {mark}8; :) &
"""
"""Processes in the background, in other sessions, with other parents, without an environment, deaf."""


@pytest.fixture(params=LADDERS)
def cell(request, tmp_path):
    """The cell of an empty workspace, on each rung in turn."""
    ladder = LADDERS[request.param]
    if ladder.rung.name != request.param:
        pytest.skip(f"{request.param} does not work here: {'; '.join(ladder.rung.why)}")
    return Cell(ladder, Confinement(workspace=tmp_path.resolve()))


def run(cell, command, timeout_s=60.0, **options):
    return run_command(
        command,
        cwd=cell.confinement.workspace,
        timeout_s=timeout_s,
        env=ENV,
        on_output=options.pop("on_output", lambda *_: None),
        cell=cell,
        **options,
    )


def sleepers(mark):
    """The processes that sleep for a number that begins with the mark, seen from outside."""
    found = []
    for name in os.listdir("/proc"):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0") if name.isdigit() else []
            is_over = words and Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            continue
        if len(words) > 1 and words[0] == b"sleep" and words[1].startswith(mark.encode()) and not is_over:
            found.append(int(name))
    return found


def a_mark():
    """The beginning of a number of seconds that nobody else sleeps for."""
    return f"9{os.getpid()}{time.monotonic_ns() % 1_000_000}"


async def wait_for(condition, seconds=20.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        await asyncio.sleep(0.01)


async def test_output_exit_codes_and_signals_are_told_as_without(cell):
    """Whatever stands between."""
    heard = []
    result = await run(cell, "echo out; echo err >&2; exit 3", on_output=lambda *said: heard.append(said))
    killed = await run(cell, "kill -SEGV $$")
    missing = await run(cell, "no-such-program")

    assert (result.exit_code, result.stdout.head, result.stderr.head, result.notes) == (3, "out\n", "err\n", ())
    assert sorted(heard) == [("stderr", "err\n"), ("stdout", "out\n")]
    assert (killed.exit_code, killed.signal, killed.stderr.head) == (None, "SIGSEGV", "")
    assert missing.exit_code == 127


async def test_a_command_can_be_told_to_end_and_clear_up(cell, tmp_path):
    """Time is up: it is asked first, also inside a sandbox."""
    result = await run(cell, "trap 'echo cleared > done; exit 5' TERM; touch ready; while :; do sleep 0.02; done", 2)

    assert result.timed_out
    assert (tmp_path / "done").read_text() == "cleared\n"


async def test_what_a_command_leaves_in_the_background_ends_with_it(cell):
    """In whatever way it was left; the result does not wait for it, and says so."""
    mark = a_mark()
    began = time.monotonic()
    result = await run(cell, TREE.format(mark=mark) + "echo done")

    assert (result.stdout.head, result.leftovers) == ("done\n", True)
    assert time.monotonic() - began < 20
    await wait_for(lambda: not sleepers(mark))


async def test_last_words_from_the_background_are_heard(cell):
    """Output that passes through another process comes a moment later than the end."""
    result = await run(cell, "exec > >(sleep 0.05; cat); echo through; (sleep 0.05; echo late >&2) &")

    assert (result.stdout.head, result.stderr.head, result.leftovers) == ("through\n", "late\n", False)


@pytest.mark.threat("T35")
async def test_time_is_up_for_all_of_it(cell):
    """Nobody outlives the time, not even in a session of its own."""
    mark = a_mark()
    result = await run(cell, TREE.format(mark=mark) + f"sleep {mark}9", 1.5)

    assert result.timed_out
    await wait_for(lambda: not sleepers(mark))


async def test_canceling_ends_all_of_it(cell):
    """The cancellation is passed on once that is so."""
    mark = a_mark()
    task = asyncio.create_task(run(cell, TREE.format(mark=mark) + f"sleep {mark}9"))
    await wait_for(lambda: len(sleepers(mark)) == 9)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await wait_for(lambda: not sleepers(mark))


async def test_canceling_twice_leaves_nobody_either(cell):
    """Who cannot wait for the polite end gets the other one."""
    mark = a_mark()
    task = asyncio.create_task(run(cell, f"trap '' TERM; setsid sleep {mark}1 & while :; do sleep {mark}2; done"))
    await wait_for(lambda: len(sleepers(mark)) == 2)

    task.cancel()
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await wait_for(lambda: not sleepers(mark))


async def test_canceling_before_it_has_begun_leaves_nobody_either(cell):
    """A sandbox is built in steps, and what is half built must not go on by itself."""
    mark = a_mark()

    async def one(number):
        task = asyncio.create_task(run(cell, f"trap '' TERM; setsid sleep {mark}1 & sleep {mark}2"))
        await asyncio.sleep(number * 0.0005)
        task.cancel()
        await asyncio.wait([task])

    for first in range(8):
        await asyncio.gather(*map(one, range(first, 80, 8)))

    assert not sleepers(mark)
    assert children() == []


DAEMON = """
import asyncio, os, sys
from pathlib import Path
from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.sandbox.ladder import Ladder
from agi.workspace.processes import child_environment, run_command

rung, folder, command = sys.argv[1:]
env = child_environment(os.environ, os.getpid())
ladder = Ladder(env, "off") if rung == "none" else Ladder(env, tried=[rung])
cell = Cell(ladder, Confinement(workspace=Path(folder)))
ladder.rung
print("begins", flush=True)
asyncio.run(run_command(command, cwd=Path(folder), timeout_s=90, env=env, on_output=print, cell=cell))
"""


def end(daemon):
    daemon.kill()
    daemon.wait()
    daemon.stdout.close()


def mentioning(mark):
    """Processes whose command line has the mark in it: the command, and whatever builds its sandbox or watches it."""
    found = []
    for name in os.listdir("/proc"):
        with suppress(OSError):
            if name.isdigit() and mark.encode() in Path(f"/proc/{name}/cmdline").read_bytes():
                found.append(int(name))
    return found


def a_daemon(*words):
    daemon = subprocess.Popen([sys.executable, "-c", DAEMON, *words], stdout=subprocess.PIPE)
    daemon.stdout.readline()
    return daemon


@pytest.mark.threat("T35")
async def test_when_the_daemon_is_killed_its_commands_die(cell):
    """Nobody is there to end them, so they must end by themselves."""
    mark = a_mark()
    folder = str(cell.confinement.workspace)
    command = TREE.format(mark=mark) + f"sleep {mark}9"
    daemon = a_daemon(cell.rung.name, folder, command)
    try:
        await wait_for(lambda: len(sleepers(mark)) == 9, 60)
    finally:
        end(daemon)

    await wait_for(lambda: not sleepers(mark))


@pytest.mark.parametrize("delay_ms", [0, 1, 2, 4, 8, 16, 32])
async def test_when_the_daemon_is_killed_while_a_sandbox_is_built_nothing_runs_on(cell, delay_ms):
    """Whoever was to watch over it is gone before it began."""
    mark = a_mark()
    daemon = a_daemon(cell.rung.name, str(cell.confinement.workspace), f"setsid sleep {mark}1 & sleep {mark}2")
    await asyncio.sleep(delay_ms / 1000)
    end(daemon)

    await wait_for(lambda: not mentioning(mark))


async def test_a_program_that_says_too_much_is_stopped(cell):
    """With all it started."""
    mark = a_mark()
    answer = await capture(
        ["/bin/sh", "-c", f"setsid sleep {mark}1 & yes"],
        cwd=cell.confinement.workspace,
        env=ENV,
        timeout_s=60,
        limit=10_000,
        cell=cell,
    )

    assert (len(answer.stdout), answer.truncated) == (10_000, True)
    await wait_for(lambda: not sleepers(mark))


async def test_a_program_is_fed(cell, tmp_path):
    """What it reads is what it is given, through whatever stands between."""
    (tmp_path / "given").write_text("words")
    with (tmp_path / "given").open() as given:
        answer = await capture(
            ["/bin/cat"],
            cwd=cell.confinement.workspace,
            env=ENV,
            timeout_s=60,
            limit=99,
            stdin=given.fileno(),
            cell=cell,
        )

    assert answer.stdout == b"words"


async def test_a_folder_that_cannot_be_entered_is_no_failure_of_the_sandbox(cell, tmp_path, monkeypatch):
    """It is told as what it is, and what holds is not tried anew for it. Root enters before it gives up its power."""
    failures = []
    monkeypatch.setattr(cell.ladder, "failed", lambda: failures.append(1))
    closed = tmp_path.resolve() / "closed"
    closed.mkdir()
    closed.chmod(0)
    enters = os.getuid() == 0 and cell.rung.name in ("landlock", "none")

    with nullcontext() if enters else pytest.raises((Invalid, PermissionError)) as refused:
        await run_command("true", cwd=closed, timeout_s=60, env=ENV, on_output=lambda *_: None, cell=cell)
    closed.chmod(0o755)

    assert failures == []
    assert enters or getattr(refused.value, "code", "cwd_closed") == "cwd_closed"


async def test_what_is_used_up_just_now_is_told_and_what_to_do_about_it(cell):
    """A command is not started, wherever on the way to it that was noticed; the next one may be."""
    assert cell.rung
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = os.listdir("/proc/self/fd")
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(Unavailable) as refused:
            await run(cell, "echo here")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert (refused.value.code, os.strerror(errno.EMFILE) in str(refused.value)) == ("sandbox_failed", True)
    assert "ulimit -n" in str(refused.value.hint)
    assert (await run(cell, "echo here")).stdout.head == "here\n"
    await wait_for(is_settled)
    assert os.listdir("/proc/self/fd") == before


async def test_a_launched_program_is_closed_once(cell):
    """Closing twice says the same."""
    launched = await launch(
        ["/bin/sh", "-c", "exit 4"],
        cwd=cell.confinement.workspace,
        env=ENV,
        on_bytes=lambda *_: None,
        cell=cell,
    )
    assert await launched.child.exited_within(60)

    assert launched.close() == launched.close()
    assert launched.ending() == (4, "")


def test_it_is_the_same_on_the_daemons_event_loop(cell):
    """Which is another one than the tests'."""

    async def main():
        return await run(cell, "sleep 99 & echo hi"), await run(cell, "sleep 99", 0.5)

    result, late = uvloop.run(main())

    assert (result.stdout.head, result.exit_code, result.leftovers) == ("hi\n", 0, True)
    assert late.timed_out


LEAVING = ("true", "sleep {mark}1 & true", "setsid sleep {mark}2 & exit 3", "kill -9 $$", "echo x; (sleep {mark}3 &)")


def descriptors():
    """How many are open, and how many control groups they keep for the next commands.

    Names that were held are closed by a thread, and another may still tell a control group.
    """
    others, groups = 0, set()
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # that of this list
            place = Path(os.readlink(f"/proc/self/fd/{name}"))
            if place.name.startswith(f"agi-{os.getpid()}-"):
                groups.add(place.name)
            else:
                others += 1
    return others, len(groups)


def children():
    """Every child of this process, running or not yet collected."""
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_thousands_of_commands_leave_nothing(cell, tmp_path):
    """No process, no zombie, no descriptor, no file and no control group."""
    mark = a_mark()
    await run(cell, "true")
    await wait_for(is_settled)
    before, kept = descriptors()
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(number):
        async with limit:
            await run(cell, LEAVING[number % len(LEAVING)].format(mark=mark))

    await asyncio.gather(*map(one, range(COMMANDS)))

    await wait_for(lambda: not sleepers(mark))
    assert children() == []
    await wait_for(lambda: descriptors()[0] <= before)
    assert descriptors()[1] <= kept + 2 * AT_ONCE  # some run, some are still ending
    assert os.listdir(tmp_path) == []
