"""A piece of text replaced, and whole texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.editing.documents import Document, split_lines
from agi.editing.replacing import find_text, replace_found, rewritten


def document(text):
    return Document.read("f", text.encode())


def replaced(text, old, new, *, everywhere=False):
    doc = document(text)
    found = find_text(doc, old, everywhere=everywhere)
    assert found is not None
    assert everywhere or len(found.lines) == 1
    return replace_found(doc, found, old, new)


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a b c\n", "b", "x", "a x c\n"),
        ("a\nb\nc\n", "b\n", "", "a\nc\n"),
        ("a\nb\nc\n", "a\nb", "x", "x\nc\n"),
        ("a\nb\nc\n", "b", "", "a\n\nc\n"),
        ("a\nb\nc\n", "b", "1\n2\n3", "a\n1\n2\n3\nc\n"),
        ("a\nb\nc\n", "b\n", "1\n2\n", "a\n1\n2\nc\n"),
        ("a\nb", "b", "x", "a\nx"),
        ("a\nb", "b", "x\n", "a\nx\n"),
        ("a\nb\n", "b\n", "x", "a\nx"),
        ("a\nb\n", "\nb\n", "", "a"),
        ("a", "a", "", ""),
        ("one two\n", " ", "\n", "one\ntwo\n"),
        ("a\nb\n", "a\nb", "ab", "ab\n"),
        ("a\n\n\nb\n", "\n\n\n", "\n", "a\nb\n"),
    ],
)
def test_text_is_replaced_wherever_it_begins_and_ends(text, old, new, after):
    """In a line, across lines, with their ends; whatever line endings the file has."""
    assert replaced(text, old, new) == after
    for ending in ("\r\n", "\r"):
        assert replaced(text.replace("\n", ending), old, new) == after.replace("\n", ending)


def test_lines_that_stay_the_same_keep_their_endings():
    """Also those repeated in the old and the new text."""
    text = "a\r\nb\nc\rd\r\n"

    assert replaced(text, "a\nb\nc\nd\n", "a\nB\nc\nd\n") == "a\r\nB\nc\rd\r\n"
    assert replaced(text, "b\nc", "b\nnew\nc") == "a\r\nb\nnew\r\nc\rd\r\n"


def test_text_is_found_ever_more_leniently():
    """Line by line where blanks differ, and anywhere where only the punctuation does; the file's own lines stay."""
    text = "if x:\n\tdo(“it”)   \n\tend()\n"

    assert find_text(document(text), "do(“it”)", everywhere=False).rung == 0
    assert replaced(text, "\tdo(“it”)\n\tend()", "\tdo(“it”)\n\tstop()") == "if x:\n\tdo(“it”)   \n\tstop()\n"
    assert replaced(text, '  do("it")\n  end()', '  do("it")\n\tstop()') == "if x:\n\tdo(“it”)   \n\tstop()\n"
    assert replaced(text, 'do("it")', "did()") == "if x:\n\tdid()   \n\tend()\n"
    assert find_text(document(text), "nothing", everywhere=False) is None
    assert find_text(document(text), "   ", everywhere=False).rung == 0


def test_lines_written_with_another_indentation_are_put_in_with_the_files():
    """As long as all of them differ by the same; else they are taken as they are written."""
    text = "def f():\n    one()\n    two()\n"

    assert replaced(text, "one()\ntwo()", "one()\nif x:\n    three()") == (
        "def f():\n    one()\n    if x:\n        three()\n"
    )
    assert replaced(text, "        one()\n        two()", "        three()\n\n") == "def f():\n    three()\n\n"
    assert replaced(text, "\tone()\n\ttwo()", "\tthree()") == "def f():\n\tthree()\n"


def test_text_that_is_there_several_times_is_told_with_its_lines():
    """Also where its places overlap."""
    assert find_text(document("x\ny x\n"), "x", everywhere=False).lines == (0, 1)
    assert find_text(document("aaa\n"), "aa", everywhere=False).lines == (0, 0)
    assert len(find_text(document("x" * 1000), "x", everywhere=False).lines) == 20


def test_everywhere_means_everywhere():
    """Several in a line, across lines, and where nothing but blanks differ."""
    assert replaced("x x\nx\r\n", "x", "yy", everywhere=True) == "yy yy\nyy\r\n"
    assert replaced("a\na\na\n", "a\n", "", everywhere=True) == ""
    assert replaced("aaa\n", "aa", "b", everywhere=True) == "ba\n"
    assert replaced("a \nb\nx\na \nb\n", "a\nb", "c", everywhere=True) == "c\nx\nc\n"


def test_a_whole_new_text_takes_the_files_endings_unless_it_has_its_own():
    """Lines that stay keep theirs where endings are mixed."""
    assert rewritten(document("a\r\nb\r\n"), "a\nc\nd\n") == "a\r\nc\r\nd\r\n"
    assert rewritten(document("a\r\nb\r\n"), "a\nb") == "a\r\nb"
    assert rewritten(document("a\nb\r\nc\r\n"), "a\nx\ny\nc\n") == "a\nx\r\ny\r\nc\r\n"
    assert rewritten(document("a\r\n"), "a\r\nb\n") == "a\r\nb\n"
    assert rewritten(document("a\n"), "b\n") == "b\n"
    assert rewritten(document("a\r\n"), "") == ""
    assert rewritten(document(""), "a\n") == "a\n"


ENDINGS = st.sampled_from(["\n", "\r\n", "\r"])
TEXTS = st.lists(st.tuples(st.text("ab c", max_size=4), ENDINGS), min_size=1, max_size=8)


@given(TEXTS, st.integers(0, 7), st.text("xyz\n", max_size=5))
def test_whatever_is_replaced_in_a_line_the_others_stay_byte_for_byte(lines, number, new):
    """And the line's own ending stays where it has one."""
    doc = document("".join(line + ending for line, ending in lines) + "the end")
    number = min(number, len(doc.lines) - 1)
    marked = [line + ("§" if n == number else "") for n, line in enumerate(doc.lines)]
    text = "".join(line + ending for line, ending in zip(marked, doc.endings, strict=True))

    after = replaced(text, "§", new)

    before_lines = [line + ending for line, ending in zip(marked, doc.endings, strict=True)]
    assert after.startswith("".join(before_lines[:number]) + marked[number].removesuffix("§"))
    assert after.endswith("".join(before_lines[number + 1 :]))
    changed = after[len("".join(before_lines[:number])) : len(after) - len("".join(before_lines[number + 1 :]))]
    assert split_lines(changed)[0] or not changed
    assert changed.endswith(doc.endings[number])
