"""Lines that are spelled so that a rule about first words would let something else run: none of them passes."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw
from tests.policy.conftest import TOOLS

from agi.policy.approval import judge
from agi.policy.ground import Ground
from agi.protocol.policies import ApprovalPolicy, Rule
from agi.protocol.tools import ToolCall

HELD = Ground(trusted=True, boundary="bubblewrap", network=False)
FIRST = ("ls", "cat", "find", "sort", "rg", "file", "jq", "getopts", "wait", "printf", "date", "git status", "git log")
MORE = ("git commit", "git push", "git clone", "git archive", "git grep", "git rebase", "git bisect", "tree", "echo")


def verdict(line: str, *rules: Rule) -> tuple[str, str]:
    allowed = tuple(Rule(tool="shell", command=words, verdict="allow") for words in (*FIRST, *MORE))
    policy = ApprovalPolicy(rules=(*allowed, *rules))
    one = ToolCall("call_1", "shell", Raw(msgspec.json.encode({"command": line})))
    decision = judge(policy, TOOLS["shell"], one, allowed_tools=None, ground=HELD)
    return decision.verdict, decision.risk


@pytest.mark.threat("T19")
@pytest.mark.parametrize(
    "line",
    [
        "for PATH in ./h; do ls; done",
        "for HOME in ./h; do git status; done",
        "for GIT_EDITOR in ./e.sh; do git commit; done",
        "for http_proxy in x; do ls; done",
        "select PATH in .; do ls; done",
        "true {PATH}>/dev/null; ls",
        ": ${CDPATH:=/}; cd etc; cat hostname",
        ": ${OLDPWD=/etc}; cd -; cat hostname",
        "cd -; cat hostname",
        "getopts a PATH; ls",
        "wait -p PATH; ls",
        "printf -{v,v} PATH .; ls",
    ],
)
def test_a_variable_set_in_passing_changes_what_runs(line):
    """By a loop, a default, a redirection or a builtin."""
    assert verdict(line)[0] == "ask"


def test_a_loop_over_a_variable_of_its_own_is_fine():
    """Small letters are nobody's business."""
    assert verdict("for f in a b; do ls; done")[0] == "allow"


@pytest.mark.threat("T19")
@pytest.mark.parametrize(
    "line",
    [
        "rg --pr{e=./evil.sh,e=./evil.sh} x",
        "find . -{exec,d/evil.sh} \\;",
        "cat {/etc/hostname,a.txt}",
        "cat .{.,.}/etc/hostname",
        "sort --outpu{t=Makefile,t=Makefile} a",
        "sort --o=Makefile a.txt",
        "tree --outpu{t=x,t=x}",
        "git log --ext-di{f,ff}",
        "find . -delet*",
        "file -f/etc/shadow",
        "git grep -f/etc/shadow",
        "find -L / -name x",
        "find . -files0-from /etc/x",
        "jq . -f/etc/x",
        "git push --exec=./p.sh . HEAD:x",
        "git clone -u ./p.sh file:///x",
        "git clone -c core.sshCommand=./p x:y",
        "git archive --remote=. --exec=./p HEAD",
        "git rebase -x ./p main",
        "git bisect run ./p",
    ],
)
def test_options_and_paths_hidden_in_a_word_are_not_covered(line):
    """Braces, patterns, shortened options, values joined to a letter."""
    assert verdict(line)[0] == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "find . -dele{te,te}",
        "find . -delet*",
        "git read-tree -u --reset HEAD",
        "git checkout-index -af",
        "cp /dev/null f",
    ],
)
def test_what_destroys_is_seen_in_these_spellings_too(line):
    """Each time asked about, whatever was granted."""
    assert verdict(line) == ("ask", "high")


@pytest.mark.parametrize(
    ("denied", "line"),
    [
        ("rm", "setarch x86_64 rm -rf src"),
        ("rm", "prlimit --nofile=5 rm x"),
        ("pip install", "python -m pip install x"),
        ("pip install", "python3.11 -m pip install x"),
        ("pip install", "pip3 install x"),
        ("git push", "git --attr-source x push"),
    ],
)
def test_a_rule_that_denies_meets_its_command_in_these_dresses(denied, line):
    """Behind a starter, as a module, with a number in its name."""
    assert verdict(line, Rule(tool="shell", command=denied, verdict="deny"))[0] == "deny"


@pytest.mark.parametrize("line", ["echo x > secrets/key", "echo x >> ./secrets/key", "ls 2> secrets/a"])
@pytest.mark.parametrize("named", ["write_file", "shell"])
def test_a_file_that_may_not_be_written_is_not_written_by_a_redirection_either(named, line):
    """Whichever tool the rule names."""
    free = Rule(tool="write_file", verdict="allow")
    assert verdict(line, free, Rule(tool=named, path="secrets/**", verdict="deny"))[0] == "deny"
    assert verdict("echo x > open/key", free, Rule(tool=named, path="secrets/**", verdict="deny"))[0] == "allow"


def test_a_file_that_may_not_be_read_is_not_given_to_a_command_either():
    """As its input, or among its words."""
    rule = Rule(tool="read_file", path="secrets/**", verdict="deny")
    assert verdict("cat secrets/key", rule)[0] == "deny"
    assert verdict("cat < secrets/key", rule)[0] == "deny"
    assert verdict("cat open/key", rule)[0] == "allow"
