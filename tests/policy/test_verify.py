"""Verification runs where its commands mean something, and is tried a bounded number of times."""

from __future__ import annotations

import pytest

from agi.policy.verify import VerifyPolicy, default_applies, may_try_again


@pytest.mark.parametrize(
    ("makefile", "applies"),
    [
        ("test:\n", True),
        ("lint test: deps\n", True),
        ("test::\n", True),
        (".PHONY: test\n", False),
        ("tests:\n", False),
        ("test := 1\n", False),
        ("test ::= 1\n", False),
        ("test = a:b\n", False),
        ("\ttest: x\n", False),
        ("# test: x\n", False),
        ("", False),
        (None, False),
    ],
)
def test_the_default_command_needs_its_target(makefile, applies):
    """`make test` in a folder without one would only fail."""
    assert default_applies(VerifyPolicy(), makefile) is applies


def test_a_configured_command_always_applies():
    """Its user knows."""
    assert default_applies(VerifyPolicy(commands=("make check",)), None)


def test_attempts_are_bounded():
    """Three by default, then the turn ends with the failure told."""
    assert [may_try_again(VerifyPolicy(), attempts=number) for number in range(5)] == [True, True, True, False, False]
    assert not may_try_again(VerifyPolicy(max_attempts=0), attempts=0)
