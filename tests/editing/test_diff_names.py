"""Names in unified diffs."""

import pytest

from agi.editing.diff_names import is_epoch, read_git_names, read_name
from agi.editing.unified import parse_unified
from agi.errors import Invalid


def files(there, *lines):
    """Which files a diff is about, given which are there."""
    diffs = parse_unified(list(lines), lambda name: name in there)
    return [(diff.old, diff.new) for diff in diffs]


def named(old, new):
    return [f"--- {old}", f"+++ {new}", "@@ -1 +1 @@", "-a", "+b"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a/f", "a/f"),
        ("a/f\t2024-01-01 10:00:00.123456789 +0100", "a/f"),
        ("a/f 2024-01-01 10:00:00 +0100", "a/f"),
        ("a/f\t(revision 3)", "a/f"),
        ("a/with blank\t", "a/with blank"),
        ('"a/t\\303\\244b\\t\\"\\\\"', 'a/täb\t"\\'),
        ("/dev/null", None),
        ("/dev/null\t1970-01-01", None),
        ("a/f\r", "a/f"),
    ],
)
def test_a_name_is_read_without_what_stands_behind_it(text, name):
    """Times, revisions, quotes."""
    assert read_name(text) == name


def test_the_beginning_of_time_says_that_there_is_no_file():
    """In any time zone."""
    assert is_epoch("f\t1970-01-01 00:00:00.000000000 +0000")
    assert is_epoch("f\t1969-12-31 19:00:00 -0500")
    assert is_epoch("f\t1970-01-01 05:30:00 +0530")
    assert not is_epoch("f\t1970-01-01 00:00:00 +0100")
    assert not is_epoch("f\t2024-99-01 00:00:00 +0000")
    assert not is_epoch("f")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a/f b/f", ("a/f", "b/f")),
        ("f f", ("f", "f")),
        ("a/x b/x b/x b/x", ("a/x b/x", "b/x b/x")),
        ('"a/\\303\\244" "b/\\303\\244"', ("a/ä", "b/ä")),
        ('a/f "b/\\303\\244"', ("a/f", "b/ä")),
        ("a/f b/g", None),
    ],
)
def test_gits_first_line_is_split_where_both_names_are_the_same(text, names):
    """Where they differ, other lines say them."""
    assert read_git_names(text) == names


def test_a_prefix_is_taken_off_where_the_files_are_there_without_it():
    """As `-p1`; else the names stand as they are, as `-p0`."""
    assert files({"f"}, *named("a/f", "b/f")) == [("f", "f")]
    assert files({"f"}, *named("orig/f", "new/f")) == [("f", "f")]
    assert files({"src/f"}, *named("src/f", "src/f")) == [("src/f", "src/f")]
    assert files({"f"}, *named("src/f", "src/f")) == [("f", "f")]
    assert files({"a/f"}, *named("a/f", "a/f")) == [("a/f", "a/f")]
    assert files(set(), *named("a/f", "b/f")) == [("f", "f")]
    assert files(set(), *named("f", "f")) == [("f", "f")]


def test_one_reading_holds_for_the_whole_patch():
    """A new file is named as the others are."""
    new = ["--- /dev/null", "+++ src/new", "@@ -0,0 +1 @@", "+a"]

    assert files({"src/f"}, *named("src/f", "src/f"), *new)[1] == (None, "src/new")
    assert files({"f"}, *named("a/f", "b/f"), "--- /dev/null", "+++ b/new", "@@ -0,0 +1 @@", "+a")[1] == (None, "new")
    assert files({"f"}, "--- a/f", "+++ /dev/null", "@@ -1 +0,0 @@", "-a") == [("f", None)]


def test_a_file_made_earlier_in_the_patch_counts_as_there():
    """A series of changes may add a file and change it again."""
    new = ["--- /dev/null", "+++ b/x/new", "@@ -0,0 +1 @@", "+a"]

    assert files(set(), *new, *named("a/x/new", "b/x/new")) == [(None, "x/new"), ("x/new", "x/new")]


def test_of_two_names_the_one_that_is_there_is_meant():
    """As for a copy kept beside the file; with both there, it cannot be told."""
    assert files({"f"}, *named("f.orig", "f")) == [("f", "f")]
    assert files({"f", "f.orig"}, *named("f.orig", "f")) == [("f", "f")]
    assert files({"old"}, *named("old", "new")) == [("old", "old")]
    with pytest.raises(Invalid, match="both are there"):
        files({"one", "two"}, *named("one", "two"))


def test_a_time_at_the_beginning_of_time_makes_or_removes_a_file():
    """As diff writes it with `-N`."""
    epoch = "1970-01-01 00:00:00.000000000 +0000"

    assert files(set(), f"--- f\t{epoch}", "+++ f\t2024-01-01 00:00:00 +0000", "@@ -0,0 +1 @@", "+a") == [(None, "f")]
    assert files({"f"}, "--- f\t2024-01-01 00:00:00 +0000", f"+++ f\t{epoch}", "@@ -1 +0,0 @@", "-a") == [("f", None)]
