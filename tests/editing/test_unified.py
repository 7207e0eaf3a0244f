"""Unified diffs, read."""

import pytest

from agi.editing.patches import FileDiff, Hunk, Line
from agi.editing.unified import is_unified, parse_unified
from agi.errors import Invalid

NAMES = ["--- a/f", "+++ b/f"]


def parse(*lines):
    return parse_unified(list(lines), lambda _: True)


def hunks(*lines):
    (diff,) = parse(*NAMES, *lines)
    return diff.hunks


def marks(hunk):
    return [line.mark + line.text for line in hunk.lines]


def test_a_diff_names_a_file_and_its_hunks():
    """Numbers and lines, as they stand."""
    assert parse(*NAMES, "@@ -1,2 +1,3 @@ def f():", " a", "-b", "+c", "+d") == (
        FileDiff(
            old="f",
            new="f",
            hunks=(
                Hunk(
                    (),
                    (Line(" ", "a"), Line("-", "b"), Line("+", "c"), Line("+", "d")),
                    start=1,
                    new_start=1,
                    counted=True,
                ),
            ),
        ),
    )


def test_right_sizes_say_which_lines_belong_to_a_hunk():
    """A removed line that looks like a name, and a signature behind the last one."""
    (hunk,) = hunks("@@ -1,2 +1,2 @@", " a", "--- b", "+++ c", "-- ", "2.39.5")

    assert (marks(hunk), hunk.counted) == ([" a", "--- b", "+++ c"], True)


def test_wrong_sizes_are_not_trusted():
    """The lines say where a hunk ends; its numbers say nothing any more."""
    for header in ("@@ -1,9 +1,9 @@", "@@ -1,1 +1,1 @@", "@@ -1 +1,2 @@"):
        first, second = hunks(header, " a", "-b", "+c", " d", "@@ -9 +9 @@", "-x", "+y")
        assert (marks(first), first.counted, second.counted) == ([" a", "-b", "+c", " d"], False, True)


def test_lines_after_a_blank_one_still_belong_to_a_hunk_that_is_told_too_short():
    """Nothing is dropped silently."""
    (hunk,) = hunks("@@ -1,1 +1,1 @@", "-a", "+b", "", "+c", "-d")

    assert marks(hunk) == ["-a", "+b", " ", "+c", "-d"]


def test_a_hunk_may_have_no_numbers_or_name_a_line_instead():
    """As models write them."""
    first, second, third = hunks("@@", "-a", "@@ def f():", "-b", "@@ ... @@", "-c")

    assert [hunk.anchors for hunk in (first, second, third)] == [(), ("def f():",), ()]
    assert first.start is None


def test_an_empty_line_is_an_empty_kept_line():
    """Its blank got lost on the way; where the sizes are right it counts, else it may be mere spacing."""
    assert [line.bare for line in hunks("@@ -1,2 +1,1 @@", "-a", "")[0].lines] == [False, False]
    assert [line.bare for line in hunks("@@", "-a", "")[0].lines] == [False, True]


def test_endings_are_read_per_line_unless_the_whole_patch_has_them():
    """A diff of a file with CRLF shows them; a patch that travelled as CRLF does not mean them."""
    (mixed,) = hunks("@@ -1,2 +1,2 @@", " a\r", "-b", "+c\r")
    assert [line.carriage for line in mixed.lines] == [True, False, True]

    (diff,) = parse(*(line + "\r" for line in [*NAMES, "@@ -1,2 +1,2 @@", " a", "-b", "+c"]))
    assert [line.carriage for line in diff.hunks[0].lines] == [False] * 3
    assert diff.new == "f"


def test_a_lone_carriage_return_ends_a_kept_line():
    """The file has two lines where the diff shows one."""
    (hunk,) = hunks("@@ -1 +1 @@", "-a\rb", "+c")

    assert marks(hunk) == ["-a", "-b", "+c"]


def test_a_missing_newline_is_noted_where_it_is_said():
    """For the old last line, the new one, or both."""
    (hunk,) = hunks("@@ -1 +1 @@", "-a", "\\ No newline at end of file", "+a")

    assert [line.ends for line in hunk.lines] == [False, True]
    assert hunk.counted


def test_what_stands_between_files_is_passed_over():
    """A series of mails: messages, statistics, signatures."""
    diffs = parse(
        *("From 1234 Mon Sep 17 00:00:00 2001", "Subject: x", "", "- a list", " f | 2 +-", "---", ""),
        *(
            "diff --git a/f b/f",
            "index 1111111..2222222 100644",
            *NAMES,
            "@@ -1 +1 @@",
            "-a",
            "+b",
            "-- ",
            "2.39.5",
            "",
        ),
        *(
            "From 5678",
            "",
            "+ not a line",
            "diff --git a/g b/g",
            "--- a/g",
            "+++ b/g",
            "@@ -1 +1 @@",
            "-c",
            "+d",
            "--",
            "2.1",
        ),
    )

    assert [(diff.new, marks(diff.hunks[0])) for diff in diffs] == [("f", ["-a", "+b"]), ("g", ["-c", "+d"])]
    assert (diffs[0].base, diffs[0].result) == ("1111111", "2222222")


def test_gits_headers_tell_more_than_names():
    """New and deleted files, renames, copies, permissions."""
    diffs = parse(
        *("diff --git a/n b/n", "new file mode 100755", "index 0000000..1111111"),
        *("diff --git a/d b/d", "deleted file mode 100644"),
        *("diff --git a/o b/p", "similarity index 100%", "rename from o", "rename to p"),
        *("diff --git a/o b/q", "copy from o", "copy to q"),
        *("diff --git a/m b/m", "old mode 100755", "new mode 100644"),
    )

    assert diffs == (
        FileDiff(old=None, new="n", mode=0o755, base="0000000", result="1111111"),
        FileDiff(old="d", new=None),
        FileDiff(old="o", new="p", moved=True),
        FileDiff(old="o", new="q", moved=True, copied=True),
        FileDiff(old="m", new="m", mode=0o644),
    )


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["diff --git a/f b/f", "Binary files a/f and b/f differ"], "only plain changes"),
        (["diff --git a/f b/f", "GIT binary patch", "literal 3"], "only plain changes"),
        (["diff --git a/f b/f", "new file mode 120000"], "link or a submodule"),
        (["diff --git a/f b/f", "new file mode 160000"], "link or a submodule"),
        (["@@ -1 +1 @@", "-a", "+b", *NAMES], "before the name"),
        ([*NAMES, "@@ -1 +1 @@"], "has no lines"),
        ([*NAMES, "@@", "", "@@", "-a"], "has no lines"),
        ([*NAMES, "@@ -1,3 +1,3 @@", "-a", "b", "+c"], "must begin with"),
        ([*NAMES, "@@", "+only added"], "does not say where"),
        ([*NAMES], "has no hunk"),
        (["diff --git a/f b/f"], "has no hunk"),
        (["diff --git what is this"], "which file"),
        ([*NAMES, "@@@ -1 -1 +1 @@@", "--a", "++b"], "only plain changes"),
    ],
)
def test_what_cannot_be_applied_is_refused(lines, says):
    """Never half of it."""
    with pytest.raises(Invalid, match=says) as caught:
        parse(*lines)

    assert caught.value.code == "patch_invalid"


def test_a_diff_is_known_by_its_names():
    """Anything else is none."""
    assert is_unified([*NAMES, "@@"])
    assert is_unified(["text", "diff --git a/f b/f"])
    assert not is_unified(["--- a/f", "", "+++ b/f"])
    assert not is_unified([])
