"""A patch worked out in memory."""

import pytest

from agi.errors import NotFound, TooLarge
from agi.tools.patch_draft import Draft
from agi.tools.patch_envelope import parse_envelope
from agi.workspace.handle import READ_LIMIT, Change


def draft(desk, *lines):
    """Work the sections of a patch out."""
    worked_out = Draft(desk.workspace)
    for section in parse_envelope("\n".join(["*** Begin Patch", *lines, "*** End Patch"])):
        worked_out.take(section)
    return worked_out


def test_later_sections_see_what_earlier_ones_did(desk):
    """Also by another name of the same file; and nothing is written meanwhile."""
    desk.write("a", "1\n2\n")
    (desk.root / "link").symlink_to("a")

    worked_out = draft(desk, "*** Update File: a", "-1", "+one", "*** Update File: link", " one", "-2", "+two")

    assert worked_out.changes() == [Change("a", b"one\ntwo\n", 0o644)]
    assert desk.tree()["a"] == b"1\n2\n"


def test_a_file_that_was_added_can_be_changed_moved_and_deleted(desk):
    """The draft is a small file system of its own."""
    worked_out = draft(
        desk,
        "*** Add File: a",
        "+x",
        "*** Update File: a",
        "*** Move to: b",
        "-x",
        "+y",
        "*** Add File: c",
        "+z",
        "*** Delete File: c",
    )

    assert worked_out.changes() == [Change("b", b"y\n", None)]


def test_a_moved_file_keeps_its_mode_and_is_described_as_moved(desk):
    """The diff is a rename, not a deletion and an addition."""
    desk.write("run.sh", "#!/bin/sh\n").chmod(0o755)

    worked_out = draft(desk, "*** Update File: run.sh", "*** Move to: bin/run")

    assert worked_out.changes() == [Change("run.sh", None, 0o755), Change("bin/run", b"#!/bin/sh\n", 0o755)]
    assert worked_out.described() == [("R", "bin/run")]
    assert worked_out.diff() == "diff --git a/run.sh b/bin/run\nrename from run.sh\nrename to bin/run\n"


def test_what_changes_nothing_is_no_change(desk):
    """A move onto itself, and a file that already is as wanted."""
    desk.write("a", "x\n")

    worked_out = draft(desk, "*** Add File: a", "+x", "*** Update File: a", "*** Move to: a")

    assert (worked_out.changes(), worked_out.diff()) == ([], "")


def test_a_file_that_is_not_there_cannot_be_updated_or_deleted(desk):
    """Nor one that an earlier section deleted."""
    desk.write("a", "x\n")
    for lines in (["*** Delete File: b"], ["*** Delete File: a", "*** Update File: a", "-x"]):
        with pytest.raises(NotFound):
            draft(desk, *lines)


def test_a_file_that_is_no_text_can_be_deleted_and_moved_but_not_edited(desk):
    """Bytes are carried along unread."""
    desk.write("bin", b"\xff\0")

    moved = draft(desk, "*** Update File: bin", "*** Move to: dir/bin")

    assert moved.changes()[1] == Change("dir/bin", b"\xff\0", 0o644)
    assert "Binary files differ" in draft(desk, "*** Delete File: bin").diff()


def test_a_file_too_large_to_patch_says_so(desk):
    """It may still be deleted."""
    with desk.write("big", "").open("wb") as file:
        file.truncate(READ_LIMIT + 1)

    assert draft(desk, "*** Delete File: big").described() == [("D", "big")]
    with pytest.raises(TooLarge):
        draft(desk, "*** Update File: big", "-x")
