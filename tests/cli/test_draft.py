"""`agi draft` and `agi undraft`, with a real daemon: a draft begins, stands and ends from the command line."""

from __future__ import annotations

import json
import shlex

import pytest

from agi.cli.draft import money, told


async def test_a_draft_begins_stands_and_ends(cli):
    """Each command says in a line what it did, or in JSON."""
    await cli("tasks", "new", "Check out")
    async with cli.daemon():
        nothing = await cli("draft")
        made = await cli("draft", "plan", "--task", "check-out")
        second = await cli("draft", "plan", "--task", "check-out")
        status = await cli("draft")
        as_json = json.loads((await cli("draft", "--json")).out)
        closed = await cli("undraft")
        again = await cli("undraft")

    assert nothing.out == "No draft.\n"
    assert made.out.startswith("Drafted: plan for check-out (sess_")
    assert (second.code, "Undraft it first" in second.err) == (1, True)
    assert status.out == "Draft: plan | Task: check-out | Context: unknown | Turns: 0 | $0.00 | idle\n"
    assert as_json["session"]["role"] == "plan"
    assert closed.out == "Undrafted from check-out: 0 turns, $0.00.\n"
    assert (again.code, "No draft is active" in again.err) == (1, True)


async def test_what_is_said_after_drafting_talks_to_the_draft_and_ends_it(cli):
    """The lines can be typed as they stand, also from another folder; programs that read stdout get none of them."""
    await cli("tasks", "new", "Check out")
    async with cli.daemon():
        made = await cli("draft", "general", "--task", "check-out", "--project", str(cli.project))
        status = await cli("draft", "--project", str(cli.project))
        for_programs = await cli("draft", "--json")
        talk, screen, end = (shlex.split(told)[1:] for told in made.err.splitlines() if told.startswith("  agi "))
        answered = await cli(*talk)
        turns = json.loads((await cli("draft", "--json")).out)["session"]["turnCount"]
        closed = await cli(*end)
        after = await cli("draft")

    assert made.out.count("\n") == 1
    assert status.err == made.err
    assert for_programs.err == after.err == ""
    assert screen == ["tui", "--project", str(cli.project)]
    assert (answered.code, turns) == (0, 1)
    assert closed.out.startswith("Undrafted from check-out: 1 turn, ")


async def test_a_draft_survives_a_daemon_that_is_killed(cli):
    """Neither asked nor told: the next daemon has it, and its file says so."""
    await cli("tasks", "new", "Check out")
    async with cli.daemon() as daemon:
        await cli("draft", "plan", "--task", "check-out")
        before = json.loads((await cli("draft", "--json")).out)["session"]
        daemon.kill()
        await daemon.wait()
    (cli.project / ".agents/tasks/check-out/draft.json").unlink()

    async with cli.daemon():
        after = json.loads((await cli("draft", "--json")).out)["session"]
        written = json.loads((cli.project / ".agents/tasks/check-out/draft.json").read_text())

    assert after == before
    assert written["sessionId"] == before["sessionId"]


def test_without_a_daemon_it_is_said_how_to_start_one(here):
    """Nothing is started behind the user's back."""
    refused = here("undraft")

    assert refused.code != 0
    assert "agi serve" in refused.err


@pytest.mark.parametrize("words", [("draft", "plan"), ("draft", "--task", "x"), ("draft", "a", "b"), ("undraft", "x")])
def test_a_wrong_line_says_what_is_meant(here, words):
    """A role and a task, or neither."""
    assert here(*words).code == 2


def test_a_draft_that_was_closed_is_told_with_the_reason():
    """What the harness did by itself is said."""
    said = told({"active": False, "closed": {"closedReason": "Its session is damaged."}})

    assert said == "No draft. The last one was closed: Its session is damaged."
    assert (money(None), money(0.234)) == ("cost unknown", "$0.23")
