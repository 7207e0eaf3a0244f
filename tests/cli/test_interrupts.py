"""Stopping: Ctrl-C, termination, a time limit, a reader that left. The turn ends in good order, the process always."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable

import pytest
from tests.conftest import processes_named

from agi.testing.provider import calls, says
from agi.testing.replies import breaks, never_begins, waits

STALLS = breaks(says("Begun and never ended", chunks=3), 3, "stall")


async def endings(cli) -> list[object]:
    """How the turns of the latest session ended, as the log has it."""
    session_id = (await cli("sessions", "--json")).out.split('"')[3]
    exported = await cli("sessions", "export", session_id)
    return [one for one in exported.types if str(one).startswith(("turn_c", "turn_f"))]


async def until(condition: Callable[[], object]) -> None:
    """Wait for something another process does."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=lambda x: str(x)
)
async def test_the_first_signal_cancels_the_turn_in_good_order(cli, number, code):
    """What was said so far is printed, the log has an ending, and the exit code tells."""
    async with cli.answered_by(STALLS) as provider:
        process = await cli.start("hi")
        assert await process.stdout.readexactly(5) == b"Begun"
        process.send_signal(number)
        async with asyncio.timeout(10):
            _, err = await process.communicate()
            await provider.hung_up.wait()

    assert process.returncode == code
    assert b"Traceback" not in err
    assert (b"agi --continue" in err.splitlines()[-1]) == (number == signal.SIGINT)
    assert await endings(cli) == ["turn_canceled"]


async def test_a_signal_while_a_tool_runs_stops_the_tool(cli):
    """Nothing goes on behind our back."""
    mark = f"sleep 9{time.time_ns()}"
    async with cli.answered_by(calls(("shell", {"command": mark}))):
        process = await cli.start("hi", "--yes", "--trust")
        await until(lambda: processes_named(mark))
        process.send_signal(signal.SIGINT)
        await asyncio.wait_for(process.communicate(), 10)

    assert process.returncode == 130
    await until(lambda: not processes_named(mark))


async def test_a_signal_while_a_question_is_open_ends_everything(cli):
    """A prompt on the screen holds nobody up."""
    async with cli.answered_by(calls(("shell", {"command": "touch made"}))), cli.terminal("hi") as terminal:
        await terminal.shows("/n/c]: ")
        terminal.process.send_signal(signal.SIGINT)

        assert await terminal.ends() == 130
    assert "Answered elsewhere" not in terminal.text
    assert await endings(cli) == ["turn_canceled"]


async def test_a_turn_that_never_begins_is_canceled_too(cli):
    """A provider that takes the request and says nothing can be left."""
    async with cli.answered_by(never_begins()) as provider:
        process = await cli.start("hi", "--json")
        await until(lambda: provider.requests)
        process.send_signal(signal.SIGINT)
        await asyncio.wait_for(process.communicate(), 10)

    assert process.returncode == 130


async def test_a_question_that_is_interrupted_leaves_a_line_of_its_own(cli):
    """The shell's prompt does not stand behind it, and nothing was done."""
    assert (await cli("hi")).code == 0
    (listed,) = (await cli("sessions")).out.splitlines()
    async with cli.terminal("sessions", "rm", listed.split()[0]) as terminal:
        await terminal.shows("[n]o: ")
        terminal.process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(terminal.process.wait(), 10) == 130
        await terminal.shows("[n]o: \n")

    assert (await cli("sessions")).out.splitlines() == [listed]


async def test_the_time_limit_cancels_the_turn_and_exits_with_5(cli):
    """An overall limit holds, whatever the turn is waiting for."""
    async with cli.answered_by(STALLS):
        result = await cli("hi", "--timeout", "1.5")

    assert (result.code, result.out[:5]) == (5, "Begun")
    assert "--timeout" in result.err
    assert await endings(cli) == ["turn_canceled"]


async def test_a_reader_that_leaves_ends_the_turn_quietly(cli):
    """`agi … | head -1` costs no more than it must, and complains about nothing."""
    left = asyncio.Event()
    async with cli.answered_by(waits(STALLS, 2, left)) as provider:
        reading, writing = os.pipe()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "agi.cli.main", "hi", cwd=cli.project, env=cli.env, stdout=writing, stderr=-1
        )
        os.close(writing)
        await until(lambda: provider.requests)
        os.close(reading)
        left.set()
        async with asyncio.timeout(10):
            _, err = await process.communicate()
            await provider.hung_up.wait()

    assert (process.returncode, err) == (141, b"")
    assert await endings(cli) == ["turn_canceled"]


async def test_a_daemons_turn_is_canceled_there(cli):
    """Ctrl-C at a client stops the turn in the daemon, and the daemon goes on."""
    async with cli.answered_by(STALLS, says("next")) as provider, cli.daemon():
        process = await cli.start("hi")
        assert await process.stdout.readexactly(5) == b"Begun"
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(10):
            await process.communicate()
            await provider.hung_up.wait()

        assert process.returncode == 130
        assert (await cli("--continue", "again")).out == "next\n"


async def test_a_second_signal_leaves_at_once(cli):
    """Even a daemon that hangs cannot keep a client; and it says what it waits for."""
    async with cli.answered_by(STALLS), cli.daemon() as daemon:
        process = await cli.start("hi")
        assert await process.stdout.readexactly(5) == b"Begun"
        daemon.send_signal(signal.SIGSTOP)
        try:
            process.send_signal(signal.SIGINT)
            async with asyncio.timeout(4):
                assert b"Ctrl-C again" in await process.stderr.readline()
                process.send_signal(signal.SIGINT)
                await process.communicate()
        finally:
            daemon.send_signal(signal.SIGCONT)

    assert process.returncode == 130


@pytest.mark.slow
async def test_a_turn_that_does_not_stop_is_left_behind(cli):
    """After five seconds the client goes, and says that it did not see the end."""
    async with cli.answered_by(STALLS), cli.daemon() as daemon:
        process = await cli.start("hi")
        assert await process.stdout.readexactly(5) == b"Begun"
        daemon.send_signal(signal.SIGSTOP)
        try:
            process.send_signal(signal.SIGTERM)
            _, err = await asyncio.wait_for(process.communicate(), 8)
        finally:
            daemon.send_signal(signal.SIGCONT)

    assert process.returncode == 143
    assert b"did not stop within 5 s" in err
