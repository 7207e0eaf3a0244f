"""Whoever decides on a text sees every character of it."""

from __future__ import annotations

import pytest

from agi.protocol.showing import exact, exact_lines, hides_something, unhidden, unhidden_change

TRICKS = {
    "\x1b[2J": r"\x1b[2J",
    "\x07\x08\x7f\x9b": r"\x07\x08\x7f\x9b",
    "a\rb": r"a\rb",
    "a\tb": r"a\tb",
    "\u202egpj.exe": r"\u202egpj.exe",
    "\u2066a\u2069\u200f": r"\u2066a\u2069\u200f",
    "l\u200bs\u200d\ufeff": r"l\u200bs\u200d\ufeff",
    "ls\u00a0a": r"ls\xa0a",
    "a\u3164b\u2800": r"a\u3164b\u2800",
    "rм -rf": r"r\u043c -rf",
    "ѕudo": r"\u0455udo",
    "a\u0000": r"a\x00",
    "\U000e0041": r"\U000e0041",
    "\ud800": r"\ud800",
}


@pytest.mark.threat("T21")
@pytest.mark.parametrize(("text", "shown"), TRICKS.items())
def test_what_acts_hides_or_looks_like_another_letter_is_shown_escaped(text, shown):
    """Controls, directions, nothing at all, and letters in disguise."""
    assert exact(text) == shown
    assert hides_something(text)


@pytest.mark.parametrize("text", ["ls -la", "naïve café", "日本語", "мир", "a b\nc d", "x = 'y' # 1"])
def test_plain_text_is_left_alone(text):
    """In any script, as long as it is not mixed with another one."""
    assert exact_lines(text) == text.split("\n")
    assert not hides_something(text)


@pytest.mark.parametrize(
    "hidden", ["\u00ad", "\u034f", "\u115f", "\u180e", "\u200b", "\u200d", "\u2800", "\u3164", "\ufe0f"]
)
def test_a_change_that_someone_decides_on_hides_nothing(hidden: str) -> None:
    """What is merely not seen is written out too; elsewhere an emoji stays what it is."""
    shown = unhidden_change(f"a{hidden}b\n")

    assert hidden not in shown
    assert shown.startswith("a\\")
    assert shown.endswith("b\n")
    assert unhidden("\u26a0\ufe0f") == "\u26a0\ufe0f"
