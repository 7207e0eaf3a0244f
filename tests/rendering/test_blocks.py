"""What of a growing text is finished, so that only the rest can still change."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agi.rendering.blocks import closed
from agi.rendering.markdown import html

PIECES = [
    "# a",
    "#",
    "para",
    "b | c",
    "-|-",
    "- x",
    "  y",
    "    code",
    "```",
    "~~~",
    "> q",
    "1. n",
    "2) m",
    "---",
    "===",
]
PIECES += ["\n", "\n\n", "\n", "\r\n", "\r", " ", "\t", "*", "`", "[a]: b", "<div>", "|", "\\", ""]


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("", ""),
        ("a paragraph that is being", ""),
        ("one\n\ntwo", "one\n"),
        ("one\n\n", "one\n"),
        ("# head\ntext", ""),
        ("# head\ntext\n", "# head\n"),
        ("- a\n\n", ""),
        ("- a\n\ntext\n", "- a\n\n"),
        ("```\ncode\n\nmore\n", ""),
        ("```\ncode\n```\n\n", "```\ncode\n```\n"),
        ("a\r\n\r\nb", "a\r\n"),
    ],
)
def test_finished_blocks_end_where_nothing_can_change_them(text, finished):
    """A list may go on behind a blank line, a fence until it is closed, a paragraph until a blank line."""
    assert text[: closed(text)].rstrip("\r\n") == finished.rstrip("\r\n")


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.text("ab#-`>|\n \r", max_size=4), max_size=18).map("".join), st.data())
def test_a_text_is_shown_the_same_while_it_grows_and_when_it_is_whole(text, data):
    """Wherever it stopped growing for a moment: what was finished then is the beginning of the whole."""
    so_far = text[: data.draw(st.integers(0, len(text)))]
    cut = closed(so_far)

    assert html(text[:cut]) + html(text[cut:]) == html(text)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=18).map("".join))
def test_what_is_finished_stays_so(text):
    """It only ever grows, and can be looked for behind what was finished before."""
    before = 0
    for end in range(len(text) + 1):
        now = closed(text[:end])
        assert now >= before
        before = now
