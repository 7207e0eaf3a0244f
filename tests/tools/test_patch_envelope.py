"""The patch envelope, read."""

import pytest

from agi.errors import Invalid
from agi.tools.patch_envelope import Add, Delete, Hunk, Line, Update, parse_envelope


def envelope(*lines):
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def test_a_patch_has_sections_for_files():
    """Add, delete, update and move, in the order they stand."""
    patch = envelope(
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

    assert parse_envelope(patch) == (
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


@pytest.mark.parametrize(
    "wrapped",
    [
        "\n\n  {}  \n\n",
        "```\n{}\n```",
        "```patch\n{}\n```\n",
        "<<'EOF'\n{}\nEOF",
        "apply_patch <<EOF\n{}\nEOF\n",
        'apply_patch <<-"PATCH" \n\n{}\nPATCH',
        "```sh\napply_patch <<'EOF'\n{}\nEOF\n```",
    ],
)
def test_what_is_wrapped_around_a_patch_is_taken_off(wrapped):
    """Blanks, fences and here-documents are no part of it."""
    assert parse_envelope(wrapped.format(envelope("*** Delete File: a"))) == (Delete("a"),)


def test_markers_may_be_padded_but_a_line_of_a_file_is_none():
    """An indented header is a header, unless it stands where a kept line of a file stands."""
    patch = (
        " *** Begin Patch \n  *** Update File: a \n@@\n *** Delete File: x\n-old\n*** Delete File: b \n*** End Patch  "
    )

    assert parse_envelope(patch) == (
        Update("a", (Hunk((), (Line(" ", "*** Delete File: x"), Line("-", "old"))),)),
        Delete("b"),
    )


def test_the_first_hunk_needs_no_mark_and_marks_may_be_stacked():
    """Anchors gather until lines come; line numbers of unified diffs are not anchors."""
    patch = envelope(
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
    )

    (update,) = parse_envelope(patch)

    assert [hunk.anchors for hunk in update.hunks] == [(), ("class A", "    def f():"), ("def g():",), ()]


def test_an_empty_line_in_a_hunk_is_an_empty_kept_line():
    """Editors and models drop the blank that should stand there."""
    (update,) = parse_envelope(envelope("*** Update File: a", "@@", "-x", "", "-y", ""))

    assert update.hunks[0].lines == (Line("-", "x"), Line(" ", "", True), Line("-", "y"), Line(" ", "", True))


def test_carriage_returns_are_the_files_business():
    """In a hunk they do not count; in a new file they are kept."""
    patch = envelope("*** Update File: a\r", "@@ x\r", " a\rb\r", "-c\r", "+d\r", "*** Add File: b", "+e\r", "+\r")

    assert parse_envelope(patch) == (
        Update("a", (Hunk(("x",), (Line(" ", "a"), Line(" ", "b"), Line("-", "c"), Line("+", "d"))),)),
        Add("b", "e\r\n"),
    )


def test_a_last_plus_alone_ends_a_new_file_once():
    """It is how some write that the file ends with a newline; one empty line stays an empty line."""
    assert parse_envelope(envelope("*** Add File: a", "+x", "+")) == (Add("a", "x\n"),)
    assert parse_envelope(envelope("*** Add File: a", "+")) == (Add("a", "\n"),)
    assert parse_envelope(envelope("*** Add File: a")) == (Add("a", ""),)
    assert parse_envelope(envelope("*** Add File: a", "+x", "", "*** Delete File: b")) == (Add("a", "x\n"), Delete("b"))


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        ("", "does not begin"),
        ("```\n```", "does not begin"),
        ("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n", "does not begin"),
        (envelope(), "names no file"),
        (envelope("", ""), "names no file"),
        ("*** Begin Patch\n*** Delete File: a", "cut off"),
        ("*** Begin Patch", "cut off"),
        (envelope("*** Delete File: a") + "\nDone!", "cut off"),
        (envelope("*** Frobnicate File: a"), "Expected"),
        (envelope("*** Delete File:"), "names no file"),
        (envelope("*** Delete File: a", "-x"), "Nothing may follow"),
        (envelope("*** Add File: a", "x"), "must begin with '+'"),
        (envelope("*** Add File: a", "+x", "", "+y"), "must begin with '+'"),
        (envelope("*** Update File: a"), "changes nothing"),
        (envelope("*** Update File: a", "*** Move to:"), "names no file"),
        (envelope("*** Update File: a", "@@"), "has no lines"),
        (envelope("*** Update File: a", "@@ x", "", "*** End of File"), "has no lines"),
        (envelope("*** Update File: a", "@@", "-x", "@@"), "has no lines"),
        (envelope("*** Update File: a", "@@", "x"), "must begin with"),
    ],
)
def test_a_patch_in_another_form_is_refused_and_told_why(patch, says):
    """Nothing is guessed, and the hint says how a patch looks."""
    with pytest.raises(Invalid, match=says.replace("+", r"\+")) as caught:
        parse_envelope(patch)

    assert caught.value.code == "patch_invalid"
    assert "*** Begin Patch" in caught.value.hint
