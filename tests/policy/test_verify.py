"""A failed verification sends the agent back a bounded number of times."""

from __future__ import annotations

from agi.policy.verify import VerifyPolicy, may_try_again


def test_attempts_are_bounded():
    """Three by default, then the turn ends with the failure told."""
    assert [may_try_again(VerifyPolicy(), attempts=number) for number in range(5)] == [True, True, True, False, False]
    assert not may_try_again(VerifyPolicy(max_attempts=0), attempts=0)
