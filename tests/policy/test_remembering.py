"""What is remembered of an answer is what was shown: the call is not asked about again, and nothing else is let in."""

from __future__ import annotations

import pytest

from agi.policy.approval import ApprovalPolicy, Decision, Ground, judge
from agi.policy.destructive import destroys
from agi.protocol.grants import Grant, Remember
from agi.protocol.policies import Rule
from agi.protocol.tools import ToolDefinition, ToolKind

POLICY = ApprovalPolicy()
TRUSTED = Ground(trusted=True)
COMMANDS = [
    *(
        "ls -la",
        "pwd",
        "cd src && ls",
        "make test",
        "make -j4 test 2>&1 | tail -20",
        "pytest -q tests/a.py -k 'not slow'",
    ),
    *(
        "python -m pytest -q",
        "python script.py --config x",
        "node script.js",
        "npm install && npm run build",
        "npm test",
    ),
    *("cargo test --all", "go test ./...", "uv run pytest", "env FOO=1 pytest", "timeout 60 make test", "time make"),
    *("grep -rn 'rm -rf' src", "rg -n drop .", "find . -name '*.py'", "find . -type f | xargs grep -l foo"),
    *("wc -l $(git ls-files)", 'for f in *.py; do wc -l "$f"; done', "if [ -f x ]; then cat x; else echo none; fi"),
    *("[[ -d src ]] && ls src", 'while read -r line; do echo "$line"; done < list', 'echo "$HOME"', "echo $((1 + 2))"),
    *(
        "echo hi > out.txt",
        "make > /tmp/make.log 2>&1",
        "cat a.txt b.txt",
        "sed -i 's/a/b/' src/a.py",
        "sed -n 1,20p a.py",
    ),
    *("awk '{ print $1 }' a.txt", "sort a | uniq -c | sort -rn | head", "tee build.log < x", "cp a b", "mkdir -p a/b"),
    *(
        "curl -s https://x.test | jq .",
        "docker build -t x .",
        "git status",
        "git diff HEAD~1 -- src",
        "git push origin main",
    ),
    *(
        'git add -A && git commit -m "it\'s done"',
        "git checkout -b feature",
        "git -C sub status",
        "bash scripts/build.sh",
    ),
    *(
        "sh -c 'make test'",
        "which rm",
        "kill %1",
        "git log --oneline | head",
        "git show HEAD:README.md",
        "git branch -a",
    ),
]


def granted(remember: Remember) -> list[Grant]:
    return [
        Grant(id=f"grant_{number}", scope="session", rule=rule, text="", granted_at="")
        for number, rule in enumerate(remember.rules)
    ]


@pytest.fixture
def ask(tool, call):
    def asked(command: str, grants: list[Grant] | None = None) -> Decision:
        one = call("shell", command=command)
        return judge(POLICY, tool("shell"), one, allowed_tools=None, granted=grants or [], ground=TRUSTED)

    return asked


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("git status", ["git status"]),
        ("git log --oneline -5", ["git log"]),
        ("git commit -m 'a b'", ["git commit"]),
        ("ls -la", ["ls"]),
        ("cat a | grep b", ["cat", "grep"]),
        ("git status && git diff", ["git status", "git diff"]),
        ("cd src && ls", ["ls"]),
        ("npm test", ["npm test"]),
        ("npm run lint", ["npm run lint"]),
        ("cargo test foo", ["cargo test"]),
        ("go vet ./...", ["go vet"]),
        ("docker ps", ["docker ps"]),
        ("kubectl get pods", ["kubectl get"]),
        ("pytest tests/a.py", ["pytest"]),
        ("sed -n 1,5p a.py", ["sed -n"]),
        ("[ -f a ] && cat a", ["cat"]),
    ],
)
def test_a_known_command_is_remembered_by_its_first_words(ask, command, words):
    """Two for programs with many verbs, three for scripts."""
    remember = ask(command).remember

    assert [rule.command for rule in remember.rules] == words
    assert remember.text == " and ".join(f"commands that begin with `{one}`" for one in words)
    assert remember.scopes == ("session", "workspace")


@pytest.mark.parametrize(
    "command",
    [
        "make test",
        "python script.py",
        "bash scripts/build.sh",
        "npm install",
        "pip install x",
        "uv run pytest",
        "cargo test --lib",
        "pytest -q tests",
        "git push origin main",
        "git -C sub status",
        "FOO=1 ls",
        "ls > out.txt",
        "cd src && git status",
        "mytool --flag",
        "cat ../x",
        'for f in *.py; do wc -l "$f"; done',
        "cat > a.py <<'E'\nprint()\nE",
    ],
)
def test_any_other_is_remembered_to_the_letter(ask, command):
    """Whatever is not known well could do anything with other words."""
    remember = ask(command).remember

    assert [(rule.command, rule.exactly) for rule in remember.rules] == [(None, command)]


@pytest.mark.parametrize("command", ["rm x", "git push -f", "$X", "echo 'open", "ls \u202e", "true " + "a" * 2000])
def test_what_destroys_or_cannot_be_read_is_not_remembered(ask, command):
    """Nor what is too long to be looked at again."""
    assert ask(command).remember is None


@pytest.mark.parametrize("command", COMMANDS)
def test_after_such_an_answer_the_same_call_is_not_asked_about_again(ask, command):
    """Whatever can be remembered holds."""
    remember = ask(command).remember

    assert remember is not None
    assert ask(command, granted(remember)).verdict == "allow"


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_outside_the_shown_rule_is_allowed_by_it(ask, command):
    """Every other command that runs unasked from then on is one that the words shown to the person cover."""
    remember = ask(command).remember
    grants = granted(remember)
    for other in COMMANDS:
        for line in (other, f"{other}; rm x", f"{other} && ./unknown", f"{command}; {other}", f"env {command}"):
            decision = ask(line, grants)
            if decision.verdict == "allow":
                assert set(decision.by) <= set(remember.rules)
                assert not destroys(line)
                assert "./unknown" not in line
                assert not line.startswith("env ") or line == command


def test_only_a_trusted_workspace_remembers(tool, call):
    """Elsewhere the session is the longest there is."""
    one = call("shell", command="ls")

    assert judge(POLICY, tool("shell"), one, allowed_tools=None).remember.scopes == ("session",)


@pytest.mark.parametrize("name", ["write_file", "verify", "careful"])
def test_other_tools_are_remembered_by_their_name(tool, call, name):
    """Within the workspace, which is all that writing tools can reach."""
    decision = judge(POLICY, tool(name), call(name, path="a.txt"), allowed_tools=None, ground=TRUSTED)

    assert decision.remember.rules == (Rule(tool=name, verdict="allow"),)
    assert decision.remember.text == f"every call of {name}"
    assert decision.remember.scopes == ("session", "workspace")


def test_a_tool_that_reaches_out_is_remembered_for_a_session_at_most(tool, call):
    """It could carry something away."""
    decision = judge(POLICY, tool("fetch"), call("fetch", url="x"), allowed_tools=None, ground=TRUSTED)

    assert decision.remember.scopes == ("session",)


def test_a_file_that_decides_what_runs_is_asked_about_each_time(tool, call):
    """Settings of git and of ours."""
    one = call("write_file", path="sub/.git/config", content="")
    grants = [Grant(id="g", scope="session", rule=Rule(tool="write_file", verdict="allow"), text="", granted_at="")]
    decision = judge(POLICY, tool("write_file"), one, allowed_tools=None, granted=grants, ground=TRUSTED)

    assert (decision.verdict, decision.remember) == ("ask", None)


def test_a_tool_of_a_project_is_remembered_like_any_other(call):
    """Also one that runs something, if it takes no command."""
    tool = ToolDefinition(name="deploy", description="", input_schema={}, kind=ToolKind.EXEC)
    decision = judge(POLICY, tool, call("deploy", target="x"), allowed_tools=None, ground=TRUSTED)

    assert decision.remember.rules == (Rule(tool="deploy", verdict="allow"),)
