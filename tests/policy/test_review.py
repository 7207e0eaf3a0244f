"""Patches are shown, and waited for, as the policy says."""

from __future__ import annotations

import pytest

from agi.policy.review import PatchReviewPolicy, is_proposed, waits_for_a_person


@pytest.mark.parametrize(
    ("mode", "proposed", "waits"), [("off", False, False), ("auto", True, False), ("request", True, True)]
)
def test_a_write_is_proposed_and_waits_by_mode(tool, mode, proposed, waits):
    """Off by default; `auto` shows, `request` asks."""
    policy = PatchReviewPolicy(mode=mode)

    assert (is_proposed(policy, tool("write_file")), waits_for_a_person(policy, tool("write_file"))) == (
        proposed,
        waits,
    )
    assert not is_proposed(policy, tool("shell"))
    assert not waits_for_a_person(policy, tool("read_file"))


def test_review_is_off_by_default():
    """As the seed says."""
    assert PatchReviewPolicy().mode == "off"
