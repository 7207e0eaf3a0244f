"""What a change does, told."""

from agi.editing.reports import diff, told


def envelope(*lines):
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def test_each_file_has_a_letter_and_hunks_that_were_not_found_as_written_a_line(folder):
    """Added, modified, deleted, moved; exact hunks need no words."""
    folder.write("m", "a\nb  \n")
    folder.write("d", "x\n")
    folder.write("r", "x\n")

    draft = folder.draft(
        envelope(
            *("*** Add File: n", "+x", "*** Update File: m", "@@", "-a", "+A", "@@", "-b", "+B"),
            *("*** Delete File: d", "*** Update File: r", "*** Move to: s", "@@", "-x", "+y"),
        )
    )

    assert [one.text() for one in told(draft)] == [
        "A n",
        "M m\n  hunk 2 at line 2: ignoring trailing blanks",
        "D d",
        "R s",
    ]
    assert [one.facts()["change"] for one in told(draft)] == ["added", "modified", "deleted", "moved"]


def test_a_copy_is_told_as_one_and_shown_as_a_new_file(folder):
    """The file it was made from stays."""
    folder.write("a", "x\n")

    draft = folder.draft("diff --git a/a b/b\ncopy from a\ncopy to b\n")

    assert [one.text() for one in told(draft)] == ["C b"]
    assert "new file mode 100644" in diff(draft)
    assert [change.path for change in draft.changes()] == ["b"]


def test_what_cannot_be_shown_as_lines_is_said_to_differ(folder):
    """And a mark that comes or goes is shown."""
    folder.write("b", b"\xff\0")
    folder.write("m", b"\xef\xbb\xbfx\n")

    assert diff(folder.draft(envelope("*** Delete File: b"))) == "diff --git a/b b/b\nBinary files differ\n"
    assert "-\ufeffx\n" in diff(folder.draft(envelope("*** Delete File: m")))
