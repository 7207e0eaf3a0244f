"""`agi compact`: make a conversation shorter, and undo that; with a daemon or without."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from agi.cli.compact import told
from agi.protocol.compaction import Compacted
from agi.testing.provider import says


@pytest.fixture(params=["in this process", "by a daemon"])
async def talked(cli, request) -> AsyncIterator[str]:
    """A session of three turns; gives its id."""
    session_id = ""
    async with cli.answered_by(*[says(f"Answer {number}. " * 150) for number in range(3)], says("Goal: talk.")):
        for number in range(3):
            more = ("--session", session_id) if session_id else ()
            asked = await cli(f"question {number} " + "words " * 150, "--json", *more)
            assert asked.code == 0, asked.err
            session_id = str(asked.events[0]["session_id"])
        if request.param == "in this process":
            yield session_id
            return
        async with cli.daemon():
            yield session_id


async def test_the_latest_session_is_compacted_and_that_is_undone(cli, talked):
    """It says how much shorter it is, and how to undo it."""
    done = await cli("compact", "--focus", "the second question")

    assert done.code == 0, done.err
    assert done.out.startswith("Compacted: about ")
    assert f"agi compact {talked} --undo" in done.out
    undone = await cli("compact", talked[-6:], "--undo", "--json")
    assert undone.code == 0, undone.err
    assert json.loads(undone.out)["status"] == "undone"
    again = await cli("compact", "--undo")
    assert again.code == 1
    assert "No compaction is in force" in again.err


@pytest.mark.parametrize(
    "arguments",
    [("--undo", "--focus", "x"), ("--focus", "x" * 2001), ("a", "b"), ("a", "--session", "b")],
    ids=["undo with a focus", "a long focus", "two sessions", "named twice"],
)
async def test_what_makes_no_sense_is_refused(cli, arguments):
    """With exit code 2, before anything is opened."""
    assert (await cli("compact", *arguments)).code == 2


def test_what_is_queued_is_said_to_be():
    """Nobody thinks that it is done."""
    assert "before its model is asked next" in told(Compacted(session_id="s", status="queued"))
