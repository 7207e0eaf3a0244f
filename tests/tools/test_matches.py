"""Matches as they are shown."""

from agi.tools.matches import LONGEST_LINE, Match, shown_line


def test_a_match_is_one_line():
    """Path, number, text."""
    assert str(Match("a/b.py", 3, "x = 1")) == "a/b.py:3: x = 1"


def test_a_line_is_shown_without_its_ending_and_cut_if_long():
    """What is no text is shown as well as can be."""
    assert shown_line(b"a\r\n") == "a"
    assert shown_line(b"\xff") == "\ufffd"
    assert shown_line(b"x" * 1000) == "x" * LONGEST_LINE + " [cut]"
