"""`agi sessions`: look at them, take them away, remove them; with a daemon or without."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from agi.testing.provider import calls, says


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
    assert exported.out == mirror
    assert removed.code == 0
    assert (await cli("sessions")).out == "No sessions yet.\n"
    assert (await cli("sessions", "show", talked)).code == 2


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
