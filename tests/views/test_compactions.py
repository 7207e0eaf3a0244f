"""Which compaction says what models are told: the last one that is neither undone nor taken back."""

from __future__ import annotations

from agi.views.compactions import in_force

A, B = (10, "comp_a", False), (20, "comp_b", False)


def test_the_last_one_counts():
    """Each stands for itself."""
    assert in_force([], []) == 0
    assert in_force([A, B], []) == 20
    assert in_force([A, B], [], end=15) == 10


def test_one_that_was_undone_gives_way_to_the_one_before():
    """And that, once it is undone too, to the whole conversation."""
    assert in_force([A, B, (30, "comp_b", True)], []) == 10
    assert in_force([A, B, (30, "comp_b", True), (31, "comp_a", True)], []) == 0


def test_one_that_was_taken_back_with_the_conversation_is_not_in_force():
    """Neither is its undoing, when that was taken back."""
    assert in_force([A, B], [(25, 15)]) == 10
    assert in_force([A, B], [(25, 5)]) == 0
    assert in_force([A, (12, "comp_a", True)], [(15, 11)]) == 10


def test_a_revert_that_was_itself_reverted_brings_it_back():
    """As it stood at that point."""
    assert in_force([A], [(15, 5)]) == 0
    assert in_force([A], [(15, 5), (20, 14)]) == 10
