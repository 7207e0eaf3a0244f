"""`agi undo` and `agi diff`: look at what the agent did, and take it back; with a daemon or without."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import msgspec
import pytest

from agi.cli.undo import LISTED, told
from agi.protocol.checkpoints import RevertConflict, Reverted, Unrestored
from agi.protocol.sessions import Session
from agi.testing.provider import calls, says


@pytest.fixture(params=["in this process", "by a daemon"])
async def changed(cli, request) -> AsyncIterator[str]:
    """A session whose one turn changed `a.txt` and made `b.txt`; gives its id."""
    cli.write("a.txt", "0\n")
    async with cli.answered_by(calls(("shell", {"command": "echo 1 > a.txt; echo 1 > b.txt"})), says("Done.")):
        first = await cli("change it", "--json", "--yes", "--trust")
    assert first.code == 0, first.err
    session_id = str(first.events[0]["session_id"])
    if request.param == "in this process":
        yield session_id
        return
    async with cli.daemon():
        yield session_id


async def test_the_changes_are_shown_as_one_diff(cli, changed):
    """On stdout, as git would print and apply it."""
    shown = await cli("diff")
    turn = json.loads((await cli("sessions", "show", changed, "--json")).out)["session"]["last_turn_id"]
    of_turn = await cli("diff", "--session", changed[-6:], "--turn", turn)
    as_json = json.loads((await cli("diff", "--json", "--from", "start")).out)

    assert shown.out.startswith("diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-0\n+1\n")
    assert shown.out == of_turn.out
    assert as_json["summary"] == {"files": 2, "additions": 2, "deletions": 1}


async def test_the_last_turn_is_taken_back_and_brought_back(cli, changed):
    """It says what it will do, does it, and says how to have it undone."""
    undone = await cli("undo", "--yes")

    assert undone.code == 0
    assert "changed back  a.txt  (+1 -1)" in undone.err
    assert "removed       b.txt  (+0 -1)" in undone.err
    redo = f"agi undo --files --session {changed} --to ckpt_"
    assert undone.out.startswith(f"Taken back: 2 files. To bring it back:\n  {redo}")
    assert (cli.project / "a.txt").read_text() == "0\n"
    assert not (cli.project / "b.txt").exists()

    again = await cli(*undone.out.split("agi ")[1].split(), "--yes")
    assert again.code == 0
    assert (cli.project / "b.txt").read_text() == "1\n"


async def test_without_a_terminal_nothing_is_done_unasked(cli, changed):
    """It shows what would be done, and needs a --yes."""
    result = await cli("undo")

    assert result.code == 2
    assert "Use --yes" in result.err
    assert (cli.project / "a.txt").read_text() == "1\n"


async def test_looking_only_does_nothing(cli, changed):
    """`--preview` for people, `--json` for programs."""
    preview = await cli("undo", "--preview", "--both")
    as_json = json.loads((await cli("undo", "--json")).out)

    assert "4 messages leave the conversation" in preview.err
    assert (as_json["preview"], len(as_json["files"])) == (True, 2)
    assert (cli.project / "a.txt").read_text() == "1\n"


async def test_your_own_work_is_in_the_way(cli, changed):
    """It is named; leaving it out or forcing it is up to you."""
    cli.write("a.txt", "mine\n")
    refused = await cli("undo", "--yes")
    assert refused.code == 1
    assert "in the way: a.txt (changed since, by you or another program)" in refused.err
    assert (cli.project / "b.txt").exists()

    assert (await cli("undo", "b.txt", "--yes")).code == 0
    assert (cli.project / "a.txt").read_text() == "mine\n"
    assert (await cli("undo", "--force", "a.txt", "--yes")).code == 0
    assert (cli.project / "a.txt").read_text() == "0\n"


async def test_the_conversation_can_go_too(cli, changed):
    """Then the model knows nothing of it."""
    undone = await cli("undo", "--both", "--yes")
    shown = await cli("sessions", "show", changed)

    assert undone.out.startswith("Taken back: 2 files, 4 messages.")
    assert "[taken back]" in shown.out
    nothing = await cli("undo", "--both", "--yes")
    assert (nothing.code, "nothing to take back" in nothing.err) == (0, True)
    again = await cli(*undone.out.split("agi ")[1].split(), "--yes")
    assert again.code == 0
    assert "[taken back]" not in (await cli("sessions", "show", changed)).out


async def test_at_a_terminal_one_looks_and_decides(cli):
    """The diff is a key away; Enter is a no."""
    cli.write("a.txt", "0\n")
    async with cli.answered_by(calls(("shell", {"command": "printf '1\\033[2J\\n' > a.txt"})), says("Done.")):
        await cli("change it", "--yes", "--trust")
    async with cli.terminal("undo") as screen:
        await screen.shows("Do it? [y]es")
        screen.type("d\n")
        await screen.shows("Do it? [y]es", 2)
        assert "-1\\x1b[2J" in screen.text
        screen.type("\n")
        assert await screen.ends() == 1
    assert "1" in (cli.project / "a.txt").read_text()
    async with cli.terminal("undo") as screen:
        await screen.shows("Do it? [y]es")
        screen.type("y\n")
        assert await screen.ends() == 0
    assert (cli.project / "a.txt").read_text() == "0\n"


def test_nothing_to_take_back_is_said(here):
    """A session that changed nothing."""
    here("hello")
    undone, shown = here("undo", "--yes"), here("diff")

    assert (undone.code, shown.code) == (0, 0)
    assert "There is nothing to take back." in undone.err
    assert "changed no files" in shown.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("undo", "--files", "--both"),
        ("undo", "--force"),
        ("undo", "--to", "yesterday", "--yes"),
        ("undo", "--session", "nope", "--yes"),
        ("diff", "more"),
        ("diff", "--turn", "x", "--from", "y"),
        ("diff", "--turn", "turn_nope"),
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_refused(here, arguments):
    """With 2, and a word about it."""
    here("hello")
    result = here(*arguments)

    assert result.code == 2
    assert result.err.startswith("agi: ")


@pytest.mark.parametrize("command", ["undo", "diff"])
def test_where_nothing_was_ever_said_nothing_is_made(here, command):
    """Looking makes no data folder."""
    assert here(command).code == 2
    assert not (here.project / ".agi").exists()


async def test_what_may_be_your_own_work_is_asked_about_at_a_terminal(cli):
    """Changed late in a long command, by whoever: it is marked; --yes alone does not take it back, naming it does."""
    cli.write("a.txt", "0\n")
    command = "sleep 2.1; echo 1 > a.txt"
    async with cli.answered_by(calls(("shell", {"command": command})), says("Done.")):
        await cli("change it", "--yes", "--trust")
    refused = await cli("undo", "--yes")
    assert refused.code == 1
    assert "in the way: a.txt (changed while a command ran, perhaps by you)" in refused.err
    assert "nothing to take back" not in refused.err

    async with cli.terminal("undo") as screen:
        await screen.shows("1 file may hold your own work. Take it back as well? [y]es · [n]o: ")
        screen.type("\n")
        assert await screen.ends() == 1
    async with cli.terminal("undo") as screen:
        await screen.shows("1 file may hold your own work. Take it back as well? [y]es · [n]o: ")
        screen.type("y\n")
        await screen.shows("changed back  a.txt")
        await screen.shows("Do it? [y]es")
        assert (cli.project / "a.txt").read_text() == "1\n"
        screen.type("y\n")
        assert await screen.ends() == 0
    assert (cli.project / "a.txt").read_text() == "0\n"


def test_what_is_not_listed_is_counted(here):
    """Nobody is to believe that the list is all."""
    many = range(LISTED + 3)
    preview = Reverted(
        session_id="sess_1",
        to="start",
        what="files",
        preview=True,
        files=(),
        summary={"files": 0},
        conflicts=tuple(RevertConflict(path=f"{n}", reason="during_command") for n in many),
        unrestored=tuple(Unrestored(path=f"{n}", reason="It is ignored.") for n in many),
    )
    here("hello")
    session = msgspec.json.decode(here("sessions", "list", "--json").out, type=list[Session])[0]

    lines = list(told(session, preview))
    assert len(lines) == 1 + 2 * (LISTED + 1)
    assert (lines[LISTED + 1], lines[-1]) == ("  … and 3 more in the way", "  … and 3 more that stay as they are")
