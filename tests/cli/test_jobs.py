"""`agi jobs`: what runs in the background, by a daemon."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from agi.testing.provider import calls, says

COMMAND = "echo up; exec sleep 100"


@pytest.fixture
async def job(cli) -> AsyncIterator[dict[str, str]]:
    """A job in a daemon, begun by an agent; gives what `agi jobs --json` says of it."""
    replies = [calls(("shell", {"command": COMMAND, "background": True})), says("It runs.")]
    async with cli.answered_by(*replies), cli.daemon():
        await cli("trust", "--yes")
        assert (await cli("start it", "--yes")).code == 0
        (found,) = json.loads((await cli("jobs", "--json")).out)
        yield found


async def test_a_job_is_listed_watched_and_stopped(cli, job):
    """From the command line, whoever began it."""
    listed = await cli("jobs")
    watching = await cli.start("jobs", "tail", job["id"][-6:])
    async with asyncio.timeout(20):
        first = await watching.stdout.readline()
    stopped = await cli("jobs", "stop", job["id"])
    out, err = await watching.communicate()
    again = await cli("jobs", "stop", job["id"][:16])
    over = await cli("jobs", "--session", job["session_id"][-6:])
    later = await cli("jobs", "tail", job["id"], "--session", job["session_id"])

    assert (job["status"], job["command"]) == ("running", COMMAND)
    assert listed.out.startswith(f"{job['id']}  {job['session_id']}  ")
    assert listed.out.endswith(f"  {COMMAND}\n")
    assert (first, out) == (b"up\n", b"")
    assert err.decode() == f"{job['id']}: ended: stopped by the user\n"
    assert stopped.out == f"{job['id']}: ended: stopped by the user\n"
    assert (watching.returncode, stopped.code, again.code) == (0, 0, 2)
    assert "--session ID" in again.err
    assert "ended: stopped by the user" in over.out
    assert later.out == "up\n"
    assert (await cli("jobs")).out == "Nothing runs in the background.\n"


async def test_a_command_that_is_waited_for_is_moved(cli):
    """By whoever has more patience than the one who asked."""
    replies = [calls(("shell", {"command": COMMAND})), says("It goes on.")]
    async with cli.answered_by(*replies), cli.daemon():
        await cli("trust", "--yes")
        asking = await cli.start("build it", "--yes", "--json")
        async with asyncio.timeout(20):
            while b"tool_output_delta" not in (told := await asking.stdout.readline()):
                assert told
        moved = await cli("jobs", "background")
        out, _ = await asking.communicate()
        nothing = await cli("jobs", "background")

    assert moved.out.endswith(": running\n")
    assert b"It goes on." in out
    assert asking.returncode == 0
    assert (nothing.code, "0 sessions are at work" in nothing.err) == (2, True)


async def test_without_sessions_there_are_no_jobs(cli):
    """And looking makes none."""
    listed, as_json, stopped = await cli("jobs"), await cli("jobs", "--json"), await cli("jobs", "stop", "abcdef")

    assert (listed.out, as_json.out) == ("Nothing runs in the background.\n", "[]\n")
    assert stopped.code == 2
    assert not (cli.project / ".agi").exists()


@pytest.mark.parametrize("words", [("lst",), ("tail",), ("stop",), ("list", "x"), ("tail", "ab"), ("background", "x")])
async def test_a_wrong_line_is_refused(cli, words):
    """With where to look it up."""
    (cli.project / ".agi" / "sessions").mkdir(parents=True)

    assert (await cli("jobs", *words)).code == 2
