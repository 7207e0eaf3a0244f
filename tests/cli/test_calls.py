"""A tool call in words."""

from __future__ import annotations

import pytest

from agi.cli.calls import summary, whole


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("read_file", b'{"path": "README.md"}', "read_file README.md"),
        ("shell", b'{"command": "make test", "timeout_s": 5}', "shell make test"),
        ("search", b'{"query": "x y", "regex": true}', "search x y"),
        ("git_status", b"{}", "git_status"),
        ("other", b'{"n": 1}', 'other {"n": 1}'),
        ("apply_patch", b'{"patch": "*** Update File: a.py\\n*** Add File: b.py\\n"}', "apply_patch a.py, b.py"),
        ("shell", b'{"command": "a\\nb\\u001b[31m"}', r"shell a b\x1b[31m"),
        ("broken", b'"text', "broken"),
    ],
)
def test_a_call_is_told_on_one_line(name: str, given: bytes, told: str):
    """What matters most about it comes right after its name."""
    assert summary(name, given) == told


def test_all_of_a_call_is_shown_to_whoever_decides():
    """Every argument, every line, every character."""
    given = rb'{"path": "a.sh", "content": "one\n\ttwo\u202e", "mode": 7}'

    assert whole(given) == ["path: a.sh", "content:", "  one", r"  \ttwo\u202e", "mode: 7"]


def test_arguments_that_are_no_object_are_shown_as_they_are():
    """Nothing is left out because it is odd."""
    assert whole(b'["x"]') == ['["x"]']
