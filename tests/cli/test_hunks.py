"""Deciding hunk by hunk: what each key does, and what becomes of it all."""

from __future__ import annotations

import msgspec
import pytest

from agi.cli.hunks import HunkChoice
from agi.cli.proposal import choices, last_line, read_answer
from agi.protocol.commands import Approve
from agi.protocol.events import ApprovalRequested
from agi.protocol.hunks import Hunk
from agi.testing.provider import calls, says

PATHS = ("a", "a", "a", "b\x1b[2J", "b\x1b[2J")
LINES = "".join(f"line {number}\n" for number in range(40))


def asked(count: int = 5) -> ApprovalRequested:
    hunks = tuple(
        Hunk(id=f"h{n}", path=path, header=f"@@ -{n},1 +{n},1 @@", diff=f"@@ -{n},1 +{n},1 @@\n-{n}\u202e\n+x\n")
        for n, path in enumerate(PATHS[:count], 1)
    )
    return ApprovalRequested(
        tool_call_id="c",
        name="apply_patch",
        input=msgspec.Raw(b"{}"),
        risk="medium",
        rule="patch_review",
        reason="",
        preview="".join(hunk.diff for hunk in hunks),
        digest="sha256:1",
        hunks=hunks,
    )


def chosen(*typed: str | None) -> Approve | str:
    choice = HunkChoice(asked())
    for line in typed:
        if choice.take(line) == "cancel":
            return "cancel"
    assert choice.is_over
    return choice.answer()


def approved(*hunks: str, reason: str = "") -> Approve:
    return Approve(tool_call_id="c", action="approve", digest="sha256:1", hunks=hunks, reason=reason)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (("y", "n", "y", "n", "y"), approved("h1", "h3", "h5")),
        (("a", "y", "n"), approved("h1", "h2", "h3", "h4")),
        (("y", "d", "a"), approved("h1", "h4", "h5")),
        (("y", "y", "q"), approved("h1", "h2")),
        (("n not there", "y", "q"), approved("h2", reason="not there")),
        (("a", "a"), approved("h1", "h2", "h3", "h4", "h5")),
        (("q",), Approve(tool_call_id="c", action="deny")),
        (("n one", "n two", "q"), Approve(tool_call_id="c", action="deny", reason="one; two")),
        (("y", None), "cancel"),
        (("y", "c"), "cancel"),
    ],
)
def test_keys_decide_as_in_git(typed, answer):
    """This one, the rest of the file, everything after it; nothing at all is a refusal."""
    assert chosen(*typed) == answer


@pytest.mark.parametrize("typed", ["?", "", "yy", "x", "\x1b[A"])
def test_what_is_no_answer_decides_nothing(typed):
    """It is answered with what there is."""
    choice = HunkChoice(asked())

    assert choice.take(typed) == "help"
    assert choice.last_line().endswith("make hunk 1 of 5? [y/n/a/d/q/?]: ")


def test_a_hunk_is_shown_with_every_character_visible():
    """Also in the name of its file."""
    choice = HunkChoice(asked())
    choice.take("a")

    assert choice.shown(colors=False) == "  b\\x1b[2J\n    @@ -4,1 +4,1 @@\n    -4\\u202e\n    +x"
    assert "\x1b[31m-4\\u202e\x1b[0m" in choice.shown(colors=True)
    assert choice.last_line() == "b\\x1b[2J: make hunk 4 of 5? [y/n/a/d/q/?]: "


def test_a_long_hunk_is_cut():
    """As the whole change is."""
    one = msgspec.structs.replace(asked(1).hunks[0], diff="@@ -1,0 +1,99 @@\n" + "+x\n" * 99)
    choice = HunkChoice(msgspec.structs.replace(asked(), hunks=(one,)))

    assert choice.shown(colors=False).endswith("… 40 more lines")


def test_hunks_are_offered_where_there_is_a_choice():
    """One hunk is all of the change."""
    assert "\nh: decide about each of the 5 hunks" in choices(asked())
    assert last_line(asked()).endswith("[y/h/n/c]: ")
    assert read_answer("h", asked()) == "hunks"
    assert "h:" not in choices(asked(1))
    assert read_answer("h", asked(1)) is None


async def test_a_person_takes_one_hunk_and_leaves_the_other(cli):
    """Asked for each; what was accepted is made, and the model is told."""
    cli.write("a.txt", LINES)
    edit = ("edit", {"path": "a.txt", "old_text": "9\n", "new_text": "nine\n", "replace_all": True})
    async with cli.answered_by(calls(edit), says("Done.")) as provider, cli.terminal("do it") as terminal:
        await terminal.shows("/n/c]: ")
        terminal.type("h\n")
        await terminal.shows("make hunk 1 of 4? [y/n/a/d/q/?]: ")
        terminal.type("n keep the first\n")
        await terminal.shows("make hunk 2 of 4? [y/n/a/d/q/?]: ")
        terminal.type("?\n")
        await terminal.shows("leave out this one and the rest of this file")
        await terminal.shows("make hunk 2 of 4? [y/n/a/d/q/?]: ", times=2)
        terminal.type("y\n")
        await terminal.shows("make hunk 3 of 4? [y/n/a/d/q/?]: ")
        terminal.type("q\n")

        assert await terminal.ends() == 0
    assert (cli.project / "a.txt").read_text() == LINES.replace("line 19\n", "line 1nine\n")
    assert "keep the first" in str(provider.requests[1].json["messages"][-1])
