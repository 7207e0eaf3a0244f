"""Whether a command failed as before, where its output names no tests."""

from __future__ import annotations

import pytest

from agi.policy.likeness import LONGEST, likeness

SAID = "FAIL: a at 0x7f01\nin 0.31s, 12:30:01, /tmp/tmpab12cd/x\n"


def test_what_differs_by_chance_is_passed_over():
    """Times, addresses and the names of temporary folders."""
    again = "FAIL: a at 0x7f99\nin 1.07s, 12:31:59, /tmp/tmpzz99yy/x\n"

    assert likeness("make test", SAID) == likeness("make test", again) != ""


@pytest.mark.parametrize(
    "other",
    [SAID.replace("a at", "b at"), SAID + "FAIL: b\n", "2 failed\n", SAID.replace("/x", "/y"), ""],
)
def test_whatever_else_differs_is_another_failure(other):
    """One failure more, or another name, or nothing."""
    assert likeness("make test", SAID) != likeness("make test", other)


def test_silence_is_like_silence():
    """A command may tell by its exit code alone."""
    assert likeness("false", "") == likeness("false", "\n") != ""


@pytest.mark.parametrize(
    "output",
    ["[10 lines, 812 bytes left out]\n", "x" * LONGEST, "!!!!! Interrupted: 1 error during collection !!!!!\n"],
    ids=["cut", "long", "stopped"],
)
def test_what_is_not_whole_is_like_nothing(output):
    """What is missing from it may be the new failure."""
    assert likeness("make test", output) == ""
