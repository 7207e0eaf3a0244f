"""Fitting a text into what may be shown."""

import random

import pytest

from agi.tools.fitting import Fitted, Limits, fit
from agi.workspace.captured import Capture, Kept

SMALL = Limits(lines=4, size=60, line=10)


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\n\n\nb\n", "a\nb\nc\nd", "a\nb\nc\nd\n", "0123456789\n" * 4])
def test_what_fits_is_shown_as_it_is(text):
    """Up to the last line, byte and character that may be shown."""
    assert fit(Kept(text), SMALL) == Fitted(head=text)


def test_of_many_lines_both_ends_are_shown():
    """And those between are counted."""
    text = "".join(f"{number}\n" for number in range(1, 101))

    assert fit(Kept(text), SMALL) == Fitted(
        head="1\n2\n", tail="99\n100\n", lines=96, size=len(text) - len("1\n2\n99\n100\n"), first=3
    )


def test_of_too_many_bytes_both_ends_are_shown():
    """Whole lines only."""
    found = fit(Kept("ääää\n" * 4 + "é" * 10 + "\n"), Limits(lines=100, size=40, line=100))

    assert found == Fitted(head="ääää\nääää\n", tail="é" * 10 + "\n", lines=2, size=18, first=3)


def test_a_long_line_is_cut_in_the_middle():
    """Its beginning and its end are shown; the lines around it are not touched."""
    found = fit(Kept("one\n" + "x" * 50 + "THE END\ntwo\n"), Limits(lines=10, size=200, line=20))

    line = "x" * 15 + " [37 characters of this line left out] " + "E END\n".rjust(6)
    assert found == Fitted(head="one\n" + line + "two\n", size=37, cut=1)


def test_one_endless_line_is_shown_by_its_two_ends():
    """However much of it there is; it is one line, and none is missing."""
    capture = Capture(40)
    for _ in range(1000):
        capture.add(b"x" * 100)
    found = fit(capture.finish(), SMALL)

    assert (found.lines, found.cut, found.first) == (0, 2, 0)
    assert found.size == 100_000 - 2 * 10


def test_something_of_each_end_is_shown_even_where_one_line_is_too_much():
    """Better a little too long than nothing."""
    found = fit(Kept("a" * 50 + "\n" + "b\n" * 50 + "c" * 50), Limits(lines=10, size=20, line=100))

    assert found.head == "a" * 50 + "\n"
    assert found.tail.endswith("c" * 50)


def test_counts_are_exact_whatever_comes():
    """What is shown and what is missing add up, for texts that are whole and texts that come in pieces."""
    chance = random.Random(31)
    for _ in range(400):
        lines = ["ä" * chance.choice([0, 1, 5, 30]) + str(chance.random()) for _ in range(chance.randint(1, 30))]
        text = "\n".join(lines) + chance.choice(["", "\n"])
        capture = Capture(chance.choice([400, 4000]))
        capture.add(text.encode())
        limits = Limits(lines=chance.randint(2, 12), size=chance.randint(30, 600), line=chance.choice([5, 20, 100]))

        found = fit(Kept(text), limits)
        in_pieces = fit(capture.finish(), limits)

        for one in (found, in_pieces):
            shown = one.head.count("\n") + one.tail.count("\n") + (bool(one.tail or one.head) and text[-1] != "\n")
            assert one.lines == 0 or one.lines + shown == len(lines)
            assert 0 <= one.size < len(text.encode()) + 1
            assert (one.size == 0) == (one.head == text)
        if not found.cut:
            assert len((found.head + found.tail).encode()) + found.size == len(text.encode())
