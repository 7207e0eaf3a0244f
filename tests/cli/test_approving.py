"""Approvals at the terminal: the whole truth is shown, a key decides, and nothing is decided by accident."""

from __future__ import annotations

import json

import pytest

from agi.client.find import open_client
from agi.client.settings import ClientSettings
from agi.protocol.commands import Approve
from agi.testing.provider import calls, says

SHELL = ("shell", {"command": "touch made"})
ASKED = "/n/c]: "


@pytest.mark.threat("T21")
async def test_a_person_sees_every_character_and_lets_it_run(cli):
    """What hides in a command is shown; `y` runs it once."""
    sneaky = {"command": "touch made # \x1b[8m\u202e\u200b сurl"}
    async with cli.answered_by(calls(("shell", sneaky)), says("Done.")), cli.terminal("do it") as terminal:
        await terminal.shows(ASKED)
        assert "risk:" in terminal.text
        assert r"command: touch made # \x1b[8m\u202e\u200b \u0441url" in terminal.text
        assert not (cli.project / "made").exists()
        terminal.type("y\n")

        assert await terminal.ends() == 0
    assert (cli.project / "made").exists()
    assert "Done." in terminal.text


async def test_a_no_is_told_to_the_model_with_its_reason(cli):
    """A refusal is an answer; the turn goes on and ends well."""
    async with cli.answered_by(calls(SHELL), says("Then not.")) as provider, cli.terminal("do it") as terminal:
        await terminal.shows(ASKED)
        terminal.type("n keep my folder clean\n")

        assert await terminal.ends() == 0
    assert "keep my folder clean" in str(provider.requests[1].json["messages"][-1])
    assert not (cli.project / "made").exists()


async def test_a_command_can_be_allowed_for_the_session(cli):
    """The rule is shown; after `s` what it says is not asked about again."""
    async with cli.answered_by(calls(SHELL), calls(SHELL), says("Twice.")), cli.terminal("do it") as terminal:
        await terminal.shows(ASKED)
        assert "s: do not ask again about exactly the command `touch made`" in terminal.text
        terminal.type("s\n")

        assert await terminal.ends() == 0
    assert terminal.text.count(ASKED) == 1


async def test_a_command_can_be_allowed_in_a_workspace_until_it_is_revoked(cli):
    """After `w` the next run does not ask; `agi grants` lists it and takes it back."""
    looks = ("shell", {"command": "ls"})
    async with cli.answered_by(calls(looks), says("Once."), calls(looks), says("Twice."), calls(looks), says("No.")):
        async with cli.terminal("--trust", "do it") as terminal:
            await terminal.shows("[y/s/w/n/c]: ")
            assert "s or w: do not ask again about commands that begin with `ls`" in terminal.text
            terminal.type("w\n")
            assert await terminal.ends() == 0
        again = await cli("--trust", "again")
        listed = await cli("grants")
        revoked = await cli("grants", "revoke", listed.out.split()[0][-8:])
        after = await cli("--trust", "and again")

    assert (again.code, "Twice." in again.out) == (0, True)
    assert "commands that begin with `ls`" in listed.out
    assert revoked.out == "Revoked: shell: commands that begin with `ls`\n"
    assert after.code == 3


async def test_questions_are_asked_one_after_the_other(cli):
    """Two calls of one step are two questions."""
    write = ("write_file", {"path": "a.txt", "content": "one\ntwo\n"})
    async with cli.answered_by(calls(SHELL, write), says("Done.")), cli.terminal("do it") as terminal:
        await terminal.shows(ASKED)
        assert "write_file" not in terminal.text
        terminal.type("maybe\n")
        await terminal.shows(ASKED, times=2)
        assert "`maybe` is no answer. Type y, s, n, n <reason> or c" in terminal.text
        terminal.type("y\n")
        await terminal.shows("+one")
        await terminal.shows("write_file a.txt [y/s/n/c]: ")
        terminal.type("n\n")

        assert await terminal.ends() == 0
    assert (cli.project / "made").exists()
    assert not (cli.project / "a.txt").exists()


async def test_canceling_at_the_question_ends_the_turn(cli):
    """`c` stops everything, and the exit code says so."""
    async with cli.answered_by(calls(SHELL)), cli.terminal("do it") as terminal:
        await terminal.shows(ASKED)
        terminal.type("c\n")

        assert await terminal.ends() == 130
    assert not (cli.project / "made").exists()


async def test_the_end_of_the_input_cancels_the_turn(cli):
    """Ctrl-D at the question is a cancel; what is said about it begins on a line of its own."""
    async with cli.answered_by(calls(SHELL)), cli.terminal("do it") as terminal:
        await terminal.shows(ASKED)
        terminal.type("y\x04\x04")

        assert await terminal.ends() == 130
        await terminal.shows("\nagi: stopped: interrupted.\n")
    assert not (cli.project / "made").exists()


async def test_a_change_is_shown_as_a_coloured_diff(cli):
    """What is there and what would be there."""
    cli.write("a.txt", "one\ntwo\n")
    edit = ("edit", {"path": "a.txt", "old_text": "two", "new_text": "three"})
    async with cli.answered_by(calls(edit), says("Done.")), cli.terminal("do it") as terminal:
        await terminal.shows(ASKED)
        terminal.type("y\n")
        assert await terminal.ends() == 0

    assert "\x1b[31m-two\x1b[0m\n    \x1b[32m+three\x1b[0m\n" in terminal.text
    assert (cli.project / "a.txt").read_text() == "one\nthree\n"


async def test_all_of_a_long_change_can_be_looked_at_before_deciding(cli):
    """`v` shows what was cut, and the question stays."""
    write = ("write_file", {"path": "a.txt", "content": "".join(f"line {n}\n" for n in range(100))})
    async with cli.answered_by(calls(write), says("Done.")), cli.terminal("do it") as terminal:
        await terminal.shows(ASKED)
        assert "+line 99" not in terminal.text
        terminal.type("v\n")
        await terminal.shows("+line 99")
        await terminal.shows(ASKED, times=2)
        terminal.type("n\n")

        assert await terminal.ends() == 0
    assert not (cli.project / "a.txt").exists()


async def test_what_was_typed_before_the_question_does_not_answer_it(cli):
    """Keys pressed while the agent was still thinking are thrown away."""
    async with cli.answered_by(calls(SHELL), says("Done.")), cli.terminal("do it") as terminal:
        terminal.type("y\ny\ny\n")
        await terminal.shows(ASKED)
        terminal.type("n\n")

        assert await terminal.ends() == 0
    assert not (cli.project / "made").exists()


async def test_an_answer_given_elsewhere_closes_the_question(cli):
    """Several clients may see one question; the first answer counts, and the others are told."""
    async with cli.answered_by(calls(SHELL), says("Done.")), cli.daemon():
        async with cli.terminal("do it") as terminal:
            await terminal.shows(ASKED)
            session = (await cli("sessions", "--json")).out
            await answer_elsewhere(cli, session)

            assert await terminal.ends() == 0
        assert "Answered elsewhere." in terminal.text
    assert (cli.project / "made").exists()


async def test_a_turn_queued_behind_an_unanswered_question_is_not_waited_for_without_a_person(cli):
    """Headless never waits for a human it does not have, not even another turn's."""
    async with cli.answered_by(calls(SHELL), says("Done.")), cli.daemon(), cli.terminal("do it") as terminal:
        await terminal.shows(ASKED)
        result = await cli("--continue", "me too")
        terminal.type("y\n")
        ended = await terminal.ends()

    assert result.code == 3
    assert "waits for an approval" in result.err
    assert ended == 0


async def test_with_yes_commands_in_an_untrusted_workspace_are_still_asked_about_at_a_terminal(cli):
    """`--yes` is no trust; but a person who is there can decide."""
    async with cli.answered_by(calls(SHELL), says("Done.")), cli.terminal("do it", "--yes") as terminal:
        await terminal.shows(ASKED)
        terminal.type("y\n")

        assert await terminal.ends() == 0
    assert (cli.project / "made").exists()


@pytest.mark.threat("T39")
async def test_a_terminal_is_not_moved_by_what_a_model_says(cli):
    """Titles, clipboards and cursor moves are shown, not obeyed."""
    async with cli.answered_by(says("\x1b]52;c;aGk=\x07\x1b[2Jhello\rworld")), cli.terminal("hi") as terminal:
        assert await terminal.ends() == 0
        await terminal.shows(r"\x1b]52;c;aGk=\x07\x1b[2Jhello\rworld")

    answer = terminal.text[terminal.text.index("\\x1b]52") :]
    assert "\x1b" not in answer


async def answer_elsewhere(cli, sessions: str) -> None:
    """Approve what waits, as another client of the daemon would."""
    client = await open_client(ClientSettings(project=cli.project, home_config=cli.home, env={}))
    session = json.loads(sessions)[0]
    waiting = session["pending_approvals"][0]["tool_call_id"]
    await client.approve(session["id"], Approve(tool_call_id=waiting, action="approve"))
    await client.close()
