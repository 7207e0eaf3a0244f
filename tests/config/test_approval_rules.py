"""Rules about certain calls: yours count, a project's may only add to them, and what has a slip in it is an error."""

from __future__ import annotations

import pytest

from agi.errors import ConfigError
from agi.protocol.policies import Rule

LS = {"tool": "shell", "command": "ls", "verdict": "allow"}
PUSH = {"tool": "shell", "command": "git push", "verdict": "deny"}
DOCS = {"tool": "write_file", "path": "docs/**", "verdict": "ask"}
MINE = Rule(tool="shell", command="git push", verdict="deny")
THEIRS = Rule(tool="shell", command="ls", verdict="allow")
ASKS = Rule(tool="write_file", path="docs/**", verdict="ask")


def test_the_users_rules_are_read(places):
    """With everything they may say."""
    exactly = {"tool": "shell", "exactly": "make test", "verdict": "allow"}
    places.user_says({"approval": {"rules": [PUSH, exactly], "allowInSandbox": True}})
    policy = places.load().approval

    assert policy.rules == (MINE, Rule(tool="shell", exactly="make test", verdict="allow"))
    assert policy.allow_in_sandbox


@pytest.mark.threat("T26")
def test_a_project_that_is_not_trusted_can_only_make_things_stricter(places):
    """What it allows is ignored and said to be; what it denies or asks about counts beside yours."""
    places.user_says({"approval": {"rules": [PUSH]}})
    places.project_says(
        {
            "approval": {
                "rules": [LS, {"tool": "write_file", "path": "docs/**", "verdict": "ask"}],
                "allowInSandbox": True,
            }
        }
    )
    config = places.load(trusted=False)

    assert config.approval.rules == (MINE, ASKS)
    assert not config.approval.allow_in_sandbox
    assert set(config.ignored) == {"approval.rules", "approval.allowInSandbox"}


def test_a_trusted_projects_rules_never_take_one_of_yours_away(places):
    """They add to them."""
    places.user_says({"approval": {"rules": [PUSH]}})
    places.project_says({"approval": {"rules": [LS]}})

    assert places.load(trusted=True).approval.rules == (MINE, THEIRS)


@pytest.mark.parametrize(
    "rule",
    [
        {"tool": "shell", "comand": "ls", "verdict": "allow"},
        {"tool": "shell", "command": "ls"},
        {"tool": "shell", "command": "", "verdict": "allow"},
        {"tool": "shell", "command": "ls", "verdict": "maybe"},
        {"command": "ls", "verdict": "allow"},
        "ls",
    ],
)
def test_a_rule_with_a_slip_in_it_is_an_error(places, rule):
    """Without its condition it would be about every call."""
    places.user_says({"approval": {"rules": [rule]}})

    with pytest.raises(ConfigError, match=r"approval\.rules\[0\]"):
        places.load()


def test_a_project_cannot_grant_itself_anything(places):
    """What is remembered for workspaces is in the user's file alone."""
    places.project_says({"workspaceGrants": {"/x": []}})

    assert any("workspaceGrants" in warning for warning in places.load(trusted=True).warnings)
    places.user_says({"workspaceGrants": {"/x": []}})
    places.project_says({})
    assert places.load().warnings == ()
