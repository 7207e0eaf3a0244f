"""A command under way."""

import asyncio
import os
import time

import pytest

from agi.jobs import running as running_module
from agi.jobs.patterns import Expression, Literal
from agi.jobs.running import LONGEST_S, Running
from agi.workspace.processes import child_environment, run_command

ENV = child_environment(os.environ, os.getpid())


@pytest.fixture
def start(tmp_path):
    """Start a command in an empty folder."""

    def begin(command, hear=None):
        async def launch(on_output):
            return await run_command(command, cwd=tmp_path, timeout_s=LONGEST_S, env=ENV, on_output=on_output)

        return Running(launch, hear)

    return begin


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def has_children():
    """Whether this process has any child, running or not yet collected."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


async def test_it_ends_with_its_result(start):
    """And is heard all along."""
    heard = []
    running = start("echo out; echo err >&2; exit 3", lambda *said: heard.append(said))
    await running.over()

    assert running.is_over
    assert running.result().exit_code == 3
    assert sorted(heard) == [("stderr", "err\n"), ("stdout", "out\n")]
    assert sorted(running.output.read(0, 100).text.split()) == ["err", "out"]


async def test_ending_it_ends_its_children(start):
    """There is no result then."""
    running = start("sleep 100 & echo $! $$; wait")
    assert await running.heard(Literal("\n"), 0, 20)
    pids = [int(pid) for pid in running.output.read(0, 100).text.split()]

    await running.end()

    assert running.result() is None
    assert not any(map(is_running, pids))


async def test_being_canceled_while_ending_a_deaf_one_hurries_it(start):
    """The second cancel kills at once."""
    running = start("trap '' TERM; echo $$; while :; do sleep 0.05; done")
    assert await running.heard(Literal("\n"), 0, 20)
    task = asyncio.create_task(running.end())
    await asyncio.sleep(0.02)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert time.monotonic() - began < 0.4
    assert running.is_over
    while has_children():  # noqa: ASYNC110 - its exit is still to be collected
        await asyncio.sleep(0.005)


async def test_a_pattern_is_waited_for(start, tmp_path):
    """Until it is said, also if it was said before."""
    os.mkfifo(tmp_path / "gate")
    running = start("echo first; cat gate; echo 'ready in 12 ms'; sleep 100")
    assert await running.heard(Literal("first"), 0, 20)
    assert not await running.heard(Expression("ready in"), 0, 0.05)
    waiting = asyncio.create_task(running.heard(Expression(r"ready in \d+"), 0, 20))
    (tmp_path / "gate").write_text("")

    assert await waiting
    assert await running.heard(Literal("first"), 0, 20)
    assert not await running.heard(Literal("first"), 6, 0.05)
    await running.end()


async def test_what_was_said_long_ago_is_found_too(start, tmp_path):
    """Also if it is no longer in memory, but in the file; across pieces as well."""
    running = start("echo Listening on 8080; seq 1 200000; echo end; sleep 100")
    with (tmp_path / "kept").open("wb", buffering=0) as file:
        running.output.keep_in(file, tmp_path / "kept")
        assert await running.heard(Expression("^end$"), 0, 20)

        assert await running.heard(Literal("Listening on"), 0, 0)
        assert await running.heard(Expression(r"^Listening on \d+$"), 0, 0)
        assert await running.heard(Literal("\n77777\n77778\n"), 0, 0)
        assert not await running.heard(Literal("Listening on"), 100, 0)
        await running.end()


async def test_a_flood_does_not_keep_anybody_waiting_longer(start):
    """Time is up when it is up, however fast more comes."""
    running = start("yes")
    assert await running.heard(Literal("y"), 0, 20)
    async with asyncio.timeout(20):
        assert not await running.heard(Literal("no"), 0, 0.05)
    await running.end()


async def test_the_end_ends_the_waiting(start):
    """What was not said by then never will be."""
    running = start("echo a")

    assert not await running.heard(Literal("b"), 0, 20)
    assert not await running.heard(Literal("b"), 0, 20)
    assert await running.heard(Literal("a"), 0, 20)


async def test_whoever_waits_can_be_called_away(start):
    """The command itself goes on."""
    running = start("sleep 100")
    asyncio.get_running_loop().call_soon(running.asked_to_move.set)
    await running.over_or_moved_within(20)

    assert not running.is_over
    await running.end()


async def test_it_can_be_kept_without_being_heard(start, tmp_path):
    """Once nobody wants to be told."""
    os.mkfifo(tmp_path / "gate")
    heard = []
    running = start("echo one; cat gate; echo two", lambda _, text: heard.append(text))
    assert await running.heard(Literal("one"), 0, 20)
    running.hush()
    (tmp_path / "gate").write_text("")
    await running.over()

    assert heard == ["one\n"]
    assert running.output.read(0, 100).text == "one\ntwo\n"


async def test_a_flood_without_end_is_ended(start, monkeypatch):
    """It will not stop by itself."""
    monkeypatch.setattr(running_module, "MOST_OUTPUT", 5_000_000)
    running = start("yes")
    async with asyncio.timeout(20):
        await running.over()

    assert running.flooded
    assert running.result() is None


async def test_what_keeps_it_from_running_is_told(start, tmp_path):
    """By its result."""
    tmp_path.rmdir()
    running = start("true")
    await running.over()

    with pytest.raises(FileNotFoundError):
        running.result()
