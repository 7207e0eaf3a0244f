"""`agi queue` and `agi steer`, against a real daemon; the provider on loopback plays a script."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agi.testing.box import eventually
from agi.testing.provider import calls, says

WAITS = calls(("shell", {"command": "until [ -e go ]; do sleep 0.02; done"}))


@asynccontextmanager
async def at_work(cli) -> AsyncIterator[asyncio.subprocess.Process]:
    """An agent whose command runs until the file `go` is there."""
    asking = await cli.start("begin", "--yes", "--json")
    async with asyncio.timeout(20):
        while b'"tool_call_started"' not in (told := await asking.stdout.readline()):
            assert told, await asking.stderr.read()
    yield asking
    await asking.communicate()


async def rows(cli, count: int) -> list[dict[str, str]]:
    """What waits, once so many do."""
    async with asyncio.timeout(20):
        while len(found := json.loads((await cli("queue", "--json")).out)) != count:
            pass
    return found


async def test_what_waits_is_listed_edited_promoted_and_dropped_and_the_turn_takes_it_up(cli):
    """Whoever sent it stays on the line and gets the answer of the turn that took it up."""
    async with cli.answered_by(WAITS, says("Tabs, and quickly.")) as provider, cli.daemon():
        await cli("trust", "--yes")
        async with at_work(cli) as asking:
            waiting = await cli.start("use tbs", "--continue", "--yes")
            await rows(cli, 1)
            edited = await cli("queue", "edit", "1", "use tabs")
            promoted = await cli("queue", "steer", "1")
            told = await cli("steer", "and be quick")
            too = await cli.start("not this", "--continue", "--yes")
            await rows(cli, 3)
            dropped = await cli("queue", "drop", "3")
            listed = await cli("queue")
            gone = await cli("queue", "drop", "9")
            cli.write("go", "")
            out, err = await waiting.communicate()
            await asking.communicate()
            await too.communicate()
        late = await cli("steer", "too late")
        nothing = await cli("queue")
        (step,) = provider.requests[1:]

    assert (edited.out, promoted.out) == (" 1. queued  use tabs\n", " 1. steers  use tabs\n")
    assert listed.out == " 1. steers  use tabs\n 2. steers  and be quick\n"
    assert (told.code, dropped.code, gone.code, late.code) == (0, 0, 2, 1)
    assert "agi queue" in gone.err
    assert (waiting.returncode, out) == (0, b"Tabs, and quickly.\n"), err
    said = [one["content"] for one in step.json["messages"] if one["role"] == "user"]
    assert said[-2:] == ["use tabs", "and be quick"]
    assert "Nothing runs in this session." in late.err
    assert "Nothing waits" in nothing.err


async def test_editing_a_message_keeps_the_files_that_go_along(cli):
    """Only its words are others."""
    cli.write("shot.txt", "what the file says")
    async with cli.answered_by(WAITS, says("Done."), says("Seen.")), cli.daemon():
        await cli("trust", "--yes")
        async with at_work(cli) as asking:
            waiting = await cli.start("look", "--attach", "shot.txt", "--continue", "--yes")
            await rows(cli, 1)
            await cli("queue", "edit", "1", "look here")
            (row,) = await rows(cli, 1)
            cli.write("go", "")
            await waiting.communicate()
            await asking.communicate()

    assert [part.get("text") or part["name"] for part in row["parts"]] == ["look here", "shot.txt"]


async def test_a_message_that_was_to_steer_is_told_once_after_the_daemon_was_killed(cli):
    """Neither lost nor doubled: the turn goes on in the next daemon and takes it up there."""

    def log() -> str:
        (file,) = cli.project.glob(".agi/sessions/*/events.ndjson")
        return file.read_text()

    async with cli.answered_by(WAITS, says("Tabs.")) as provider:
        async with cli.daemon() as daemon:
            await cli("trust", "--yes")
            asking = await cli.start("begin", "--yes", "--json")
            async with asyncio.timeout(20):
                while b'"tool_call_started"' not in await asking.stdout.readline():
                    pass
            await cli("steer", "use tabs")
            asking.kill()  # it would look for its daemon for a while
            await asking.communicate()
            daemon.send_signal(signal.SIGKILL)
            await daemon.wait()
        async with cli.daemon():
            await eventually(lambda: '"turn_completed"' in log())
        cli.write("go", "")
        (step,) = provider.requests[1:]

    said = [one["content"] for one in step.json["messages"] if one["role"] == "user"]
    assert said.count("use tabs") == 1
    kinds = [json.loads(line)["type"] for line in log().splitlines()]
    assert kinds.count("message_steered") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("queue", "edit", "1"),
        ("queue", "drop", "x"),
        ("queue", "drop", "0"),
        ("queue", "a", "b"),
        ("steer",),
        ("steer", " "),
    ],
    ids=["no text", "no number", "no row", "no action", "nothing", "blank"],
)
async def test_what_makes_no_sense_is_refused(cli, arguments):
    """With exit code 2, before anything is opened."""
    assert (await cli(*arguments)).code == 2
