"""The patch envelope, read."""

import pytest

from agi.editing.envelope import parse_envelope
from agi.editing.patches import Add, Delete, Hunk, Line, Update
from agi.errors import Invalid


def parse(*lines):
    return parse_envelope(["*** Begin Patch", *lines, "*** End Patch"])


def test_a_patch_has_sections_for_files():
    """Add, delete, update and move, in the order they stand."""
    sections = parse(
        "*** Add File: new/a.txt",
        "+one",
        "+",
        "+three",
        "*** Delete File: b.txt",
        "*** Update File: c.txt",
        "*** Move to: d.txt",
        "@@ def f():",
        " kept",
        "-old",
        "+new",
        "@@",
        "+more",
        "*** End of File",
    )

    assert sections == (
        Add("new/a.txt", "one\n\nthree\n"),
        Delete("b.txt"),
        Update(
            "c.txt",
            (
                Hunk(("def f():",), (Line(" ", "kept"), Line("-", "old"), Line("+", "new"))),
                Hunk((), (Line("+", "more"),), at_end=True),
            ),
            "d.txt",
        ),
    )


def test_markers_may_be_padded_but_a_line_of_a_file_is_none():
    """An indented header is a header, unless it stands where a kept line of a file stands."""
    lines = [" *** Begin Patch ", "  *** Update File: a ", "@@", " *** Delete File: x", "-old", "*** Delete File: b "]

    assert parse_envelope([*lines, "*** End Patch  "]) == (
        Update("a", (Hunk((), (Line(" ", "*** Delete File: x"), Line("-", "old"))),)),
        Delete("b"),
    )


def test_the_first_hunk_needs_no_mark_and_marks_may_be_stacked():
    """Anchors gather until lines come; line numbers of unified diffs are not anchors."""
    (update,) = parse(
        "*** Update File: a",
        "-x",
        "+y",
        "@@ class A",
        "@@     def f():",
        "-z",
        "@@ -1,2 +3,4 @@ def g():",
        "-q",
        "@@ -1 +1 @@",
        "-r",
        "@@ ... @@",
        "-s",
        "@@ def h() @@",
        "-t",
    )

    anchors = [hunk.anchors for hunk in update.hunks]
    assert anchors == [(), ("class A", "    def f():"), ("def g():",), (), (), ("def h() ",)]


def test_an_empty_line_in_a_hunk_is_an_empty_kept_line():
    """Editors and models drop the blank that should stand there."""
    (update,) = parse("*** Update File: a", "@@", "-x", "", "-y", "")

    assert update.hunks[0].lines == (Line("-", "x"), Line(" ", "", True), Line("-", "y"), Line(" ", "", True))


def test_carriage_returns_are_the_files_business():
    """In a hunk they do not count; in a new file they are kept."""
    sections = parse("*** Update File: a\r", "@@ x\r", " a\rb\r", "-c\r", "+d\r", "*** Add File: b", "+e\r", "+\r")

    assert sections == (
        Update("a", (Hunk(("x",), (Line(" ", "a"), Line(" ", "b"), Line("-", "c"), Line("+", "d"))),)),
        Add("b", "e\r\n"),
    )


def test_a_last_plus_alone_ends_a_new_file_once():
    """It is how some write that the file ends with a newline; one empty line stays an empty line."""
    assert parse("*** Add File: a", "+x", "+") == (Add("a", "x\n"),)
    assert parse("*** Add File: a", "+") == (Add("a", "\n"),)
    assert parse("*** Add File: a") == (Add("a", ""),)
    assert parse("*** Add File: a", "+x", "", "*** Delete File: b") == (Add("a", "x\n"), Delete("b"))


def test_a_file_may_end_without_a_newline_if_it_is_said():
    """In the words of a unified diff, which some mix in."""
    assert parse("*** Add File: a", "+x", "\\ No newline at end of file") == (Add("a", "x"),)
    (update,) = parse("*** Update File: a", "-x", "\\ No newline at end of file", "+y")
    assert [line.ends for line in update.hunks[0].lines] == [False, True]


def test_the_names_of_a_unified_diff_may_be_repeated_in_a_section():
    """Where they name its file, they are no lines of it."""
    body = ["@@ -1 +1 @@", "-x", "+y"]

    assert parse("*** Update File: a/b", "--- a/a/b", "+++ b/a/b", *body) == parse("*** Update File: a/b", *body)
    (update,) = parse("*** Update File: a", "--- other", "+++ thing", *body)
    assert len(update.hunks) == 2


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([], "does not begin"),
        (["```", "```"], "does not begin"),
        (["*** Begin Patch", "*** End Patch"], "names no file"),
        (["*** Begin Patch", "", "", "*** End Patch"], "names no file"),
        (["*** Begin Patch", "*** Delete File: a"], "cut off"),
        (["*** Begin Patch"], "cut off"),
        (["*** Begin Patch", "*** Delete File: a", "*** End Patch", "Done!"], "cut off"),
        (["*** Begin Patch", "*** Frobnicate File: a", "*** End Patch"], "Expected"),
        (["*** Begin Patch", "*** Delete File:", "*** End Patch"], "names no file"),
        (["*** Begin Patch", "*** Delete File: a", "-x", "*** End Patch"], "Nothing may follow"),
        (["*** Begin Patch", "*** Add File: a", "x", "*** End Patch"], "must begin with '+'"),
        (["*** Begin Patch", "*** Add File: a", "+x", "", "+y", "*** End Patch"], "must begin with '+'"),
        (["*** Begin Patch", "*** Update File: a", "*** End Patch"], "changes nothing"),
        (["*** Begin Patch", "*** Update File: a", "*** Move to:", "*** End Patch"], "names no file"),
        (["*** Begin Patch", "*** Update File: a", "@@", "*** End Patch"], "has no lines"),
        (["*** Begin Patch", "*** Update File: a", "@@ x", "", "*** End of File", "*** End Patch"], "has no lines"),
        (["*** Begin Patch", "*** Update File: a", "@@", "-x", "@@", "*** End Patch"], "has no lines"),
        (["*** Begin Patch", "*** Update File: a", "@@", "x", "*** End Patch"], "must begin with"),
    ],
)
def test_a_patch_in_another_form_is_refused_and_told_why(lines, says):
    """Nothing is guessed, and the hint says how a patch looks."""
    with pytest.raises(Invalid, match=says.replace("+", r"\+")) as caught:
        parse_envelope(lines)

    assert caught.value.code == "patch_invalid"
    assert "*** Begin Patch" in caught.value.hint
