"""A text as lines with their endings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.editing.documents import Document, Edit, split_lines


def document(text):
    return Document.read("f", text.encode())


@pytest.mark.parametrize(
    ("text", "lines", "endings"),
    [
        ("", [], []),
        ("a", ["a"], [""]),
        ("a\n", ["a"], ["\n"]),
        ("\n\n", ["", ""], ["\n", "\n"]),
        ("a\r\nb\rc\nd", ["a", "b", "c", "d"], ["\r\n", "\r", "\n", ""]),
        ("a\r\r\nb\n\rc", ["a", "", "b", "", "c"], ["\r", "\r\n", "\n", "\r", ""]),
        ("a\u2028b\x0cc\x85d\x1ee\n", ["a\u2028b\x0cc\x85d\x1ee"], ["\n"]),
    ],
)
def test_a_line_ends_with_crlf_lf_or_cr_and_nothing_else(text, lines, endings):
    """Form feeds and Unicode separators are part of a line."""
    assert split_lines(text) == (lines, endings)


@pytest.mark.parametrize(
    ("text", "usual"),
    [("", "\n"), ("a", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\rb\r", "\r"), ("a\r\nb\n", "\r\n"), ("a\nb\r\n", "\n")],
)
def test_the_usual_ending_is_the_most_frequent_one_and_the_earlier_of_two(text, usual):
    """A newline where there is none at all."""
    assert document(text).usual_ending() == usual


def test_a_line_without_an_end_gets_one_only_where_another_follows():
    """Whatever follows it, and however often."""
    assert document("a\r\nb").edited([Edit(2, 2, "c\r\n"), Edit(2, 2, "d")]) == "a\r\nb\r\nc\r\nd"
    assert document("a\nb").edited([Edit(1, 2, "b"), Edit(2, 2, "c")]) == "a\nb\nc"
    assert document("a\nb").edited([Edit(1, 2, ""), Edit(2, 2, "c\n")]) == "a\nc\n"
    assert document("a\nb").edited([]) == "a\nb"


@given(
    st.lists(st.tuples(st.text("ab \u2028é", max_size=3), st.sampled_from(["\n", "\r\n", "\r"])), max_size=8),
    st.integers(0, 8),
    st.integers(0, 8),
)
def test_what_lies_outside_an_edit_is_the_same_text(lines, start, length):
    """Whatever the endings, and also where two lines look like one."""
    doc = document("".join(line + ending for line, ending in lines))
    start = min(start, len(doc.lines))
    end = min(start + length, len(doc.lines))
    whole = [line + ending for line, ending in zip(doc.lines, doc.endings, strict=True)]

    assert doc.edited([Edit(start, end, "new\n")]) == "".join([*whole[:start], "new\n", *whole[end:]])
