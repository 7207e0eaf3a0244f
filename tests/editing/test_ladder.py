"""Looking for lines, ever more leniently."""

import time

from agi.editing.ladder import Places, fold


def test_the_first_rung_that_finds_anything_counts():
    """An exact match further down wins over a lenient one above."""
    places = Places(["  a ", "a ", "a", " “a”"])

    assert places.seek(["a"], 0) == (2, 0)
    assert places.seek(["a"], 3) is None
    assert Places(["  a ", "a "]).seek(["a"], 0) == (1, 1)
    assert Places(["  a "]).seek(["a"], 0) == (0, 2)
    assert places.seek(['"a"'], 0) == (3, 3)


def test_lines_are_whole_lines():
    """A part of one is not found, nor a line across two."""
    places = Places(["ab", "c"])

    assert places.seek(["a"], 0) is None
    assert places.seek(["ab", "c"], 0) == (0, 0)
    assert places.seek(["c", ""], 0) is None


def test_places_are_found_from_both_ends():
    """The first, the last, and all of them, also where they overlap."""
    places = Places(["x", "x", "x", "y"])

    assert places.first(["x", "x"], 0, 0) == 0
    assert places.last(["x", "x"], 0, 4, 0) == 1
    assert places.last(["x", "x"], 0, 2, 0) == 0
    assert places.last(["x"], 3, 4, 0) is None
    assert places.several(["x", "x"], 0, 0, 9) == [0, 1]
    assert places.several(["x"], 0, 0, 2) == [0, 1]


def test_beyond_the_end_nothing_is_found():
    """Nor in an empty file."""
    assert Places([]).seek([""], 0) is None
    assert Places(["a"]).first(["a"], 5, 0) is None
    assert not Places(["a"]).holds(["a", "b"], 0)
    assert not Places(["a"]).holds(["a"], -1)


def test_folding_keeps_every_character_in_its_place():
    """One for one, so that what was found can be replaced."""
    assert fold("“–’\u00a0ä") == "\"-' ä"


def test_a_file_made_to_be_slow_is_not():
    """Many equal lines, and many equal lines wanted with one that is not there."""
    places = Places(["x"] * 200_000)
    began = time.monotonic()

    assert places.seek([*["x"] * 100_000, "y"], 0) is None
    assert places.last(["x"] * 100_000, 0, 200_000, 0) == 100_000
    assert time.monotonic() - began < 5
