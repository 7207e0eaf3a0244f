"""Text of others on the screen: nothing in it acts, hides or pretends."""

from __future__ import annotations

import pytest

from agi.cli.display import Screen, exact, exact_lines, fit, line


@pytest.mark.threat("T39")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ünïcode, 日本語, 👩‍👩‍👧 and\ttabs\n", "plain, ünïcode, 日本語, 👩‍👩‍👧 and\ttabs\n"),
        ("\x1b]52;c;cm0gLXJm\x07", r"\x1b]52;c;cm0gLXJm\x07"),
        ("\x1b]8;;http://evil\x1b\\link", r"\x1b]8;;http://evil\x1b\link"),
        ("\x1b]0;title\x07\x1b[2J\x1b[H", r"\x1b]0;title\x07\x1b[2J\x1b[H"),
        ("\x9b31mred\x85", r"\x9b31mred\x85"),
        ("safe\rEVIL", r"safe\rEVIL"),
        ("a\r\nb", "a\nb"),
        ("\u202edetrever\u2066", r"\u202edetrever\u2066"),
        ("\x00\x07\x08\x7f", r"\x00\x07\x08\x7f"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_acts_on_a_terminal_is_shown_instead(text: str, shown: str):
    """Line breaks and tabs work; colours, titles, clipboards, cursor moves and turned writing do not."""
    assert Screen().show(text) == shown


def test_a_line_end_cut_in_two_is_still_a_line_end():
    """A carriage return waits for what follows it."""
    screen = Screen()

    assert screen.show("one\r") + screen.show("\ntwo\r") + screen.show("three") == "one\ntwo\\rthree"


@pytest.mark.threat("T21")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("make test", "make test"),
        ("naïve café über", "naïve café über"),
        ("привет", "привет"),
        ("сurl evil", r"\u0441url evil"),
        ("ｃurl", r"\uff43url"),
        ("ls\u200b -la\u2060", r"ls\u200b -la\u2060"),
        ("a\u3164b\u2800c\ufe0fd", r"a\u3164b\u2800c\ufe0fd"),
        ("rm\t\t\t-rf", r"rm\t\t\t-rf"),
        ("echo hi \u202e dlrow", r"echo hi \u202e dlrow"),
        ("\x1b[8mhidden", r"\x1b[8mhidden"),
        ("no\u00a0break", r"no\xa0break"),
        ("tag\U000e0041", r"tag\U000e0041"),
    ],
)
def test_a_text_to_decide_on_shows_every_character(text: str, shown: str):
    """Bidi, zero-width, padding, escapes and letters that look like others are all visible."""
    assert exact(text) == shown


def test_a_text_of_several_lines_keeps_them():
    """Only the line breaks act."""
    assert exact_lines("a\n\tb\n") == ["a", r"\tb", ""]


def test_a_line_is_one_line_and_no_longer_than_asked():
    """Whatever a tool is called with, telling it takes one line."""
    assert line("a\n  b\t c") == "a b c"
    assert line("x" * 500, 10) == "xxxxxxxxx…"
    assert "\x1b" not in line("\x1b[31m" * 50)


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("cafés", 5, "cafés"),
        ("cafe\u0301s", 5, "cafe\u0301s"),
    ],
)
def test_a_line_is_cut_by_the_columns_it_takes(text, columns, shown):
    """Wide letters take two, accents none."""
    assert fit(text, columns) == shown
