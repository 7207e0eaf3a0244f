"""`agi serve`: starts, says where, is used by the other commands, and stops."""

from __future__ import annotations

import asyncio
import json
import signal

import pytest

from agi.testing.provider import calls, says


async def test_a_running_daemon_answers_instead_of_this_process(cli):
    """The same words and exit codes, whoever runs the turn."""
    async with cli.answered_by(calls(("shell", {"command": "touch made"})), says("No.")) as provider, cli.daemon():
        provider_env = cli.env.pop("OPENAI_BASE_URL")
        result = await cli("do it")
        cli.env["OPENAI_BASE_URL"] = provider_env

    assert (result.code, result.out) == (3, "No.\n")
    assert len(provider.requests) == 2


async def test_json_over_a_daemon_is_the_log_too(cli):
    """Every event once, in order, to the session's end."""
    async with cli.answered_by(says("Hello there.", chunks=6)), cli.daemon():
        result = await cli("hi", "--json")

    numbers = [event["seq"] for event in result.events]
    assert numbers == sorted(numbers)  # type: ignore[type-var]
    assert result.types[0] == "session_created"
    assert result.types[-2:] == ["turn_completed", "session_completed"]
    text = "".join(one["data"]["delta"] for one in result.events if one["type"] == "model_output_delta")  # type: ignore[index]
    assert text == "Hello there."


async def test_trust_for_one_run_does_not_reach_into_a_daemon(cli):
    """`--trust` runs in this process; the daemon keeps its own rules."""
    async with cli.answered_by(calls(("shell", {"command": "touch made"})), says("Done.")), cli.daemon() as daemon:
        result = await cli("do it", "--yes", "--trust")
        daemon.terminate()
        _, log = await daemon.communicate()

    assert (result.code, result.out) == (0, "Done.\n")
    assert b"POST" not in log


async def test_it_stops_when_told_and_leaves_no_address_behind(cli):
    """SIGTERM is a clean end."""
    async with cli.daemon() as daemon:
        record = json.loads((cli.project / ".agi" / "daemon.json").read_text())
        assert record["pid"] == daemon.pid
        daemon.send_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            assert await daemon.wait() == 0

    assert not (cli.project / ".agi" / "daemon.json").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [(["--host", "0.0.0.0"], 2, "--expose"), (["--project", "/does/not/exist"], 2, "There is no folder")],
)
async def test_what_cannot_be_served_is_said(cli, arguments, code, said):
    """No half-started daemon."""
    result = await cli("serve", *arguments)

    assert (result.code, result.out) == (code, "")
    assert said in result.err


async def test_a_second_daemon_names_the_first(cli):
    """One daemon a folder."""
    async with cli.daemon() as daemon:
        result = await cli("serve", "--port", "0")

    assert (result.code, result.out) == (1, "")
    assert f"process {daemon.pid}" in result.err
