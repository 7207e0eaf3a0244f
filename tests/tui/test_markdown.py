"""Markdown as lines: whole texts and growing ones alike, and nothing in them acts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agi.tui.markdown import blocks, drawn
from agi.tui.tokens import DARK, PALETTES

TEXT = "# Title\n\nSome *words*.\n\n```py\na = 1\n\n\nb = 2\n```\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"


def lines(text, width=40):
    return ["".join(segment.text for segment in line).rstrip() for line in drawn(text, width, DARK)]


@given(st.text("ab `~\n-#|", max_size=200))
def test_blocks_are_the_text_cut_into_pieces(text):
    """Nothing is lost between them."""
    assert "\n".join(blocks(text)) == text


def test_fenced_code_is_one_block_whatever_is_in_it():
    """Blank lines in it are part of it."""
    assert blocks("a\n\n```\nx\n\ny\n```\n\nb") == ["a\n", "```\nx\n\ny\n```\n", "b"]


def test_a_closed_block_stays_the_same_while_the_text_grows():
    """So only the open end is drawn again."""
    whole = blocks(TEXT)
    for size in range(len(TEXT)):
        grown = blocks(TEXT[:size])
        assert grown[:-1] == whole[: len(grown) - 1]


def test_a_text_is_drawn():
    """Headings, lists, code and tables, without their signs."""
    found = [line for block in blocks(TEXT) for line in lines(block)]

    assert "Title" in found
    assert "Some words." in found
    assert "a = 1" in found
    assert " • one" in found
    assert any("a" in line and "b" in line and "|" not in line for line in found)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("[red]not red[/red]", "[red]not red[/red]"),
        ("[click](http://e.vil/x)", "click (http://e.vil/x)"),
        ("![pic](http://e.vil/p.png)", "!pic (http://e.vil/p.png)"),
        ("[a]: http://e.vil\n[a]", "[a]: http://e.vil [a]"),
        ("a &amp; b", "a & b"),
    ],
)
def test_nothing_is_hidden_by_what_it_is_written_in(text, seen):
    """HTML and markup are text, a link says where it leads, a definition is not swallowed."""
    assert " ".join(" ".join(lines(text)).split()) == seen


@given(st.text(max_size=300), st.integers(4, 60))
def test_no_line_is_wider_than_there_is_room(text, width):
    """Whatever the text and the width are."""
    assert all(cell_len("".join(segment.text for segment in line)) <= width for line in drawn(text, width, DARK))


@pytest.mark.parametrize("palette", PALETTES.values(), ids=PALETTES)
def test_every_palette_can_draw(palette):
    """Also the terminal's own colours."""
    assert drawn("# a\n\n`b` > c", 20, palette)
