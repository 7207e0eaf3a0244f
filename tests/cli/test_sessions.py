"""`agi sessions`: look at them, take them away, remove them; with a daemon or without."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator

import msgspec
import pytest

from agi.cli import sessions
from agi.cli.times import local_time
from agi.testing.provider import calls, says
from agi.testing.replies import breaks


def without_hash(line: str) -> str:
    return line.rpartition(',"hash":')[0] + "}"


@pytest.fixture(params=["in this process", "by a daemon"])
async def talked(cli, request) -> AsyncIterator[str]:
    """A session with one answered question, reached both ways; gives its id."""
    async with cli.answered_by(calls(("git_status", {})), says("It is empty.")):
        first = await cli("What is here?", "--json")
    session_id = str(first.events[0]["session_id"])
    if request.param == "in this process":
        yield session_id
        return
    async with cli.daemon():
        yield session_id


async def test_sessions_are_listed_shown_exported_and_removed(cli, talked):
    """The whole life of a finished session."""
    listed = await cli("sessions")
    as_json = json.loads((await cli("sessions", "list", "--json", "--limit", "5")).out)
    shown = await cli("sessions", "show", talked)
    exported = await cli("sessions", "export", talked)
    mirror = (cli.project / ".agi" / "sessions" / talked / "events.ndjson").read_text()
    removed = await cli("sessions", "rm", talked, "--yes")

    assert listed.out.startswith(f"{talked}  ")
    assert "completed" in listed.out
    assert "What is here?" in listed.out
    assert [one["id"] for one in as_json] == [talked]
    assert "→ git_status" in shown.out
    assert shown.out.endswith("It is empty.\n")
    assert [without_hash(line) for line in mirror.splitlines()] == exported.out.splitlines()
    assert removed.code == 0
    assert (await cli("sessions")).out == "No sessions yet.\n"
    assert (await cli("sessions", "show", talked)).code == 2


async def test_a_part_of_an_id_is_enough(cli, talked):
    """Its beginning or its end, with or without the prefix."""
    shown = [await cli("sessions", "show", part) for part in (talked[-5:], talked[:20], talked[5:20])]
    missing = await cli("sessions", "show", "zzzz")
    short = await cli("sessions", "show", talked[-2:])

    assert [one.out.split(" · ")[0].split("\n")[-1] for one in shown] == [talked] * 3
    assert (missing.code, short.code) == (2, 2)
    assert "`agi sessions` lists them." in missing.err
    assert "GET /v1" not in missing.err + short.err


def test_a_part_that_fits_several_sessions_is_refused(here):
    """Nothing is shown or removed by a guess; the candidates are named."""
    here("hello")
    here("hello")
    ids = [one["id"] for one in json.loads(here("sessions", "--json").out)]
    result = here("sessions", "rm", ids[0][:12], "--yes")

    assert result.code == 2
    assert "2 sessions fit" in result.err
    assert all(one in result.err for one in ids)
    assert len(json.loads(here("sessions", "--json").out)) == 2


def test_times_are_those_of_the_clock_on_the_wall(here, monkeypatch):
    """Not Greenwich's."""
    here("hello")
    updated = json.loads(here("sessions", "--json").out)[0]["updated_at"]
    monkeypatch.setenv("TZ", "XXX-5:45")
    time.tzset()
    listed = here("sessions").out
    shown = local_time(updated)
    monkeypatch.undo()
    time.tzset()

    assert f"  {shown}  " in listed
    assert shown != updated[:16].replace("T", " ")


async def test_a_transcript_tells_what_commands_said_and_which_answers_were_cut_off(cli):
    """The ends of an output, and a mark where an answer is not whole."""
    numbers = ("shell", {"command": "seq 100; exit 3"})
    cut = breaks(says("Half an answer", chunks=3), 3, "stall")
    async with cli.answered_by(calls(numbers), says("It failed.", finish="length"), cut):
        await cli("count", "--yes", "--trust")
        await cli("--continue", "again", "--timeout", "1.5")
        session = json.loads((await cli("sessions", "--json")).out)[0]["id"]
        shown = (await cli("sessions", "show", session)).out

    assert "    5\n    … 85 lines\n    91\n" in shown
    assert "    100\n✗ shell: exit code 3\n" in shown
    assert "It failed.\n[cut off here: the model's limit]\n" in shown
    assert shown.rstrip().endswith("[canceled here]")


async def test_an_export_goes_to_a_new_file_only(cli, talked):
    """What is there already is not overwritten."""
    path = cli.project / "talk.ndjson"
    first = await cli("sessions", "export", talked, "--output", str(path))
    second = await cli("sessions", "export", talked, "--output", str(path))

    assert (first.code, first.out) == (0, "")
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text().splitlines()[0])["type"] == "session_created"
    assert second.code == 2
    assert "exists already" in second.err


@pytest.mark.parametrize("format", ["ndjson", "cassette"])
def test_it_is_said_how_many_events_were_written(here, monkeypatch, format):
    """Those of the file, also where the session had fewer when it was looked up."""
    here("hello")

    async def earlier(client, text):
        session = await client.session(text)
        return msgspec.structs.replace(session, last_seq=session.last_seq - 3)

    monkeypatch.setattr(sessions, "find_session", earlier)
    session_id = json.loads(here("sessions", "--json").out)[0]["id"]
    path = here.project / "talk"
    told = here("sessions", "export", session_id, "--format", format, "--output", str(path))
    lines = [json.loads(line) for line in path.read_text().splitlines()]

    assert told.err == f"{sum('seq' in line for line in lines)} events written to {path}\n"


async def test_a_removal_nobody_confirms_does_not_happen(cli):
    """Without a terminal it needs --yes, at one it needs a yes."""
    await cli("hello")
    session_id = json.loads((await cli("sessions", "--json")).out)[0]["id"]
    headless = await cli("sessions", "rm", session_id)
    async with cli.terminal("sessions", "rm", session_id) as terminal:
        await terminal.shows("for good? ")
        terminal.type("n\n")
        refused = await terminal.ends()
    async with cli.terminal("sessions", "rm", session_id) as terminal:
        await terminal.shows("for good? ")
        terminal.type("y\n")
        agreed = await terminal.ends()

    assert (headless.code, refused, agreed) == (2, 1, 0)
    assert (await cli("sessions", "--json")).out == "[]\n"


def test_looking_where_there_is_nothing_creates_nothing(here):
    """A folder without sessions stays as it is."""
    listed = here("sessions")
    shown = here("sessions", "show", "sess_00000000000000000000000000000000")

    assert (listed.code, listed.out) == (0, "No sessions yet.\n")
    assert shown.code == 2
    assert not list(here.project.iterdir())


def test_a_transcript_as_json_holds_session_and_messages(here):
    """For programs."""
    here("hello")
    session_id = json.loads((here("sessions", "--json")).out)[0]["id"]
    shown = json.loads((here("sessions", "show", session_id, "--json")).out)

    assert shown["session"]["id"] == session_id
    assert shown["messages"][0]["parts"][0]["text"] == "hello"


@pytest.mark.parametrize(
    "command", [("sessions",), ("replay", "latest"), ("grants",), ("search", "hello"), ("policy", "replay", "latest")]
)
def test_a_log_that_was_made_again_is_said_to_be_whatever_was_asked(here, command):
    """Once, and beside what was asked for; commands that only read are no exception."""
    here("hello")
    database = here.project / ".agi" / "agi.sqlite"
    database.write_bytes(b"damage" * 1000)
    first, second = here(*command), here(*command)

    assert first.err.count("was rebuilt from its mirrors: 1 session, ") == 1
    assert "agi.sqlite.damaged-" in first.err
    assert "rebuilt" not in first.out
    assert "rebuilt" not in second.err
