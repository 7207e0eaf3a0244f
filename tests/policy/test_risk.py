"""Each call has a risk, and only commands can be destructive."""

from __future__ import annotations

import pytest

from agi.policy.ground import Ground
from agi.policy.risk import is_destructive, risk_of
from agi.policy.subjects import subject_of


@pytest.mark.parametrize(
    ("name", "given", "risk"),
    [
        ("read_file", {"path": "x"}, "low"),
        ("careful", {}, "medium"),
        ("write_file", {"path": "x", "content": "rm -rf /"}, "medium"),
        ("fetch", {"url": "https://x.test"}, "medium"),
        ("shell", {"command": "make test"}, "medium"),
        ("shell", {"command": "git status && ls | head"}, "low"),
        ("shell", {"command": "cat /etc/passwd"}, "medium"),
        ("shell", {"command": "ls > a"}, "medium"),
        ("shell", {"command": "rm -rf build"}, "high"),
        ("shell", {"command": "echo 'open"}, "high"),
        ("verify", {}, "medium"),
    ],
)
def test_the_risk_follows_the_kind_and_the_command(tool, call, name, given, risk):
    """Looking is low, changing medium, destroying high."""
    assert risk_of(subject_of(tool(name), call(name, **given), Ground())) == risk


def test_only_a_tool_that_runs_commands_is_searched_for_them(tool, call):
    """A file that talks about deleting deletes nothing."""

    def destroys(name: str, **given: object) -> bool:
        return is_destructive(subject_of(tool(name), call(name, **given), Ground()))

    assert destroys("shell", command="rm x")
    assert not destroys("write_file", command="rm x")
    assert not destroys("shell", cwd="rm")
