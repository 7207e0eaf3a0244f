"""Which part of the log is the conversation."""

from __future__ import annotations

from agi.views.segments import END, counts, segments


def test_without_a_revert_it_is_all_of_it():
    """From the first event on."""
    assert segments([]) == [(0, END)]


def test_a_revert_leaves_out_what_lies_between():
    """What came before the point, and what comes after the revert."""
    assert segments([(10, 4)]) == [(0, 4), (10, END)]


def test_a_revert_of_a_revert_brings_back_what_was_there():
    """The conversation as it stood before the first one."""
    assert segments([(10, 4), (12, 9)]) == [(0, 9), (12, END)]


def test_a_point_after_a_revert_is_seen_as_it_was_then():
    """An earlier revert that was in force there stays in force."""
    assert segments([(10, 4), (20, 15)]) == [(0, 4), (10, 15), (20, END)]
    assert segments([(10, 4), (20, 15)], 12) == [(0, 4), (10, 12)]
    assert segments([(10, 4), (20, 15)], 7) == [(0, 7)]


def test_what_counts_is_after_one_end_and_up_to_the_other():
    """A message at the point itself still counts."""
    kept = segments([(10, 4)])
    assert [position for position in range(1, 14) if counts(position, kept)] == [1, 2, 3, 4, 11, 12, 13]
