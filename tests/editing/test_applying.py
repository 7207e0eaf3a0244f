"""Changes made in place: endings kept, endings taken."""

import pytest

from agi.editing.applying import applied
from agi.editing.documents import Document
from agi.editing.ladder import Places
from agi.editing.matching import place_hunks
from agi.editing.reading import read_patch


def patched(text, patch):
    (section,) = read_patch(patch, lambda _: True)
    document = Document.read("f", text.encode())
    return applied(document, section.hunks, place_hunks(Places(document.lines), section.hunks))


def update(*lines):
    return "\n".join(["*** Begin Patch", "*** Update File: f", *lines, "*** End Patch"])


def diff(*lines):
    return "\n".join(["--- a/f", "+++ b/f", *lines])


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_added_lines_take_the_files_ending(ending):
    """Whatever the patch was written with."""
    text = ending.join(["a", "b", "c", ""])

    assert patched(text, update("@@", " a", "-b\r", "+x", "+y\r", " c")) == ending.join(["a", "x", "y", "c", ""])
    assert patched(text, diff("@@", " a", "-b", "+x", "+y", " c")) == ending.join(["a", "x", "y", "c", ""])


def test_untouched_lines_keep_their_endings_and_odd_separators():
    """Mixed endings stay mixed; form feeds and Unicode separators end no line."""
    text = "a\r\nb\rc\nd\u2028e\x0cf\x85\nlast"

    assert patched(text, update("@@", " c", "-d\u2028e\x0cf\x85", "+x")) == "a\r\nb\rc\nx\nlast"


def test_where_endings_are_mixed_added_lines_take_the_most_frequent_one():
    """Not that of the line they replace."""
    text = "one\r\ntwo\nthree\r\nfour\r\n"

    assert patched(text, update("@@", "-two", "+2", "+more")) == "one\r\n2\r\nmore\r\nthree\r\nfour\r\n"


def test_a_diff_that_shows_the_files_own_endings_means_those_of_its_added_lines():
    """So a change of endings can be applied, and a diff of a file with mixed ones."""
    assert patched("a\r\nb\r\n", diff("@@ -1,2 +1,2 @@", "-a\r", "+a", " b\r")) == "a\nb\r\n"
    assert patched("a\nb\r\nc\r\n", diff("@@ -1,3 +1,4 @@", " a", "+x", " b\r", " c\r")) == "a\nx\nb\r\nc\r\n"
    assert patched("a\nb\n", diff("@@ -1,2 +1,3 @@", " a", "+x\r", " b")) == "a\nx\r\nb\n"


def test_a_diff_that_lost_the_endings_gets_them_back():
    """It was made from the file, and its carriage returns fell off on the way."""
    assert patched("a\r\nb\r\n", diff("@@ -1,2 +1,3 @@", " a", "+x", " b")) == "a\r\nx\r\nb\r\n"
