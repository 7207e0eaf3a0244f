"""A word that is nearly a command: a slip is answered, a prompt is asked."""

from __future__ import annotations

import pytest

from agi.cli.main import COMMANDS
from agi.cli.near import distance, is_near, refuse_near
from agi.errors import ConfigError

NAMES = (*COMMANDS, "help")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("sesions", "agi sessions"),
        ("session", "agi sessions"),
        ("sessinos", "agi sessions"),
        ("Doctor", "agi doctor"),
        ("docter", "agi doctor"),
        ("srve", "agi serve"),
        ("TRUST", "agi trust"),
        ("repiar", "agi repair"),
        ("hepl", "agi help"),
        ("version", "agi --version"),
        ("verison", "agi --version"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant_and_how_to_ask_it(word, meant):
    """Nothing is sent to a model by accident, and nothing is impossible to ask."""
    with pytest.raises(ConfigError) as caught:
        refuse_near(word, NAMES)

    assert caught.value.hint == f"Did you mean `{meant}`? To ask it as a prompt: agi -- {word}"


@pytest.mark.parametrize(
    "word", ["hi", "hello", "test", "tests", "factor", "pair", "why", "reader", "sea", "x", "docs"]
)
def test_a_word_that_only_resembles_a_command_is_a_prompt(word):
    """Two slips count only in a long name that begins alike."""
    refuse_near(word, NAMES)


@pytest.mark.parametrize(
    ("one", "other", "slips"),
    [("", "abc", 3), ("abc", "abc", 0), ("acb", "abc", 1), ("ab", "abc", 1), ("xyz", "abc", 3)],
)
def test_slips_are_counted(one, other, slips):
    """A swap of neighbours is one slip."""
    assert distance(one, other) == distance(other, one) == slips
    assert is_near(one, other) == (slips <= 1)
