"""A line that is typed: edited, pasted into, and masked where it is a key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.cli.entry import LONGEST, Entry
from agi.cli.keyboard import Key

NAMES = ["left", "right", "home", "end", "backspace", "delete", "erase_word", "erase_all", "other", "redraw"]


def press(entry: Entry, *keys: str) -> str:
    """Press keys by name, or letters; gives what the last one came to."""
    outcome = ""
    for key in keys:
        outcome = entry.press(Key("text", key) if len(key) == 1 else Key(key))
    return outcome


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("xyz", "abcxyz"),
        (("left", "left", "X"), "aXbc"),
        (("home", "X", "end", "Y"), "XabcY"),
        (("backspace", "backspace"), "a"),
        (("home", "delete", "backspace"), "bc"),
        (("left", "erase_all", "x"), "x"),
        ((" ", "d", "e", "erase_word"), "abc "),
        (("erase_word", "erase_word", "backspace", "left", "delete"), ""),
        (("right", "right", "x"), "abcx"),
    ],
)
def test_a_line_is_edited_as_everywhere(keys, text):
    """At its end and in its middle."""
    entry = Entry("abc")
    press(entry, *keys)

    assert entry.text == text


def test_enter_ends_it_and_escape_leaves():
    """Ctrl-D leaves only an empty line."""
    entry = Entry("abc")

    assert press(entry, "enter") == "taken"
    assert press(entry, "escape") == "left"
    assert press(entry, "end_of_input") == ""
    assert press(Entry(), "end_of_input") == "left"


def test_of_a_paste_only_what_can_be_seen_is_taken():
    """The line break that was copied with a key is none of it."""
    entry = Entry(masked=True)
    entry.press(Key("paste", "sk-1234\r\n\x1b[A"))

    assert entry.text == "sk-1234[A"


def test_a_masked_line_shows_how_much_there_is_and_nothing_else():
    """Dots as far as one can count them, then a number."""
    entry = Entry(masked=True)
    assert entry.shown(80) == ("", 0)
    entry.press(Key("paste", "sk-secret"))
    assert entry.shown(80) == ("•" * 9, 0)
    entry.press(Key("paste", "x" * 100))

    assert entry.shown(80) == ("•" * 24 + " 109 characters", 0)
    assert len(entry.shown(10)[0]) == 10


def test_a_long_line_is_shown_around_the_cursor():
    """The place where one types is always in view."""
    entry = Entry("0123456789" * 3)
    assert entry.shown(11) == ("0123456789", 0)
    press(entry, "home")

    assert entry.shown(11) == ("01234567890", 11)


def test_a_line_has_an_end():
    """Whatever is pasted into it."""
    entry = Entry()
    entry.press(Key("paste", "x" * 2 * LONGEST))

    assert len(entry.text) == LONGEST


@given(st.lists(st.one_of(st.sampled_from(NAMES), st.characters()), max_size=40), st.booleans(), st.integers(1, 50))
def test_no_keys_bring_it_out_of_order(keys, masked, columns):
    """The cursor stays in the line, the drawing in its columns."""
    entry = Entry("start", masked=masked)
    for key in keys:
        entry.press(Key(key) if key in NAMES else Key("text", key))
        window, back = entry.shown(columns)

        assert 0 <= entry.at <= len(entry.text)
        assert 0 <= back <= len(window)
        assert not masked or "start" not in window
