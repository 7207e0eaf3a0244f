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
        "uniq -c a.txt",
        "sort -k2 -u a.txt | uniq",
        "tree -L 2 src",
        "rg -n foo src",
        "file a.bin",
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
        "sort -uo a a",
        "sort --compress-program=./x a",
        "sort *",
        "uniq a b",
        "uniq *",
        "uniq -c a* b",
        "tree -o f",
        "tree -Jo f",
        "tree -RL 1 -H .",
        "rg --pre ./x foo",
        "rg --pre=./x foo",
        "rg --hostname-bin=./x foo",
        "file -C -m a",
        "file -bC",
        "file --compile",
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
