"""Text of others on its way to the screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.tui.safe import one_line, shown


@pytest.mark.threat("T39")
@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x\x1b]8;;http://e.vil\x1b\\link\x1b]8;;\x1b\\", "xlink"),
        ("\x1bPdevice\x1b\\y", "y"),
        ("cut off \x1b[3", "cut off \\x1b[3"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("windows\r\nlines\r\n", "windows\nlines\n"),
        ("a\tb", "a   b"),
        ("\x00\x07\x7f\x9b2J", "\\x00\\x07\\x7f\\x9b2J"),
        ("abc\u202etxt.exe", "abc\\u202etxt.exe"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("lone \ud800", "lone \\ud800"),
        ("é 商品 👩‍👧", "é 商品 👩‍👧"),
    ],
)
def test_what_acts_is_gone_and_what_hides_is_visible(text, seen):
    """Everything else is as it was."""
    assert shown(text) == seen


@pytest.mark.threat("T39")
@given(st.text(st.characters(codec=None), max_size=200))
def test_nothing_that_a_terminal_acts_on_is_left(text):
    """Of control characters only line breaks; and it can be written to a terminal."""
    seen = shown(text)

    seen.encode()
    assert all(character == "\n" or ord(character) >= 32 for character in seen)
    assert "\x7f" not in seen
    assert not any(0x80 <= ord(character) < 0xA0 for character in seen)


@given(st.text(max_size=500), st.integers(2, 80))
def test_a_line_is_a_line_and_no_longer_than_asked(text, limit):
    """Whatever it was made of."""
    line = one_line(text, limit)

    assert "\n" not in line
    assert len(line) <= limit
