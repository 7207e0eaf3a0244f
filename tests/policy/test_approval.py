"""Every call is allowed, asked about or denied; deny beats ask beats allow."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET, Raw

from agi.policy.approval import ApprovalPolicy, Decision, Ground, digest_of, is_listed, judge, request_for
from agi.protocol.grants import Grant
from agi.protocol.policies import Rule, Verdict
from agi.protocol.tools import ToolCall, ToolKind

DEFAULT = ApprovalPolicy()
NOTHING = ApprovalPolicy(require_for_kinds=())
HELD = Ground(boundary="bubblewrap", network=False)


def grant(scope: str = "session", **rule: str) -> Grant:
    made = Rule(verdict="allow", **rule)
    return Grant(id="grant_1", scope=scope, rule=made, text="", granted_at="")  # type: ignore[arg-type]


def ruled(*rules: tuple[Verdict, str]) -> ApprovalPolicy:
    return ApprovalPolicy(rules=tuple(Rule(tool="shell", command=words, verdict=verdict) for verdict, words in rules))


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
    decision = judge(DEFAULT, tool(name), call(name), allowed_tools=None)

    assert (decision.verdict, decision.rule) == (verdict, rule)
    assert decision.reason


@pytest.mark.parametrize("named", ["read_file", "fs.read"])
def test_a_tool_can_be_asked_about_by_name_or_alias(tool, call, named):
    """Whatever its kind."""
    policy = ApprovalPolicy(require_for_kinds=(), require_for_tools=(named,))

    decision = judge(policy, tool("read_file"), call("fs.read"), allowed_tools=None)
    assert (decision.verdict, decision.rule) == ("ask", "tool:read_file")
    assert judge(policy, tool("shell"), call("shell"), allowed_tools=None).verdict == "allow"


def test_kinds_can_be_chosen(tool, call):
    """A policy that asks about reading and nothing else does just that."""
    policy = ApprovalPolicy(require_for_kinds=(ToolKind.READ,))

    assert judge(policy, tool("read_file"), call("read_file"), allowed_tools=None).verdict == "ask"
    assert judge(policy, tool("write_file"), call("write_file"), allowed_tools=None).verdict == "allow"


@pytest.mark.parametrize("policy", [DEFAULT, NOTHING, ruled(("allow", "ls"))])
@pytest.mark.parametrize("granted", [(), (grant(tool="shell"), grant(tool="read_file"))])
def test_a_tool_that_is_not_the_agents_is_denied(tool, call, policy, granted):
    """No grant and no loose policy gives an agent a tool it does not have."""
    listing = call("shell", command="ls")
    decision = judge(policy, tool("shell"), listing, allowed_tools=("read_file",), granted=granted)

    expected = "shell is not among this agent's tools."
    assert decision == Decision(verdict="deny", rule="agent_tools", reason=expected, risk="medium")
    assert judge(policy, tool("shell"), listing, allowed_tools=(), granted=granted).verdict == "deny"


@pytest.mark.parametrize("listed", ["shell", "shell.run"])
def test_an_agents_tools_may_be_named_by_alias(tool, call, listed):
    """Dotted names of a configuration mean the same tool."""
    assert judge(NOTHING, tool("shell"), call("shell"), allowed_tools=[listed]).verdict == "allow"


def test_a_grant_lets_what_it_says_run(tool, call):
    """And only that."""
    granted = [grant(tool="shell", command="git status"), grant(scope="workspace", tool="write_file")]

    def one(name: str, **given: str) -> Decision:
        return judge(DEFAULT, tool(name), call(name, **given), allowed_tools=None, granted=granted)

    assert (one("shell", command="git status -s").verdict, one("shell", command="git status").rule) == (
        "allow",
        "session_grant",
    )
    assert one("shell", command="git log").verdict == "ask"
    assert (one("write_file", path="a").verdict, one("write_file", path="a").rule) == ("allow", "workspace_grant")
    assert one("fetch", url="x").verdict == "ask"


@pytest.mark.parametrize("granted", [grant(tool="shell"), grant(tool="shell", exactly="rm x"), grant(tool="shell.run")])
def test_a_grant_never_covers_what_destroys(tool, call, granted):
    """Such a call is asked about each time, with a high risk; nothing is offered to be remembered."""
    decision = judge(DEFAULT, tool("shell"), call("shell", command="rm x"), allowed_tools=None, granted=[granted])

    assert (decision.verdict, decision.rule, decision.risk) == ("ask", "destructive", "high")
    assert decision.remember is None


@pytest.mark.parametrize("command", ["rm -rf .", "git reset --hard", "ls; rm x", "$X"])
def test_what_destroys_is_allowed_only_to_the_letter_and_only_by_a_file(tool, call, command):
    """Whoever writes that into their own settings means it."""
    spelled = ApprovalPolicy(rules=(Rule(tool="shell", exactly=command, verdict="allow"),))
    broad = ApprovalPolicy(rules=(Rule(tool="shell", verdict="allow"),))

    assert judge(spelled, tool("shell"), call("shell", command=command), allowed_tools=None).verdict == "allow"
    assert judge(broad, tool("shell"), call("shell", command=command), allowed_tools=None).verdict == "ask"
    assert judge(broad, tool("shell"), call("shell", command="ls"), allowed_tools=None).verdict == "allow"


def test_what_cannot_be_read_says_why(tool, call):
    """The person who is asked knows what to look at."""
    decision = judge(DEFAULT, tool("shell"), call("shell", command="ls 'open"), allowed_tools=None)

    assert (decision.verdict, decision.rule, decision.risk) == ("ask", "unparsed", "high")
    assert "the command is not understood" in decision.reason


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{", b'{"command": 5}', b'{"command": ["rm"]}', b'"rm"', b'{"command":"\xff"}']
)
def test_an_input_that_cannot_be_read_is_not_covered_by_a_grant(tool, raw):
    """What is not understood is asked about, and not remembered."""
    odd = ToolCall("call_1", "shell", Raw(raw))
    decision = judge(DEFAULT, tool("shell"), odd, allowed_tools=None, granted=[grant(tool="shell")])

    assert (decision.verdict, decision.remember) == ("ask", None)


@pytest.mark.parametrize(
    ("rules", "command", "verdict"),
    [
        ((("allow", "git push"), ("deny", "git push")), "git push", "deny"),
        ((("allow", "git push"), ("ask", "git push")), "git push", "ask"),
        ((("ask", "git"), ("deny", "git push")), "git push", "deny"),
        ((("ask", "git"), ("deny", "git push")), "git log", "ask"),
        ((("deny", "git push"), ("allow", "git log")), "git log", "allow"),
        ((("deny", "git push"), ("allow", "git log")), "git log; git push", "deny"),
    ],
)
def test_deny_beats_ask_beats_allow(tool, call, rules, command, verdict):
    """In whatever order they stand."""
    for policy in (ruled(*rules), ruled(*reversed(rules))):
        decision = judge(policy, tool("shell"), call("shell", command=command), allowed_tools=None)

        assert decision.verdict == verdict
        assert decision.rule == f"rule:{verdict}"
        assert decision.by


def test_a_grant_is_weaker_than_a_rule_that_denies_or_asks(tool, call):
    """And nothing is offered to be remembered that would not hold."""
    granted = [grant(tool="shell", command="git push")]
    push = call("shell", command="git push")

    asked = judge(ruled(("ask", "git push")), tool("shell"), push, allowed_tools=None, granted=granted)
    assert (asked.verdict, asked.remember) == ("ask", None)
    denied = judge(ruled(("deny", "git push")), tool("shell"), push, allowed_tools=None, granted=granted)
    assert denied.verdict == "deny"
    assert "git push" in denied.reason


@pytest.mark.parametrize("command", ["$X", "git $X", "echo 'open", "g?t push", 'sh -c "$X"', "`a` push"])
def test_what_could_be_denied_is_asked_about_even_where_nothing_else_asks(tool, call, command):
    """A policy that asks about nothing still has its rules."""
    policy = ApprovalPolicy(require_for_kinds=(), rules=(Rule(tool="shell", command="git push", verdict="deny"),))

    assert judge(policy, tool("shell"), call("shell", command=command), allowed_tools=None).verdict == "ask"
    assert judge(policy, tool("shell"), call("shell", command="git log"), allowed_tools=None).verdict == "allow"


def test_where_a_policy_does_not_ask_the_risk_is_still_told(tool, call):
    """A user who took a kind off the list is not asked; clients can still show what the call was."""
    decision = judge(NOTHING, tool("shell"), call("shell", command="rm x"), allowed_tools=None)

    assert (decision.verdict, decision.risk) == ("allow", "high")


@pytest.mark.parametrize(
    ("ground", "command", "verdict"),
    [
        (HELD, "make test", "allow"),
        (HELD, "rm -rf build", "ask"),
        (HELD, "echo 'open", "ask"),
        (Ground(boundary="bubblewrap", network=True), "make test", "ask"),
        (Ground(), "make test", "ask"),
        (Ground(network=False), "make test", "ask"),
    ],
)
def test_in_a_sandbox_without_network_commands_run_unasked_only_if_that_was_set(tool, call, ground, command, verdict):
    """Never by itself, never what destroys, and never where nothing holds them in."""
    free = ApprovalPolicy(allow_in_sandbox=True)
    one = call("shell", command=command)

    assert judge(free, tool("shell"), one, allowed_tools=None, ground=ground).verdict == verdict
    assert judge(DEFAULT, tool("shell"), one, allowed_tools=None, ground=ground).verdict == "ask"


def test_a_command_in_another_folder_is_one_that_goes_there_first(tool, call):
    """A rule for this folder's make says nothing about another one's."""
    policy = ApprovalPolicy(rules=(Rule(tool="shell", exactly="make test", verdict="allow"),))

    def verdict(**given: str) -> str:
        return judge(policy, tool("shell"), call("shell", command="make test", **given), allowed_tools=None).verdict

    assert [verdict(), verdict(cwd="."), verdict(cwd="./"), verdict(cwd="sub"), verdict(cwd="a b")] == [
        *("allow", "allow", "allow"),
        *("ask", "ask"),
    ]


def test_a_digest_is_of_the_very_arguments_and_of_what_holds_them_in(tool, call):
    """The order of keys does not matter, everything else does."""
    shell, one = tool("shell"), ToolCall("call_1", "shell", Raw(b'{"command":"ls","cwd":"a"}'))
    same = ToolCall("call_2", "shell.run", Raw(b'{ "cwd": "a", "command": "ls" }'))
    others = [b'{"command":"ls "}', b'{"command":"ls","cwd":"b"}', b'{"command":"ls"}', b"nonsense"]

    assert digest_of(shell, one) == digest_of(shell, same)
    different = {digest_of(shell, ToolCall("call_1", "shell", Raw(raw))) for raw in others}
    different |= {digest_of(shell, one), digest_of(shell, one, HELD), digest_of(tool("verify"), one)}
    assert len(different) == len(others) + 3


@pytest.mark.threat("T21")
def test_a_question_holds_the_exact_bytes_and_shows_what_hides(tool):
    """Both: what would run, and what a person must see."""
    raw = Raw(msgspec.json.encode({"command": "ls \u202etxt.exe\t\x1b[8m; rм x"}))
    one = ToolCall("call_1", "shell", raw)
    request = request_for(one, judge(DEFAULT, tool("shell"), one, allowed_tools=None))

    assert request.input == raw
    assert request.shown == r"command: ls \u202etxt.exe\t\x1b[8m; r\u043c x"
    assert request.digest == digest_of(tool("shell"), one)


def test_a_question_about_plain_text_shows_nothing_twice(tool, call):
    """And offers what can be remembered."""
    one = call("shell", command="git status\nls")
    request = request_for(one, judge(DEFAULT, tool("shell"), one, allowed_tools=None))

    assert request.shown == ""
    assert request.remember is not UNSET
    assert request.remember.text == "commands that begin with `git status` and commands that begin with `ls`"


def test_a_list_names_tools_by_any_of_their_names(tool):
    """None is every tool, an empty list none."""
    assert is_listed(tool("shell"), None)
    assert is_listed(tool("shell"), {"shell.run"})
    assert not is_listed(tool("shell"), ())
    assert not is_listed(tool("shell"), ("shel", "shell.runner", "Shell"))
