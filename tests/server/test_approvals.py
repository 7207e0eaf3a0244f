"""Answers over HTTP: parts of a change are accepted by name, and a bad answer changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from agi.testing.box import AskedTurn, Daemon

LINES = "".join(f"line {number}\n" for number in range(40))


async def asked(daemon: Daemon) -> AskedTurn:
    """Have an agent ask to change four lines of a file, far apart."""
    daemon.workspace.write("a.txt", LINES)
    daemon.model.calls("edit", path="a.txt", old_text="9\n", new_text="nine\n", replace_all=True).then_says("ok")
    return await daemon.ask("count in words")


async def test_accepted_hunks_are_made_and_no_others(daemon: Daemon) -> None:
    """The question lists them; the answer names those that may be made."""
    turn = await asked(daemon)
    question = await turn.question()

    reply = await turn.approve(hunks=["h2"], digest=question["digest"], reason="one is enough")

    assert (reply.status, reply.json()["action"]) == (200, "approve")
    assert [hunk["id"] for hunk in question["hunks"]] == ["h1", "h2", "h3", "h4"]
    assert await turn.answer() == "ok"
    assert daemon.workspace.read("a.txt") == LINES.replace("line 19\n", "line 1nine\n")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"hunks": ["h1", "h5"]}, "hunks_invalid"),
        ({"hunks": []}, "hunks_invalid"),
        ({"hunks": ["h1"], "remember": "session"}, "hunks_invalid"),
        ({"hunks": ["h1"], "action": "deny"}, "hunks_invalid"),
        ({"hunks": "h1"}, "invalid"),
        ({"hunks": [1]}, "invalid"),
        ({"hunks": ["h1"] * 2000}, "invalid"),
    ],
)
async def test_a_bad_answer_about_hunks_is_said_to_be_one(daemon: Daemon, fields: dict[str, Any], code: str) -> None:
    """With 422; the question stays open and the file as it was."""
    turn = await asked(daemon)

    reply = await turn.approve(**fields)

    assert (reply.status, reply.code) == (422, code)
    assert (await turn.question())["hunks"]
    assert not daemon.workspace.was_touched()


async def test_an_empty_list_is_answered_with_how_to_refuse(daemon: Daemon) -> None:
    """It is not taken for a yes, nor silently for a no."""
    turn = await asked(daemon)

    error = (await turn.approve(hunks=[])).json()["error"]

    assert "refusal" in error["message"]
    assert '"action": "deny"' in error["hint"]
