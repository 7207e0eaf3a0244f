"""`agi context`: what the model is shown, as a table, as text, for programs; with a daemon or without."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import nullcontext

import pytest

from agi.testing.provider import says


@pytest.fixture(params=["in this process", "by a daemon"])
async def way(cli, request) -> AsyncIterator[str]:
    """Reached both ways."""
    cli.write("AGENTS.md", "Be kind.\n")
    if request.param == "in this process":
        yield request.param
        return
    async with cli.daemon():
        yield request.param


async def test_a_new_session_is_described_without_making_one(cli, way):
    """What it would be told, and where each part is from."""
    shown = await cli("context")

    assert shown.code == 0
    assert "this is what the next turn would be told" in shown.out
    (row,) = [line for line in shown.out.splitlines() if line.startswith("rules")]
    assert row.split()[2:] == ["20,000", "in", "AGENTS.md"]
    if way == "in this process":
        assert not (cli.project / ".agi").exists()


async def test_the_text_of_a_section_is_printed_as_it_is_told(cli, way):
    """By its name, or by where it is from."""
    for name in ("rules", "AGENTS.md"):
        shown = await cli("context", "--text", name)
        assert shown.out == "The project's own rules (AGENTS.md):\n\nBe kind.\n"
    missing = await cli("context", "--text", "rulez")
    assert missing.code != 0
    assert "Sections: agent, workspace, rules, tools." in missing.err


@pytest.mark.parametrize("served", [False, True], ids=["in this process", "by a daemon"])
async def test_a_session_is_shown_as_it_was_told(cli, served):
    """Found by a part of its id; programs get it as JSON."""
    async with cli.answered_by(says("Hello.")):
        session = (await cli("hello", "--json")).events[0]["session_id"]
    async with cli.daemon() if served else nullcontext():
        shown = await cli("context", session[-8:])
        told = json.loads((await cli("context", session, "--json")).out)

    assert "it was made for the first turn" in shown.out
    assert "conversation" in shown.out
    assert (told["session_id"], told["recorded"]) == (session, True)


async def test_what_does_not_fit_is_refused(cli):
    """With what to do instead."""
    assert "There are no sessions" in (await cli("context", "sess_1")).err
    assert "--agent is for a session that is not begun" in (await cli("context", "x", "--agent", "plan")).err
