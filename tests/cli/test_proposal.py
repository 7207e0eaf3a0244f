"""A call that waits for a yes: all of it is shown, or said to be longer, and only a clear answer is one."""

from __future__ import annotations

import unicodedata

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from agi.cli.proposal import allowed, choices, last_line, question, read_answer
from agi.protocol.commands import Approve
from agi.protocol.events import ApprovalRequested
from agi.protocol.grants import Remember
from agi.protocol.policies import Rule

DIFF = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n--- two\n+++ three\x1b[2J\n"


RULE = Rule(tool="shell", command="make\u202e", verdict="allow")
SESSION = Remember(rules=(RULE,), text="commands that begin with `make\u202e`", scopes=("session",))
BOTH = Remember(rules=(RULE,), text="commands that begin with `make`", scopes=("session", "workspace"))


def asked(
    name: str = "shell",
    given: object = None,
    *,
    preview: str = "",
    risk: str = "medium",
    rule: str = "kind:exec",
    remember: Remember | UnsetType = SESSION,
    digest: str = "",
) -> ApprovalRequested:
    return ApprovalRequested(
        tool_call_id="c",
        name=name,
        input=msgspec.Raw(msgspec.json.encode(given or {"command": "make test"})),
        risk=risk,  # type: ignore[arg-type]
        rule=rule,
        reason="Tools of kind exec need approval.",
        preview=preview,
        remember=remember,
        digest=digest,
    )


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y", Approve(tool_call_id="c", action="approve")),
        ("YES", Approve(tool_call_id="c", action="approve")),
        ("s", Approve(tool_call_id="c", action="approve", remember="session")),
        ("n", Approve(tool_call_id="c", action="deny")),
        ("no, not that file", Approve(tool_call_id="c", action="deny", reason="not that file")),
        ("c", "cancel"),
        (None, "cancel"),
        ("", None),
        ("yy", None),
        ("v", None),
        ("sure", None),
        ("\x1b[A", None),
    ],
)
def test_only_a_clear_answer_is_one(typed, answer):
    """An empty line or a slip of the finger is no answer; the end of the input cancels the turn."""
    assert read_answer(typed, asked()) == answer


def test_what_is_asked_about_each_time_is_not_granted_for_longer():
    """An answer that would not hold is neither offered nor taken."""
    one = asked(remember=UNSET)

    assert choices(one) == "[y]es, once · [n]o, or n <reason> · [c]ancel the turn"
    assert last_line(one).endswith("[y/n/c]: ")
    assert read_answer("s", one) is None
    assert read_answer("w", one) is None


def test_a_destructive_command_is_not_granted_for_longer_either():
    """Whatever a daemon may offer."""
    assert "[s]" not in choices(asked(risk="high", remember=BOTH))


def test_the_very_rule_that_would_be_remembered_is_shown():
    """With every character visible; a workspace is offered only where it can remember."""
    assert choices(asked()) == (
        "[y]es, once · [s]ession · [n]o, or n <reason> · [c]ancel the turn\n"
        "s: do not ask again about commands that begin with `make\\u202e`"
    )
    assert choices(asked(remember=BOTH)) == (
        "[y]es, once · [s]ession · [w]orkspace · [n]o, or n <reason> · [c]ancel the turn\n"
        "s or w: do not ask again about commands that begin with `make`"
    )
    assert last_line(asked(remember=BOTH)).endswith("[y/s/w/n/c]: ")
    assert all(len(line) <= 80 for line in choices(asked(remember=BOTH)).split("\n"))


def test_an_answer_is_about_what_was_shown():
    """It names the digest of the question."""
    one = asked(remember=BOTH, digest="sha256:1")

    assert read_answer("y", one) == Approve(tool_call_id="c", action="approve", digest="sha256:1")
    assert read_answer("w", one) == Approve(tool_call_id="c", action="approve", remember="workspace", digest="sha256:1")


def test_the_reason_the_risk_and_every_character_are_shown():
    """What hides in a command is visible."""
    shown = question(asked(given={"command": "ls\u202e\u200b"}, risk="high"))

    assert shown == "\n".join(
        ["? shell wants to run (risk: high). Tools of kind exec need approval.", r"    command: ls\u202e\u200b"]
    )


def test_a_change_is_shown_as_a_diff_instead_of_its_raw_text():
    """Added lines are green, removed ones red, and nothing in them acts."""
    one = asked("write_file", {"path": "a.txt", "content": "SECRET"}, preview=DIFF)
    plain = question(one)
    coloured = question(one, colors=True)

    assert "SECRET" not in plain
    assert "    --- two\n    +++ three\\x1b[2J" in plain
    assert "\x1b[31m--- two\x1b[0m" in coloured
    assert "\x1b[32m+++ three\\x1b[2J\x1b[0m" in coloured
    assert "\x1b[1m+++ b/a.txt\x1b[0m" in coloured
    assert "\x1b[36m@@ -1,2 +1,2 @@\x1b[0m" in coloured


def test_a_long_change_is_cut_and_all_of_it_can_be_asked_for():
    """Sixty lines, then how many more there are."""
    one = asked("write_file", {"path": "a"}, preview="".join(f"+line {n}\n" for n in range(75)) + "+" + "x" * 500)

    assert "line 59\n    … 16 more lines" in question(one)
    assert "line 60" not in question(one)
    assert "[v]iew all" in choices(one)
    assert read_answer("v", one) == "all"
    assert "x" * 500 in question(one, everything=True)


def test_a_long_line_of_a_change_is_cut_too():
    """One line cannot push the others off the screen unasked."""
    one = asked("write_file", {"path": "a"}, preview="+" + "x" * 1000)

    assert question(one).endswith("… 601 more characters")
    assert read_answer("v", one) == "all"


@pytest.mark.parametrize("command", ["make test", "x" * 300, "日本語" * 60, "é" * 200, "rm -r \x1b[2J" * 20])
def test_the_line_that_is_answered_names_the_call_and_fits_a_narrow_terminal(command):
    """Whatever scrolled away, one knows what one says yes to."""
    line = last_line(asked(given={"command": command}))
    width = sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in line)

    assert line.startswith("shell ")
    assert line.endswith(" [y/s/n/c]: ")
    assert width <= 80
    assert line.isprintable()


def test_a_slip_is_answered_with_what_is_allowed():
    """The same letters as are offered."""
    assert allowed(asked(), "ok\x07") == r"`ok\x07` is no answer. Type y, s, n, n <reason> or c, and Enter."
    assert allowed(asked(remember=UNSET), "") == "An empty line is no answer. Type y, n, n <reason> or c, and Enter."
