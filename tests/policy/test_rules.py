"""Rules that deny or ask meet a command in every dress; patterns meet paths folder by folder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.policy.ground import Ground
from agi.policy.rules import about, allowing, allows_file, in_words, matches, problem_in, speaks_of
from agi.policy.subjects import subject_of
from agi.protocol.policies import Rule

PUSH = Rule(tool="shell", command="git push", verdict="deny")
DRESSED = [
    *(
        "git push",
        "git push -f",
        "/usr/bin/git push",
        "GIT push",
        "git -C a push",
        "git --no-pager push",
        "'git' pu\\sh",
    ),
    *("git -c a=b push origin", "ls; git push", "ls && git push", "ls | git push", "(git push)", "{ git push; }"),
    *("echo $(git push)", "echo `git push`", "cat <(git push)", "A=1 git push", "env git push", "env A=1 git push"),
    *("timeout 5 git push", "nohup nice git push", "sh -c 'git push'", 'bash -lc "cd a && git push"', "eval git push"),
    *(
        "xargs git push",
        "find . -exec git push ;",
        "ssh host git push",
        "docker run x git push",
        "trap 'git push' EXIT",
    ),
    *(
        "if true; then git push; fi",
        "f() { git push; }",
        "for a in b; do git push; done",
        "! git push",
        "time git push",
    ),
    *("busybox git push", "command git push", "sudo git push", "env -S 'git push' git push", "git push > out"),
]


@pytest.fixture
def subject(tool, call):
    def made(name: str = "shell", ground: Ground | None = None, **given: object):
        return subject_of(tool(name), call(name, **given), ground or Ground())

    return made


@pytest.mark.parametrize("command", DRESSED)
def test_what_is_denied_is_met_in_every_form(subject, command):
    """Behind wrappers, in substitutions, in code, with options before the verb."""
    assert speaks_of(PUSH, subject(command=command)) == "yes"


@pytest.mark.parametrize(
    "command", ["git log", "git stash push", "echo git push", "git-push", "grep 'git push' a", "ls"]
)
def test_what_only_speaks_of_it_is_not(subject, command):
    """Words are words."""
    assert speaks_of(PUSH, subject(command=command)) == "no"


@pytest.mark.parametrize(
    "command", ["$X", "git $X", "git $X push", "echo 'open", "g{i,}t push", 'sh -c "$X"', "env $X"]
)
def test_what_cannot_be_told_is_a_maybe(subject, command):
    """Somebody has to look."""
    assert speaks_of(PUSH, subject(command=command)) == "maybe"


def test_a_rule_without_conditions_is_about_every_call(subject, tool):
    """Of its tool, by any of its names."""
    assert speaks_of(Rule(tool="shell", verdict="deny"), subject(command="ls")) == "yes"
    assert about([PUSH, Rule(tool="shell.run", verdict="ask"), Rule(tool="x", verdict="ask")], tool("shell")) == [
        PUSH,
        Rule(tool="shell.run", verdict="ask"),
    ]


def test_all_that_a_rule_says_must_hold(subject):
    """Not any of it."""
    rule = Rule(tool="write_file", path="a/**", command="git", verdict="deny")

    assert speaks_of(rule, subject("write_file", path="a/b")) == "no"


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("a.txt", "a.txt", True),
        ("a.txt", "b/a.txt", False),
        ("*.txt", "a.txt", True),
        ("*.txt", "b/a.txt", False),
        ("**/*.txt", "a.txt", True),
        ("**/*.txt", "b/c/a.txt", True),
        ("docs/**", "docs/a/b", True),
        ("docs/**", "docs", True),
        ("docs/*", "docs/a/b", False),
        ("docs/**/x", "docs/x", True),
        ("docs/**/x", "docs/a/b/x", True),
        ("./a", "a", True),
        ("**", "a/b", True),
        ("[ab].txt", "b.txt", True),
        ("A", "a", False),
    ],
)
def test_a_pattern_is_compared_folder_by_folder(pattern, path, expected):
    """Two stars stand for any number of folders."""
    assert matches(pattern, path) is expected


@pytest.mark.threat("T41")
@given(
    st.lists(st.sampled_from(["**", "*", "a", "*a*"]), max_size=12), st.lists(st.sampled_from(["a", "b"]), max_size=12)
)
def test_no_pattern_takes_long(pattern, path):
    """It is compared in one go."""
    assert matches("/".join(pattern), "/".join(path)) in (True, False)


@pytest.mark.threat("T15")
def test_a_denied_path_is_met_by_its_spelling_and_by_where_it_leads(subject):
    """A link is no way around."""
    rule = Rule(tool="write_file", path="secrets/**", verdict="deny")
    ground = Ground(locate=lambda path: {"link/a": "secrets/a"}.get(path, path))

    def met(path: str) -> str:
        return speaks_of(rule, subject("write_file", ground, path=path))

    assert [met("secrets/a"), met("./secrets//a"), met("link/a"), met("other")] == ["yes", "yes", "yes", "no"]


def test_a_path_that_leads_out_is_allowed_by_no_pattern(subject):
    """Nor does a rule that denies say anything for certain about it."""

    def locate(path: str) -> str:
        raise ValueError(path)

    one = subject("write_file", Ground(locate=locate), path="link/a")
    assert speaks_of(Rule(tool="write_file", path="b", verdict="deny"), one) == "maybe"
    assert allowing([Rule(tool="write_file", path="**", verdict="allow")], one, may_write=lambda path: True) == ()


@pytest.mark.parametrize(
    ("path", "allowed"), [("docs/a.md", True), ("src/a.py", False), ("docs/.git/config", False), ("docs/../x", False)]
)
def test_a_path_rule_allows_files_that_fit(subject, path, allowed):
    """And none that decide what runs."""
    rules = [Rule(tool="write_file", path="docs/**", verdict="allow")]
    ground = Ground(locate=lambda path: "x" if ".." in path else path)

    found = allowing(rules, subject("write_file", ground, path=path), may_write=lambda path: False)
    assert bool(found) is allowed


def test_a_patch_is_allowed_only_if_all_its_files_are(subject):
    """Old names and new ones."""
    rules = [Rule(tool="write_file", path="a/**", verdict="allow")]

    def allowed(patch: str) -> bool:
        return bool(allowing(rules, subject("write_file", patch=patch), may_write=lambda path: False))

    inside = "*** Begin Patch\n*** Update File: a/b\n*** Move to: a/c\n*** End Patch"
    assert allowed(inside)
    assert allowed("--- a/a/b\n+++ b/a/b\t2026\n@@ -1 +1 @@\n-x\n+y\n")
    assert not allowed(inside.replace("a/c", "c"))
    assert not allowed("diff --git a/a/b b/c\nrename from a/b\nrename to c\n")
    assert not allowed('+++ "b/a/\\303"\n')
    assert not allowed("nothing of the kind")


def test_a_redirection_needs_what_writing_the_file_would_need(subject):
    """A command that may run may not write."""
    rules = [Rule(tool="shell", command="echo", verdict="allow")]
    one = subject(command="echo a > out/b")

    assert allowing(rules, one, may_write=lambda path: False) == ()
    assert allowing(rules, one, may_write=lambda path: path == "out/b") == tuple(rules)
    writing = [Rule(tool="write_file", path="out/*", verdict="allow")]
    assert allows_file(writing, "out/b")
    assert not allows_file(writing, "b")
    assert allows_file([Rule(tool="fs.write", verdict="allow")], "b")


def test_rules_are_told_in_words():
    """Nothing hides in them."""
    assert in_words(PUSH) == "commands that begin with `git push`"
    assert in_words(Rule(tool="shell", exactly="a\n\u202eb", verdict="allow")) == r"exactly the command `a\n\u202eb`"
    assert in_words(Rule(tool="edit", path="docs/**", verdict="ask")) == "edit on `docs/**`"
    assert in_words(Rule(tool="edit", verdict="ask")) == "every call of edit"


def test_a_rule_that_can_allow_nothing_is_said_to():
    """Whoever wrote it would wait in vain."""
    assert "python" in problem_in(Rule(tool="shell", command="python", verdict="allow"))
    assert problem_in(Rule(tool="shell", command="python", verdict="deny")) == ""
    assert problem_in(Rule(tool="shell", command="git status", verdict="allow")) == ""
    assert problem_in(Rule(tool="shell", exactly="python x", verdict="allow")) == ""
