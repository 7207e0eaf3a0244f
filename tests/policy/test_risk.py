"""Each call has a risk, and only commands can be destructive."""

from __future__ import annotations

import pytest

from agi.policy.risk import is_destructive, risk_of


@pytest.mark.parametrize(
    ("name", "given", "risk"),
    [
        ("read_file", {"path": "x"}, "low"),
        ("careful", {}, "medium"),
        ("write_file", {"path": "x", "content": "rm -rf /"}, "medium"),
        ("fetch", {"url": "https://x.test"}, "medium"),
        ("shell", {"command": "make test"}, "medium"),
        ("shell", {"command": "rm -rf build"}, "high"),
        ("verify", {}, "medium"),
    ],
)
def test_the_risk_follows_the_kind_and_the_command(tool, call, name, given, risk):
    """Reading is low, changing medium, destroying high."""
    assert risk_of(tool(name), call(name, **given)) == risk


def test_only_a_tool_that_runs_commands_is_searched_for_them(tool, call):
    """A file that talks about deleting deletes nothing."""
    assert is_destructive(tool("shell"), call("shell", command="rm x"))
    assert not is_destructive(tool("write_file"), call("write_file", command="rm x"))
    assert not is_destructive(tool("shell"), call("shell", cwd="rm"))
