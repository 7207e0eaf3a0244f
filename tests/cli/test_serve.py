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


async def test_what_this_shell_says_and_the_daemon_does_not_hear_is_noted(cli):
    """A base URL set after the daemon was started does not count; nobody has to find out by wondering."""
    async with cli.answered_by(says("one"), says("two")), cli.daemon():
        same = await cli("a")
        other = await cli("b", env={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "sk-not-told"})

    assert (same.out, same.err) == ("one\n", "")
    assert other.out == "two\n"
    assert other.err.startswith("note: The daemon at http://127.0.0.1:")
    assert other.err.endswith("it does not use OPENAI_API_KEY and OPENAI_BASE_URL of this shell.\n")


async def test_a_folder_that_is_not_trusted_is_mentioned_only_where_that_matters(cli):
    """Where nothing is ignored there is nothing to say."""
    told = []
    for settings in ({"defaultAgent": "plan"}, {"verify": {"commands": ["make"]}}):
        cli.configure(settings, own=False)
        async with cli.daemon() as daemon:
            daemon.terminate()
            _, log = await daemon.communicate()
        told.append(b"not trusted; what its files could run is ignored" in log)

    assert told == [False, True]


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


@pytest.mark.threat("T6")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--host", "0.0.0.0"], 2, "--expose"),
        (["--project", "/does/not/exist"], 2, "There is no folder"),
        (["--project", "/etc/passwd"], 2, "is a file, not a folder"),
        (["--host", "nosuch.invalid"], 2, "No address is known for nosuch.invalid."),
        (["--host", "nosuch.invalid", "--expose"], 2, "No address is known for nosuch.invalid."),
    ],
)
async def test_what_cannot_be_served_is_said(cli, arguments, code, said):
    """No half-started daemon."""
    result = await cli("serve", *arguments)

    assert (result.code, result.out) == (code, "")
    assert said in result.err


@pytest.mark.parametrize(
    "arguments", [["--db", "/nope/x"], ["--db", "nope/x.sqlite"], ["--host", "192.0.2.1", "--expose"]]
)
async def test_a_start_that_is_refused_leaves_the_folder_as_it_was(cli, arguments):
    """No data folder, and no lock in one that is there."""
    refused = [await cli("serve", "--port", "0", *arguments)]
    before = sorted(cli.project.rglob("*"))
    (cli.project / ".agi").mkdir()
    refused.append(await cli("serve", "--port", "0", *arguments))

    assert [(one.code != 0, one.out) for one in refused] == [(True, "")] * 2
    assert before == []
    assert sorted(cli.project.rglob("*")) == [cli.project / ".agi"]


async def test_a_second_daemon_names_the_first(cli):
    """One daemon a folder."""
    async with cli.daemon() as daemon:
        result = await cli("serve", "--port", "0")

    assert (result.code, result.out) == (1, "")
    assert f"process {daemon.pid}" in result.err


async def test_a_file_that_is_no_log_of_ours_is_not_taken_for_one(cli):
    """`--db notes.md` leaves the notes where they are, and nothing beside them."""
    notes = cli.write("notes.md", "# Notes\n")
    refused = await cli("serve", "--port", "0", "--db", "notes.md")
    nowhere = await cli("serve", "--port", "0", "--db", str(cli.project / "nope" / "x.sqlite"))

    assert (refused.code, nowhere.code, refused.out) == (2, 2, "")
    assert "notes.md is not a database." in refused.err
    assert "There is no folder" in nowhere.err
    assert "Make it first" in nowhere.err
    assert notes.read_text() == "# Notes\n"
    assert [path.name for path in cli.project.iterdir()] == ["notes.md"]


@pytest.mark.parametrize("name", ["loop", "loop/x.sqlite"])
async def test_a_database_behind_links_that_go_round_is_refused(cli, name):
    """It is no fault of ours, and is not called one."""
    (cli.project / "loop").symlink_to("loop")
    refused = await cli("serve", "--port", "0", "--db", name)

    assert (refused.code in (1, 2), refused.out) == (True, "")
    assert str(cli.project / "loop") in refused.err
    assert "went wrong" not in refused.err
