"""A change in pieces: each can be made without the others, and all of them together are the change."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from agi.editing.changing import change_files
from agi.editing.drafts import Draft, State
from agi.editing.hunks import MOST_HUNKS, keep_only, pieces
from agi.errors import AgiError, Conflict

TEN = "".join(f"line {number}\n" for number in range(40))


def draft_of(folder, **files):
    """A draft in which files get new content; None deletes."""
    draft = Draft(folder.workspace)
    for name, content in files.items():
        draft.look(name)
        if content is None:
            draft.clear(name)
        else:
            draft.put(name, State(content if isinstance(content, bytes) else content.encode()))
    return draft


def carry_out(folder, draft, accepted):
    """Make what was accepted of a change."""

    def work(fresh):
        for place in draft.changed():
            after = draft.states(place)[1]
            fresh.look(place)
            fresh.clear(place) if after.data is None else fresh.put(place, after)

    return change_files(
        folder.workspace,
        draft.places(),
        work,
        approved=draft.digest(),
        narrow=lambda fresh: keep_only(fresh, accepted),
        notes=folder.notes,
    )


def test_changes_far_apart_are_hunks_of_their_own(folder):
    """Each with its place, its lines and a name."""
    folder.write("a", TEN)
    draft = draft_of(folder, a=TEN.replace("line 3\n", "three\n").replace("line 30\n", ""))

    hunks = [piece.hunk for piece in pieces(draft)]

    assert [(hunk.id, hunk.path, hunk.header) for hunk in hunks] == [
        ("h1", "a", "@@ -1,7 +1,7 @@"),
        ("h2", "a", "@@ -28,7 +28,6 @@"),
    ]
    assert "-line 3\n+three\n" in hunks[0].diff
    assert hunks[1].diff.endswith(" line 29\n-line 30\n line 31\n line 32\n line 33\n")


@pytest.mark.parametrize(
    ("accepted", "made"),
    [(["h1"], TEN.replace("line 3\n", "three\n")), (["h2"], TEN.replace("line 30\n", "")), ([], TEN)],
)
def test_only_what_was_accepted_is_made(folder, accepted, made):
    """The rest of the file stays as it is."""
    folder.write("a", TEN)
    draft = draft_of(folder, a=TEN.replace("line 3\n", "three\n").replace("line 30\n", ""))

    carry_out(folder, draft, accepted)

    assert folder.tree() == {"a": made.encode()}


@pytest.mark.parametrize(
    "written",
    [
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
        lambda text: b"# -*- coding: latin-1 -*-\n" + text.replace("line 9", "zw\xf6lf").encode("latin-1"),
        lambda text: text.rstrip("\n").encode(),
        lambda text: text.replace("line 20\n", "line 20\r\n").encode(),
    ],
    ids=["crlf", "bom", "utf-16", "latin-1", "no end", "mixed"],
)
def test_bytes_outside_of_accepted_hunks_are_kept(folder, written):
    """Line endings, marks, encodings, and a last line without an end."""
    both = TEN.replace("line 3\n", "three\n").replace("line 38\n", "38\n")
    folder.write("a", written(TEN))
    draft = draft_of(folder, a=written(both))
    assert len(pieces(draft)) == 2

    carry_out(folder, draft, ["h2"])

    assert folder.tree()["a"] == written(TEN.replace("line 38\n", "38\n"))


def test_new_and_deleted_files_and_what_is_no_text_are_one_hunk_each(folder):
    """They are made whole or not at all, and apart from each other."""
    folder.write("gone", TEN)
    folder.write("binary", b"\0" * 50)
    draft = draft_of(folder, new=TEN, gone=None, binary=b"\0" * 60)

    hunks = [piece.hunk for piece in pieces(draft)]
    carry_out(folder, draft, ["h1", "h3"])

    assert [(hunk.path, hunk.header) for hunk in hunks] == [
        ("new", "new file"),
        ("gone", "deleted"),
        ("binary", "whole file"),
    ]
    assert folder.tree() == {"new": TEN.encode(), "gone": TEN.encode(), "binary": b"\0" * 60}


def test_a_moved_file_is_one_hunk_with_its_changes(folder):
    """Half a move would lose a file, or leave two of them."""
    folder.write("a", TEN)
    folder.write("other", "x\n")
    update = ("*** Update File: a", "*** Move to: b", "@@", "-line 3", "+three")
    patch = "\n".join(["*** Begin Patch", *update, "*** Update File: other", "@@", "-x", "+y", "*** End Patch"])
    draft = folder.draft(patch)

    assert [(piece.hunk.path, piece.hunk.header) for piece in pieces(draft)] == [
        ("b", "moved from a"),
        ("other", "@@ -1,1 +1,1 @@"),
    ]
    folder.apply(patch, narrow=lambda draft: keep_only(draft, ["h2"]))
    assert folder.tree() == {"a": TEN.encode(), "other": b"y\n"}


def test_files_that_change_places_are_one_hunk(folder):
    """Making one half would overwrite the other file."""
    folder.write("a", "of a\n")
    folder.write("b", "of b\n")
    swap = "".join(
        f"diff --git a/{old} b/{new}\nsimilarity index 100%\nrename from {old}\nrename to {new}\n"
        for old, new in ("ab", "ba")
    )

    (piece,) = pieces(folder.draft(swap))
    folder.apply(swap, narrow=lambda draft: keep_only(draft, ["h1"]))

    assert set(piece.places) == {"a", "b"}
    assert folder.tree() == {"a": b"of b\n", "b": b"of a\n"}


def test_permissions_and_lines_of_a_file_go_together(folder):
    """A file that may be run from now on is not taken apart."""
    folder.write("run", TEN)
    head = "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n--- a/run\n+++ b/run\n"
    patch = f"{head}@@ -1,2 +1,2 @@\n-line 0\n+0\n line 1\n"

    (piece,) = pieces(folder.draft(patch))

    assert piece.hunk.header == "whole file"
    assert "new mode 100755" in piece.hunk.diff


def test_a_file_moved_onto_another_is_one_piece_that_shows_what_is_lost(folder):
    """Under its new name."""
    folder.write("a", "mine\n")
    folder.write("b", "theirs\n")

    (piece,) = pieces(folder.draft("*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch"))

    assert (piece.hunk.path, piece.hunk.header) == ("b", "moved from a")
    assert "-theirs\n+mine\n" in piece.hunk.diff


def test_hunks_that_are_not_there_change_nothing(folder):
    """Whoever names them saw another change."""
    folder.write("a", TEN)
    draft = draft_of(folder, a="")

    with pytest.raises(Conflict):
        carry_out(folder, draft, ["h1", "h9"])
    assert folder.tree() == {"a": TEN.encode()}


def test_a_change_in_more_pieces_than_anyone_looks_at_is_made_whole(folder):
    """It is not offered in pieces at all, rather than in some of them."""
    many = "".join(f"{number}\n" for number in range(10 * (MOST_HUNKS + 1)))
    folder.write("a", many)
    few = "".join("x\n" if line.endswith("5") else f"{line}\n" for line in many.splitlines())
    folder.write("b", "x" * 70_000)

    assert pieces(draft_of(folder, a=few)) == []
    assert pieces(draft_of(folder, b="y" * 70_000)) == []


def test_any_part_of_a_change_is_what_its_diff_says(folder):
    """Random texts: accepted hunks leave what the same hunks leave when they are applied as a patch."""
    chance = random.Random(7)
    compared = 0
    for _ in range(300):
        old = [chance.choice("abcdefgh") * chance.randint(1, 3) for _ in range(chance.randint(0, 60))]
        new = list(old)
        for _ in range(chance.randint(1, 5)):
            at = chance.randint(0, len(new))
            new[at : at + chance.randint(0, 2)] = [chance.choice("abcd")] * chance.randint(0, 2)
        for name in "ab":
            folder.write(name, "".join(f"{line}\n" for line in old))
        draft = draft_of(folder, a="".join(f"{line}\n" for line in new))
        accepted = [piece.hunk for piece in pieces(draft) if chance.random() < 0.6]

        carry_out(folder, draft, [hunk.id for hunk in accepted])
        with suppress(AgiError):  # equal places; a patch does not say which is meant
            folder.apply("--- a/b\n+++ b/b\n" + "".join(hunk.diff for hunk in accepted))
            assert folder.tree()["a"] == folder.tree()["b"]
            compared += bool(accepted)
    assert compared > 150
