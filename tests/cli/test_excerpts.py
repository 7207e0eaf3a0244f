"""What is shown of a command's output: where it began, where it ended, and how much lies between."""

from __future__ import annotations

import pytest

from agi.cli.excerpts import TOLD_LIVE, WIDEST, Excerpt, excerpt


def numbered(first: int, last: int) -> str:
    return "".join(f"{n}\n" for n in range(first, last + 1))


def test_a_short_output_is_shown_whole():
    """Fifteen lines are few."""
    assert excerpt(numbered(1, 15)) == [str(n) for n in range(1, 16)]
    assert excerpt("") == excerpt("\n") == []


def test_of_a_long_one_the_beginning_and_the_end_are_shown():
    """Five, ten, and how many lines there are between them."""
    expected = ["1", "2", "3", "4", "5", "… 85 lines", *map(str, range(91, 101))]

    assert excerpt(numbered(1, 100)) == expected


def test_live_lines_come_as_soon_as_they_are_whole():
    """Five of them; what is half said waits for the rest."""
    output = Excerpt()

    assert output.take("stdout", "on") == []
    assert output.take("stderr", "oops\n") == ["oops"]
    assert output.take("stdout", "e\ntwo\nth") == ["one", "two"]
    assert output.take("stdout", "ree\nfour\nfive\n") == ["three", "four"]
    assert output.rest("never looked at") == ["five"]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_in_whatever_pieces_it_comes_the_same_lines_are_shown(size):
    """Live and at the end together make the same excerpt."""
    text, output = numbered(1, 100), Excerpt()
    live = [line for at in range(0, len(text), size) for line in output.take("stdout", text[at : at + size])]

    assert live + output.rest(text) == excerpt(text)


def test_a_command_that_was_too_quick_to_be_told_live_is_shown_from_its_result():
    """Nothing is lost because it was fast."""
    assert Excerpt().rest("done\n") == ["done"]


def test_where_not_all_was_told_live_the_end_comes_from_the_result():
    """The harness tells only so much of an output while it runs."""
    output = Excerpt()
    output.take("stdout", "x\n" * (TOLD_LIVE // 2))

    shown = output.rest("x\n" * 50_000 + "Error: the end\n")
    assert shown[-1] == "Error: the end"
    assert shown[0] == "… 49991 lines"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("10%\r50%\r100%\r", "100%"),
        ("\x1b]0;title\x07\x1b[2J", r"\x1b]0;title\x07\x1b[2J"),
        ("a\tb", "a\tb"),
        ("x" * 5000, "x" * (WIDEST - 1) + "…"),
    ],
)
def test_a_line_is_shown_as_it_would_have_ended_up_and_nothing_in_it_acts(text, shown):
    """Colours are left out, progress bars show their last state, everything else that acts is escaped."""
    assert excerpt(text) == [shown]
