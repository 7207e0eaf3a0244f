"""Lines that only look are told from those that may change something."""

from __future__ import annotations

import pytest

from agi.policy.looking import only_looks


@pytest.mark.parametrize(
    "line",
    [
        "ls -la",
        "cat a.txt | head -5 && git status",
        "git log --oneline -5; git diff HEAD~1 -- src",
        "grep -rn 'a b' src 2>/dev/null | wc -l",
        "find . -name '*.py' | sort -u",
        "sed -n 10,20p a.py",
        "cd src && ls 2>&1",
        "pwd",
    ],
)
def test_looking_changes_nothing(line):
    """Nothing has to be known before it."""
    assert only_looks(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "rm a",
        "ls > a.txt",
        "ls; rm a",
        "ls & rm a",
        "cat $(rm a)",
        "cat `rm a`",
        "echo a\nrm a",
        "find . -delete",
        "find . -exec rm {} +",
        "sed -i s/a/b/ a.txt",
        "sed -n 'w out' a.txt",
        "sort -o a a",
        "git commit -m x",
        "git -c alias.status='!rm a' status",
        "git diff --output=a",
        "python -c 'print(1)'",
        "ls 'unclosed",
        "make test",
        "FOO=1 ls",
        "ls " + "a" * 3000,
    ],
)
def test_whatever_is_not_plainly_a_look_may_change_something(line):
    """In doubt it does."""
    assert not only_looks(line)
