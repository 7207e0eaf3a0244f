"""A rule about first words covers more words of the same kind, and nothing that runs, writes or leads out."""

from __future__ import annotations

import pytest

from agi.policy.bash.reading import read_line
from agi.policy.bash.values import SimpleCommand
from agi.policy.covering import begins_with, covers, first_words, only_reads, problem_of


def simple(text: str) -> SimpleCommand:
    return read_line(text).commands[-1]


@pytest.mark.parametrize(
    ("prefix", "command", "expected"),
    [
        ("git status", "git status", True),
        ("git status", "git status -s src", True),
        ("git status", "git statusx", False),
        ("git status", "git", False),
        ("git", "git status", False),
        ("git st*", "git status", True),
        ("npm run test:*", "npm run test:unit", True),
        ("npm run test:*", "npm run test:unit a", True),
        ("npm run test:*", "npm run test:unit --x", False),
        ("npm run test:*", "npm run tests", False),
        ("npm run", "npm run other", False),
        ("npm", "npm test", False),
        ("g*", "git status", False),
        ("ls", "ls *.py", True),
        ("mytool", "mytool -x a", True),
        ("mytool", "mytool a b", True),
        ("'ls'", "ls", False),
    ],
)
def test_words_are_compared_one_by_one(prefix, command, expected):
    """The last may end in a star; of programs that run a project's code, only plain words follow."""
    one = simple(command)

    assert (not problem_of(one) and covers(prefix, one)) is expected


@pytest.mark.threat("T19")
@pytest.mark.parametrize(
    "command",
    [
        *("A=1 ls", "$X", "r? a", "python a", "bash a", "env a", "xargs a", "make a", "sed -i s/a/b/ f", "tar xf a"),
        *(
            "cat ../a",
            "cat /etc/passwd",
            "cat ~/a",
            'cat "$X"',
            "cat < /etc/passwd",
            "grep -e a /etc/passwd",
            "head -n1 /a",
        ),
        *(
            "find . -exec a ;",
            "find . -delete",
            "find /etc",
            "sort -o a b",
            "sort *",
            "uniq a b",
            "rg --pre x a",
            "tree -o a",
        ),
        *("git -C a status", "git -c a=b log", "git --no-pager log", "git log --output=a", "git grep -O a", "git"),
        *(
            "docker run a",
            "npm install",
            "pip install a",
            "cargo run",
            "go run .",
            "uv run a",
            "cd a",
            "pushd a",
            "export A=1",
        ),
    ],
)
def test_some_commands_no_first_words_can_allow(command):
    """And it is said why."""
    assert problem_of(simple(command))


@pytest.mark.parametrize(
    "command",
    [
        *("ls -la src", "cat a b/c", "grep -rn '/api' src", "rg 'a|b' src", "jq '.. | .a' x.json", "sed -n '1,5p' f"),
        *("find . -name '*.py' -path './.git/*'", "echo $X ../a", "printf '%s' /etc", "git log main..dev -- src/a.py"),
        *(
            "cargo test foo",
            "docker ps",
            "pytest tests/a.py",
            "mytool --flag",
            "cat a 2>/dev/null",
            "cat < a",
            "sort a.txt",
        ),
    ],
)
def test_others_they_can(command):
    """Looking at files of the workspace, and ordinary tasks."""
    assert not problem_of(simple(command))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git status -s", "git status"),
        ("git push", ""),
        ("git", ""),
        ("ls -la", "ls"),
        ("npm run test:unit a", "npm run test:unit"),
        ("npm test", "npm test"),
        ("npm install", ""),
        ("cargo test foo", "cargo test"),
        ("pytest a", "pytest"),
        ("make test", ""),
        ("python a.py", ""),
        ("mytool a", ""),
        ("sed -n 1p a", "sed -n"),
        ("sed s/a/b/ a", ""),
    ],
)
def test_the_first_words_worth_a_rule(command, expected):
    """None for programs that are not known well."""
    assert first_words(simple(command)) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls -la", True),
        ("git log -5", True),
        ("cd src", True),
        ("cat a 2>/dev/null", True),
        ("cat a > b", False),
        ("cd ..", False),
        ("git commit -m a", False),
        ("cat /etc/passwd", False),
        ("make", False),
        ("mytool", False),
    ],
)
def test_what_only_looks_is_told_apart(command, expected):
    """It is of low risk."""
    assert only_reads(simple(command)) is expected


def test_a_star_in_the_place_of_the_program_is_for_rules_that_deny():
    """One that allows must name it."""
    assert not begins_with(["g*"], ["git"])
    assert begins_with(["g*"], ["git"], anywhere=True)
    assert not begins_with([], ["git"])
