"""A decision can be looked up before anything happens."""

from __future__ import annotations

from agi.policy.explaining import explain
from agi.policy.ground import Ground
from agi.protocol.explanations import Explanation, SeenCommand
from agi.protocol.grants import Remember
from agi.protocol.policies import ApprovalPolicy, Rule

ALLOW = Rule(tool="shell", command="git status", verdict="allow")


def test_it_tells_each_command_the_rule_and_what_could_be_remembered(tool, call):
    """All that went into the decision."""
    one = call("shell", command="git status > out; env $X a")
    policy = ApprovalPolicy(rules=(ALLOW,))

    explained = explain(policy, tool("shell"), one, allowed_tools=None, granted=(), ground=Ground())

    assert explained.commands == (
        SeenCommand(words=("git", "status"), overwrites=("out",)),
        SeenCommand(words=("env", "…", "a"), note="env carries out whatever it is given"),
        SeenCommand(words=("…", "a"), via="env"),
    )
    assert (explained.verdict, explained.rule, explained.risk) == ("ask", "destructive", "high")
    assert explained.unsure == ("the name of a program is known only when it runs",)
    assert explained.remember is None


def test_a_rule_that_decides_is_named(tool, call):
    """With everything it says."""
    explained = explain(
        ApprovalPolicy(rules=(ALLOW,)),
        tool("shell"),
        call("shell", command="git status"),
        allowed_tools=None,
        granted=(),
        ground=Ground(),
    )

    assert explained == Explanation(
        tool="shell",
        input="git status",
        verdict="allow",
        rule="rule:allow",
        reason="Allowed by a rule: commands that begin with `git status`.",
        risk="low",
        by=(ALLOW,),
        commands=(SeenCommand(words=("git", "status")),),
    )


def test_what_cannot_be_read_says_why_and_hides_nothing(tool, call):
    """Every character is visible."""
    one = call("shell", command="ls \u202e")
    explained = explain(ApprovalPolicy(), tool("shell"), one, allowed_tools=None, granted=(), ground=Ground())

    assert explained.input == r"ls \u202e"
    assert explained.unreadable == "the command has hidden characters"
    assert explained.commands == ()


def test_other_tools_are_explained_too(tool, call):
    """By their input."""
    explained = explain(
        ApprovalPolicy(),
        tool("write_file"),
        call("write_file", path="a"),
        allowed_tools=None,
        granted=(),
        ground=Ground(),
    )

    assert (explained.input, explained.rule) == ('{"path":"a"}', "kind:write")
    assert explained.remember == Remember(
        rules=(Rule(tool="write_file", verdict="allow"),), text="every call of write_file", scopes=("session",)
    )
