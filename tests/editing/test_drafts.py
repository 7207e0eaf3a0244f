"""A change worked out in memory."""

import hashlib
import os

import pytest

from agi.editing.drafts import Draft
from agi.editing.reports import diff, told
from agi.editing.seen import Seen
from agi.errors import AgiError, Conflict, Invalid, NotFound, TooLarge
from agi.workspace.digests import digest, link_digest
from agi.workspace.handle import READ_LIMIT, Change


def envelope(*lines):
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def test_later_sections_see_what_earlier_ones_did(folder):
    """Also by another name of the same file; and nothing is written meanwhile."""
    folder.write("a", "1\n2\n")
    (folder.root / "link").symlink_to("a")

    draft = folder.draft(envelope("*** Update File: a", "-1", "+one", "*** Update File: link", " one", "-2", "+two"))

    assert draft.changes() == [Change("a", b"one\ntwo\n", 0o644, digest(b"1\n2\n"))]
    assert folder.tree()["a"] == b"1\n2\n"


def test_a_file_that_was_added_can_be_changed_moved_and_deleted(folder):
    """The draft is a small file system of its own."""
    draft = folder.draft(
        envelope(
            *("*** Add File: a", "+x", "*** Update File: a", "*** Move to: b", "-x", "+y"),
            *("*** Add File: c", "+z", "*** Delete File: c"),
        )
    )

    assert draft.changes() == [Change("b", b"y\n", None, None)]


def test_a_moved_file_keeps_its_mode_and_is_told_as_moved(folder):
    """The diff is a rename, not a deletion and an addition."""
    folder.write("run.sh", "#!/bin/sh\n", 0o755)

    draft = folder.draft(envelope("*** Update File: run.sh", "*** Move to: bin/run"))

    before = digest(b"#!/bin/sh\n")
    assert draft.changes() == [Change("run.sh", None, None, before), Change("bin/run", b"#!/bin/sh\n", 0o755, None)]
    assert [one.text() for one in told(draft)] == ["R bin/run"]
    assert diff(draft) == "diff --git a/run.sh b/bin/run\nrename from run.sh\nrename to bin/run\n"


def test_what_changes_nothing_is_no_change(folder):
    """A move onto itself, and a file that already is as wanted."""
    folder.write("a", "x\n")

    draft = folder.draft(envelope("*** Add File: a", "+x", "*** Update File: a", "*** Move to: a"))

    assert (draft.changes(), diff(draft)) == ([], "")


def test_a_file_that_is_not_there_cannot_be_updated_or_deleted(folder):
    """Nor one that an earlier section deleted."""
    folder.write("a", "x\n")
    for lines in (["*** Delete File: b"], ["*** Delete File: a", "*** Update File: a", "-x"]):
        with pytest.raises(NotFound):
            folder.draft(envelope(*lines))


def test_a_file_that_is_no_text_can_be_deleted_and_moved_but_not_edited(folder):
    """Bytes are carried along unread; an edit is refused with the offset."""
    folder.write("bin", b"ab\xff\0")

    moved = folder.draft(envelope("*** Update File: bin", "*** Move to: dir/bin"))

    assert moved.changes()[1].data == b"ab\xff\0"
    assert "Binary files differ" in diff(folder.draft(envelope("*** Delete File: bin")))
    with pytest.raises(Invalid, match="at offset 2"):
        folder.draft(envelope("*** Update File: bin", "-ab"))


def test_a_file_too_large_to_read_whole_is_neither_edited_nor_moved(folder):
    """Or its end would be lost; it may be deleted."""
    with folder.write("big", "").open("wb") as file:
        file.truncate(READ_LIMIT + 1)

    assert [one.text() for one in told(folder.draft(envelope("*** Delete File: big")))] == ["D big"]
    for lines in (["-x"], ["*** Move to: other"]):
        with pytest.raises(TooLarge):
            folder.draft(envelope("*** Update File: big", *lines))


def test_a_link_is_followed_to_be_changed_and_itself_deleted(folder):
    """It cannot be moved: would it be the link that moves, or the file?"""
    folder.write("a", "x\n")
    (folder.root / "link").symlink_to("a")
    (folder.root / "nowhere").symlink_to("gone")

    assert [change.path for change in folder.draft(envelope("*** Update File: link", "-x", "+y")).changes()] == ["a"]
    deleted = folder.draft(envelope("*** Delete File: link", "*** Delete File: nowhere")).changes()
    assert deleted == [Change("link", None, None, link_digest("a")), Change("nowhere", None, None, link_digest("gone"))]
    with pytest.raises(AgiError, match="is a link"):
        folder.draft(envelope("*** Update File: link", "*** Move to: b"))


def test_a_file_cannot_be_the_folder_of_another(folder):
    """It is seen before anything is written."""
    with pytest.raises(Invalid, match="a file and a folder"):
        folder.draft(envelope("*** Add File: a", "+x", "*** Add File: a/b/c", "+y"))


def test_everything_that_does_not_fit_is_told_at_once(folder):
    """So that one more attempt is enough."""
    folder.write("a", "x\n")

    with pytest.raises(Conflict) as caught:
        folder.draft(envelope("*** Update File: a", "-1", "*** Delete File: gone", "*** Update File: a", "-2"))

    assert "'gone' does not exist" in caught.value.message
    assert caught.value.message.count("could not be applied") == 2


def test_a_change_is_named_by_what_it_finds_and_what_it_leaves(folder):
    """The same patch on other files is another change."""
    folder.write("a", "1\n2\n")
    patch = envelope("*** Update File: a", "-1", "+one")
    first = folder.draft(patch).digest()

    assert folder.draft(patch).digest() == first
    folder.write("a", "1\n3\n")
    assert folder.draft(patch).digest() != first
    assert Draft(folder.workspace).digest() != first


def test_what_the_session_was_shown_last_is_neither_deleted_nor_overwritten_when_it_changed(folder):
    """The answer shows how it begins now; what it never saw may be deleted."""
    folder.write("a", "new\n")
    folder.write("b", "new\n")
    seen = Seen()
    seen.note("a", digest(b"old\n"))
    for lines in (["*** Delete File: a"], ["*** Add File: a", "+x"], ["*** Update File: b", "*** Move to: a"]):
        with pytest.raises(Conflict, match="changed since you last read it") as caught:
            folder.draft(envelope(*lines), seen)
        assert "1| new" in caught.value.message
        assert caught.value.code == "file_changed"

    assert folder.draft(envelope("*** Delete File: b", "*** Update File: a", "-new", "+newer"), seen).changes()


def test_a_move_onto_another_file_replaces_it_and_shows_what_is_lost(folder):
    """Unless the session knows it as it was before."""
    folder.write("a", "mine\n")
    folder.write("b", "theirs\n")
    patch = envelope("*** Update File: a", "*** Move to: b")
    seen = Seen()

    for draft in (folder.draft(patch, seen), folder.draft(patch)):
        assert [one.text() for one in told(draft)] == ["R b (replaced an existing file)"]
        assert "-theirs\n+mine\n" in diff(draft)
        assert "deleted file" in diff(draft)
    seen.note("b", digest(b"older\n"))
    with pytest.raises(Conflict):
        folder.draft(patch, seen)


def test_an_added_file_that_was_there_is_said_to_be_replaced(folder):
    """With its old lines in the diff; one that is the same already, or was deleted before, is not."""
    folder.write("a", "old\n")

    draft = folder.draft(envelope("*** Add File: a", "+new", "*** Add File: b", "+new"), Seen())

    assert [one.text() for one in told(draft)] == ["M a (replaced an existing file)", "A b"]
    assert "-old\n+new\n" in diff(draft)
    assert told(folder.draft(envelope("*** Add File: a", "+old"))) == []


def test_what_no_text_can_be_written_over_is_not_added_over_either(folder):
    """Bytes that cannot be decoded are refused; to have them gone, they are deleted."""
    folder.write("a", b"\xff\0")

    with pytest.raises(Invalid, match="at offset 0"):
        folder.draft(envelope("*** Add File: a", "+new"))
    assert folder.draft(envelope("*** Delete File: a", "*** Add File: a", "+new")).changes()[0].data == b"new\n"


def test_a_patch_of_a_file_that_changed_since_it_was_read_says_so(folder):
    """It fits all the same; a second section of it is not taken for someone else's change."""
    folder.write("a", "1\n2\ntheirs\n")
    patch = envelope("*** Update File: a", "-1", "+one", "*** Update File: a", "-2", "+two")
    seen = Seen()
    for known, text in ((b"1\n2\ntheirs\n", "M a"), (b"1\n2\n", "M a (changed since you last read it)")):
        seen.note("a", digest(known))
        assert [one.text() for one in told(folder.draft(patch, seen))] == [text]


def test_git_s_name_of_the_content_after_proves_that_a_diff_was_applied(folder):
    """Also where nothing but a line number says where its lines go."""
    folder.write("a", "1\nnew\n2\n")
    head = "diff --git a/a b/a\nindex 1191247..{} 100644\n--- a/a\n+++ b/a\n@@ -1,0 +2 @@\n+new\n"
    name = hashlib.sha1(b"blob 8\x001\nnew\n2\n").hexdigest()[:7]

    assert [one.text() for one in told(folder.draft(head.format(name)))] == ["= a (already applied)"]
    with pytest.raises(Conflict):
        folder.draft(head.format("1234567"))


def test_the_charset_of_the_project_counts_where_a_file_says_nothing(folder):
    """What was refused is then read and written in it."""
    folder.write("old.txt", b"\xe9\nx\n")
    patch = envelope("*** Update File: old.txt", "-x", "+ü")
    with pytest.raises(Invalid):
        folder.draft(patch)
    folder.write(".editorconfig", "root = true\n[*.txt]\ncharset = latin1\n")

    assert folder.draft(patch).changes()[0].data == b"\xe9\n\xfc\n"


def test_places_off_limits_are_refused_before_anything_is_written(folder):
    """By the workspace, whatever the section."""
    os.mkfifo(folder.root / "pipe")
    for lines in (["*** Add File: ../x", "+x"], ["*** Update File: pipe", "-x"], ["*** Delete File: /etc/passwd"]):
        with pytest.raises(AgiError):
            folder.draft(envelope(*lines))
