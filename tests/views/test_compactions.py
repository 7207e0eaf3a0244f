"""Which compaction says what models are told: the last one that is neither undone nor taken back."""

from __future__ import annotations

from agi.views.compactions import in_force, told_otherwise

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


def test_where_one_was_undone_models_were_told_something_else_until_then():
    """What was reported between the two says nothing about what is told now."""
    undone = (20, "comp_a", True)

    assert told_otherwise([A], []) == []
    assert told_otherwise([A, undone], []) == [(10, 20)]
    assert told_otherwise([A, undone], [], end=15) == [(0, 10)]
    assert told_otherwise([A, B, (30, "comp_b", True)], []) == [(0, 10), (20, 30)]


def test_that_holds_also_after_the_conversation_was_taken_back():
    """To a point behind the undoing; where the undoing was taken back, it is the other way round."""
    marks = [A, (20, "comp_a", True)]

    assert told_otherwise(marks, [(40, 30)]) == [(10, 20)]
    assert told_otherwise(marks, [(40, 15)]) == [(0, 10), (20, 40)]
    assert told_otherwise(marks, [(15, 5), (18, 14)]) == [(10, 15), (18, 20)]
