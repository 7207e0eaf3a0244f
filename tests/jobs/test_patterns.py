"""Waiting for something in a growing text."""

import time

import pytest

from agi.errors import Invalid
from agi.jobs.patterns import LONGEST, Expression, Literal


def test_a_text_is_found_across_pieces():
    """However it was cut."""
    for at in range(1, 9):
        pattern = Literal("listening")
        assert not pattern.feed("now " + "listening"[:at])
        assert pattern.feed("listening"[at:] + " on 80")


def test_a_text_of_one_character_is_found():
    """Nothing needs to be carried over."""
    pattern = Literal("x")

    assert not pattern.feed("abc")
    assert pattern.feed("x")


def test_a_text_is_taken_literally():
    """It is no expression."""
    assert not Literal("a.c").feed("abc")
    assert Literal("a.c").feed("a.c")


def test_an_expression_is_found_within_a_line_across_pieces():
    """And its ends are those of lines."""
    pattern = Expression(r"^ready in \d+ ms$")

    assert not pattern.feed("not ready in 5 ms\nready in ")
    assert not pattern.feed("3")
    assert pattern.feed("00 ms\n")


@pytest.mark.parametrize("wanted", ["(a+)+$", "(a|aa)+$", "(.*a){20}b", r"(\w+\s?)*$"])
def test_no_expression_takes_for_ever(wanted):
    """Matching is linear in the text, whatever the expression."""
    try:
        pattern = Expression(wanted)
    except Invalid:
        return
    began = time.monotonic()
    for _ in range(4):
        pattern.feed("a" * 250_000 + "!")

    assert time.monotonic() - began < 2


@pytest.mark.parametrize("wanted", ["(", "a{1000}{1000}", "(?=x)", r"(a)\1", "x" * (LONGEST + 1), ""])
def test_what_cannot_be_waited_for_is_refused(wanted):
    """With a word on why."""
    with pytest.raises(Invalid) as refused:
        Expression(wanted)

    assert refused.value.code == "pattern_invalid"
    assert refused.value.hint


def test_an_unfinished_line_is_looked_at_again_only_by_its_end():
    """A line without end does not cost more and more."""
    pattern = Expression("end$")
    began = time.monotonic()
    for _ in range(2000):
        pattern.feed("x" * 500)

    assert pattern.feed("end")
    assert time.monotonic() - began < 2
