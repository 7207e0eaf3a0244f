"""A line of the table of measurements: it says whether its bar was met."""

import pytest
from bench.measures import Row


@pytest.mark.parametrize(
    ("ours", "floor", "bar", "said"),
    [
        (4.0, 2.0, "≤ 2×", "≤ 2×, pass"),
        (4.1, 2.0, "≤ 2×", "≤ 2×, MISS"),
        (9.4, None, "< 4 ms quiet", "< 4 ms quiet, MISS"),
        (999.0, None, "< 1,000 ms", "< 1,000 ms, pass"),
        (1000.0, None, "< 1,000 ms", "< 1,000 ms, MISS"),
        (60_000.0, None, "≥ 50,000", "≥ 50,000, pass"),
        (900.0, 3.0, "≥ 1,000/s", "≥ 1,000/s, MISS"),
        (31.0, None, "< 250 ms, 0 gaps", "< 250 ms, 0 gaps, pass"),
        (12.0, 2.0, "≤ 10 ms over, pass", "≤ 10 ms over, pass"),
        (12.0, 2.0, "≤ 1.2×, MISS", "≤ 1.2×, MISS"),
        (12.0, 2.0, "none set", "none set"),
        (12.0, 2.0, "", ""),
    ],
)
def test_a_bar_says_whether_it_was_met(ours, floor, bar, said):
    """Of the figure, or of its ratio to the floor; a bar that says so itself, or is none, stays as it is."""
    assert Row("what", ours, "ms", floor, bar).cells()[4] == said
