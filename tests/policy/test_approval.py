"""Every call is allowed, asked about or denied; deny beats ask beats allow."""

from __future__ import annotations

import pytest
from msgspec import Raw

from agi.policy.approval import ApprovalPolicy, Decision, is_listed, judge
from agi.protocol.tools import ToolCall, ToolKind

DEFAULT = ApprovalPolicy()
NOTHING = ApprovalPolicy(require_for_kinds=())


@pytest.mark.parametrize(
    ("name", "verdict", "rule"),
    [
        ("read_file", "allow", "not_required"),
        ("write_file", "ask", "kind:write"),
        ("shell", "ask", "kind:exec"),
        ("verify", "ask", "kind:exec"),
        ("fetch", "ask", "kind:network"),
        ("careful", "ask", "tool_requires_approval"),
    ],
)
def test_by_default_what_writes_runs_or_reaches_out_is_asked_about(tool, call, name, verdict, rule):
    """Reading is free; a tool that says so itself asks too."""
    decision = judge(DEFAULT, tool(name), call(name), allowed_tools=None, granted=())

    assert (decision.verdict, decision.rule) == (verdict, rule)
    assert decision.reason


@pytest.mark.parametrize("named", ["read_file", "fs.read"])
def test_a_tool_can_be_asked_about_by_name_or_alias(tool, call, named):
    """Whatever its kind."""
    policy = ApprovalPolicy(require_for_kinds=(), require_for_tools=(named,))

    decision = judge(policy, tool("read_file"), call("fs.read"), allowed_tools=None, granted=())
    assert (decision.verdict, decision.rule) == ("ask", "tool:read_file")
    assert judge(policy, tool("shell"), call("shell"), allowed_tools=None, granted=()).verdict == "allow"


def test_kinds_can_be_chosen(tool, call):
    """A policy that asks about reading and nothing else does just that."""
    policy = ApprovalPolicy(require_for_kinds=(ToolKind.READ,))

    assert judge(policy, tool("read_file"), call("read_file"), allowed_tools=None, granted=()).verdict == "ask"
    assert judge(policy, tool("write_file"), call("write_file"), allowed_tools=None, granted=()).verdict == "allow"


@pytest.mark.parametrize("policy", [DEFAULT, NOTHING])
@pytest.mark.parametrize("granted", [(), ("shell", "read_file")])
def test_a_tool_that_is_not_the_agents_is_denied(tool, call, policy, granted):
    """No grant and no loose policy gives an agent a tool it does not have."""
    decision = judge(policy, tool("shell"), call("shell"), allowed_tools=("read_file",), granted=granted)

    expected = "shell is not among this agent's tools."
    assert decision == Decision(verdict="deny", rule="agent_tools", reason=expected, risk="medium")
    assert judge(policy, tool("shell"), call("shell"), allowed_tools=(), granted=granted).verdict == "deny"


@pytest.mark.parametrize("listed", ["shell", "shell.run"])
def test_an_agents_tools_may_be_named_by_alias(tool, call, listed):
    """Dotted names of a configuration mean the same tool."""
    decision = judge(NOTHING, tool("shell"), call("shell"), allowed_tools=[listed], granted=())

    assert decision.verdict == "allow"


def test_a_grant_lets_a_tool_run_for_the_session(tool, call):
    """Only that tool."""
    make = call("shell", command="make test")

    granted = judge(DEFAULT, tool("shell"), make, allowed_tools=None, granted={"shell"})
    assert (granted.verdict, granted.rule) == ("allow", "session_grant")
    other = judge(DEFAULT, tool("write_file"), call("write_file"), allowed_tools=None, granted={"shell"})
    assert other.verdict == "ask"


@pytest.mark.parametrize("command", ["rm -rf .", "git reset --hard", "ls; rm x", "$X", "echo 'open"])
def test_a_grant_never_covers_what_destroys(tool, call, command):
    """Such a call is asked about each time, with a high risk."""
    decision = judge(DEFAULT, tool("shell"), call("shell", command=command), allowed_tools=None, granted={"shell"})

    assert (decision.verdict, decision.rule, decision.risk) == ("ask", "destructive", "high")


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{", b'{"command": 5}', b'{"command": ["rm"]}', b'"rm"', b'{"command":"\xff"}']
)
def test_an_input_that_cannot_be_read_is_not_covered_by_a_grant(tool, raw):
    """What is not understood is asked about."""
    odd = ToolCall("call_1", "shell", Raw(raw))

    assert judge(DEFAULT, tool("shell"), odd, allowed_tools=None, granted={"shell"}).verdict == "ask"


def test_where_a_policy_does_not_ask_the_risk_is_still_told(tool, call):
    """A user who took a kind off the list is not asked; clients can still show what the call was."""
    decision = judge(NOTHING, tool("shell"), call("shell", command="rm x"), allowed_tools=None, granted=())

    assert (decision.verdict, decision.risk) == ("allow", "high")


def test_a_list_names_tools_by_any_of_their_names(tool):
    """None is every tool, an empty list none."""
    assert is_listed(tool("shell"), None)
    assert is_listed(tool("shell"), {"shell.run"})
    assert not is_listed(tool("shell"), ())
    assert not is_listed(tool("shell"), ("shel", "shell.runner", "Shell"))
