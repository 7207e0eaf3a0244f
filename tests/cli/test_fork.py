"""`agi fork`: go on from an earlier point in another session; with a daemon or without."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from agi.testing.provider import calls, says


@pytest.fixture(params=["in this process", "by a daemon"])
async def talked(cli, request) -> AsyncIterator[str]:
    """A session with one turn that changed a file twice; gives its id."""
    edits = [calls(("shell", {"command": f"echo {number} > a.txt"})) for number in (1, 2)]
    async with cli.answered_by(*edits, says("Done.")):
        first = await cli("change it", "--json", "--yes", "--trust")
    assert first.code == 0, first.err
    session_id = str(first.events[0]["session_id"])
    if request.param == "in this process":
        yield session_id
        return
    async with cli.daemon():
        yield session_id


async def shown(cli, session_id: str) -> dict:
    return json.loads((await cli("sessions", "show", session_id, "--json")).out)


async def test_the_latest_session_is_forked_as_it_stands(cli, talked):
    """The id goes to stdout, what one can do with it to stderr."""
    done = await cli("fork", "--title", "another way")
    made = await shown(cli, done.out.strip())

    assert done.code == 0
    assert made["session"]["forked_from"]["session_id"] == talked
    assert made["session"]["title"] == "another way"
    assert len(made["messages"]) == len((await shown(cli, talked))["messages"])
    assert f"agi undo --session {done.out.strip()} --to fork" in done.err
    assert "⑂ another way" in (await cli("sessions")).out
    assert f"forked from {talked}, event " in (await cli("sessions", "show", done.out.strip())).out


async def test_a_fork_at_a_message_brings_its_files_back(cli, talked):
    """Shown first, as with every undo."""
    result = next(one for one in (await shown(cli, talked))["messages"] if one["role"] == "tool")
    made = json.loads((await cli("fork", talked[-8:], "--at", result["id"], "--json")).out)
    undone = await cli("undo", "--session", made["id"], "--to", "fork", "--yes")

    assert undone.code == 0, undone.err
    assert (cli.project / "a.txt").read_text() == "1\n"
    assert made["forked_from"]["message_id"] == result["id"]


async def test_the_ids_to_fork_at_are_shown(cli, talked):
    """Beside who said it, when they are asked for."""
    first = (await shown(cli, talked))["messages"][0]["id"]
    assert first in (await cli("sessions", "show", talked, "--ids")).out
    assert first not in (await cli("sessions", "show", talked)).out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--at", "yesterday"), "neither a message"),
        (("--at", "0"), "neither a message"),
        (("--before",), "`before` needs something"),
        (("--at", "msg_" + "0" * 32), "no message"),
        (("--at", "999999"), "ends at event"),
        (("sess_" + "0" * 32,), "no session"),
        (("a", "--session", "b"), "not both"),
        (("a", "b"), "b"),
    ],
)
async def test_what_cannot_be_forked_is_said_and_nothing_is_made(cli, talked, arguments, says):
    """In words, with what to do."""
    done = await cli("fork", *arguments)
    assert done.code in (1, 2)
    assert says in done.err
    assert len(json.loads((await cli("sessions", "--json")).out)) == 1
