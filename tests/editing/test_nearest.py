"""Where lines may have been meant."""

from agi.editing.nearest import Nearby, agreeing, excerpt


def nearest(lines, wanted):
    return Nearby(lines).place(wanted)


def test_the_nearest_place_is_where_most_lines_agree():
    """Blanks aside; common lines do not count."""
    lines = ["def a():", "    x = 1", "    return x", "", "def b():", "    x = 2", "    return x"]

    at = nearest(lines, ["def b():", "  x = 3", "  return x"])

    assert at == 4
    assert agreeing(lines, ["def b():", "  x = 3", "  return x"], at) == 2


def test_a_line_that_is_nearly_the_same_is_near():
    """A misspelled one leads to its place."""
    lines = ["one", "compute_the_total(items)", "three"]

    assert nearest(lines, ["compute_the_totals(item)"]) == 1
    assert nearest(lines, ["", "compute_the_totals(item)"]) == 0


def test_where_nothing_is_alike_there_is_no_nearest_place():
    """Nor for nothing."""
    assert nearest(["abc", "def"], ["zzzzzz"]) is None
    assert nearest([], ["a"]) is None
    assert nearest(["a"], []) is None
    assert nearest(["a"], ["  "]) is None
    assert nearest(["}"] * 100, ["}"]) == 0  # the most alike, though it stands everywhere


def test_an_excerpt_has_line_numbers_and_is_bounded():
    """Long lines are cut; it ends where the file ends."""
    assert excerpt(["a", "b", "c"], 1, 2, around=1) == "1| a\n2| b\n3| c"
    assert excerpt(["x" * 1000], 0, 9) == "1| " + "x" * 200 + "…"
    assert excerpt([f"{n}" for n in range(12)], 9, 10, around=1) == " 9| 8\n10| 9\n11| 10"


def test_a_file_of_many_lines_is_looked_through_in_a_moment():
    """Also if all are different and none is wanted."""
    lines = [f"line {n} of the file" for n in range(100_000)]

    assert nearest(lines, ["something else altogether", *lines[500:900]]) == 499
