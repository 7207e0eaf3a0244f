"""A plan at the command line: seen in full before anything runs, answered by a person, by --yes, or refused."""

from __future__ import annotations

import json

import pytest

from agi.cli.preflight import approval, shown
from agi.protocol.commands import EditedStep
from agi.protocol.events import PreflightRequested
from agi.protocol.preflight import EstimatedCost, PreflightStep
from agi.testing.provider import calls, says

WRITE = ("write_file", {"path": "made.txt", "content": "made\n"})
SHELL = ("shell", {"command": "touch touched"})
PLAN = json.dumps(
    {
        "steps": [
            {"description": "Make a file.", "toolName": "write_file", "target": "made.txt"},
            {"description": "Touch another.", "toolName": "shell", "target": "touch touched"},
        ]
    }
)
ASKED = "Begin with this plan? [y/n/s]: "


def plan(*steps: PreflightStep, usd: float | None = 0.02) -> PreflightRequested:
    low, high = (None, None) if usd is None else (usd / 2, usd * 4)
    cost = EstimatedCost(input_tokens=12_000, output_tokens=800, estimated_usd=usd, low_usd=low, high_usd=high)
    return PreflightRequested(
        steps=steps,
        estimated_cost=cost,
        required_permissions=("run commands",),
        warnings=("Mind the gap.",),
        digest="d",
    )


def step(number: int, target: str = "ls", **fields: object) -> PreflightStep:
    told = {"id": f"step_{number}", "description": f"Do {number}.", "tool_name": "shell", "target": target, **fields}
    return PreflightStep(risk="low", needs_approval=True, **told)  # type: ignore[arg-type]


def test_a_plan_shows_every_character_of_what_it_is_about():
    """What hides in a command is shown; the cost is a range; warnings stand below."""
    text = shown(plan(step(1, "ls # \x1b[8m\u202e")))

    assert text == (
        "The plan, before anything runs:\n"
        " 1. Do 1.\n"
        "      shell ls # \\x1b[8m\\u202e (risk: low, asks)\n"
        "Takes: run commands\n"
        "Costs: about $0.0200 ($0.0100 to $0.0800); about 12,000 tokens in, 800 out\n"
        "! Mind the gap."
    )


def test_an_unknown_price_is_not_told_as_nothing():
    """Free is another thing."""
    assert "Costs: not known; about 12,000 tokens in, 800 out" in shown(plan(usd=None))


def test_what_is_left_out_is_named_by_its_id():
    """So that what the other steps are about stays as proposed."""
    command = approval(plan(step(1), step(2)), {"step_2"})

    assert command.edited_steps == [
        EditedStep(id="step_1", description="Do 1."),
        EditedStep(id="step_2", description="Do 2.", skip=True),
    ]
    assert command.digest == "d"


async def test_a_person_sees_the_plan_says_yes_and_is_not_asked_again(cli):
    """The steps run; nothing ran before."""
    async with (
        cli.answered_by(says(PLAN), calls(WRITE, SHELL), says("Done.")),
        cli.terminal("--preflight", "do it") as terminal,
    ):
        await terminal.shows(ASKED)
        assert " 2. Touch another.\n      shell touch touched (risk: medium, asks)" in terminal.text
        assert "Takes: write files, run commands" in terminal.text
        assert not (cli.project / "made.txt").exists()
        terminal.type("y\n")

        assert await terminal.ends() == 0
    assert (cli.project / "made.txt").exists()
    assert (cli.project / "touched").exists()
    assert "Done." in terminal.text
    assert PLAN not in terminal.text


async def test_steps_can_be_left_out_by_number(cli):
    """What is left out is asked about if the agent does it all the same."""
    async with (
        cli.answered_by(says(PLAN), calls(WRITE, SHELL), says("Done.")),
        cli.terminal("--preflight", "do it") as terminal,
    ):
        await terminal.shows(ASKED)
        terminal.type("s 7\n")
        await terminal.shows("`s 7` is no answer")
        await terminal.shows(ASKED, times=2)  # what is typed before the question is there does not answer it
        terminal.type("s 2\n")
        await terminal.shows("  – Touch another.")
        await terminal.shows(ASKED, times=3)
        terminal.type("y\n")
        await terminal.shows("/n/c]: ")
        terminal.type("n\n")

        assert await terminal.ends() == 0
    assert (cli.project / "made.txt").exists()
    assert not (cli.project / "touched").exists()


@pytest.mark.parametrize(("typed", "code"), [("n not now\n", 3), ("c\n", 130), ("\x04", 130)])
async def test_a_plan_that_is_not_approved_runs_nothing(cli, typed, code):
    """A no ends the turn with its own exit code; cancel and the end of the input stop it."""
    async with cli.answered_by(says(PLAN)), cli.terminal("--preflight", "do it") as terminal:
        await terminal.shows(ASKED)
        terminal.type(typed)

        assert await terminal.ends() == code
    assert not (cli.project / "made.txt").exists()
    if code == 3:
        assert "The plan was not approved. The reason given: not now Nothing was run." in terminal.text


async def test_without_a_terminal_the_plan_is_shown_and_refused_with_exit_code_3(cli):
    """Nobody can be asked; stdout stays empty."""
    async with cli.answered_by(says(PLAN)):
        result = await cli("--preflight", "do it")

    assert (result.code, result.out) == (3, "")
    assert " 1. Make a file.\n" in result.err
    assert "approve with --yes" in result.err
    assert not (cli.project / "made.txt").exists()


async def test_yes_approves_the_plan_in_a_trusted_workspace(cli):
    """All of it runs, unasked."""
    async with cli.answered_by(says(PLAN), calls(WRITE, SHELL), says("Done.")):
        result = await cli("--preflight", "--yes", "--trust", "do it")

    assert (result.code, result.out) == (0, "Done.\n")
    assert "✓ plan approved: 2 steps" in result.err
    assert (cli.project / "touched").exists()


async def test_yes_approves_no_commands_unseen_where_the_workspace_is_not_trusted(cli):
    """As it is with questions: files may be changed, commands are refused."""
    async with cli.answered_by(says(PLAN), calls(WRITE, SHELL), says("Done.")):
        result = await cli("--preflight", "--yes", "do it")

    assert result.code == 3
    assert "  – Touch another." in result.err
    assert (cli.project / "made.txt").exists()
    assert not (cli.project / "touched").exists()


async def test_json_tells_the_plan_as_events(cli):
    """One event a line, as the log has it."""
    async with cli.answered_by(says(PLAN)):
        result = await cli("--preflight", "--json", "do it")

    assert result.code == 3
    assert [kind for kind in result.types if str(kind).startswith("preflight")] == [
        "preflight_requested",
        "preflight_resolved",
    ]


async def test_a_daemon_asks_the_same_way(cli):
    """The plan travels over HTTP, and so does the answer."""
    async with (
        cli.answered_by(says(PLAN), calls(WRITE), says("Done.")),
        cli.daemon(),
        cli.terminal("--preflight", "do it") as terminal,
    ):
        await terminal.shows(ASKED)
        terminal.type("y\n")

        assert await terminal.ends() == 0
    assert (cli.project / "made.txt").exists()
