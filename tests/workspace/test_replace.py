"""Replacing files: all together or none, with what was there before put back."""

import os

import pytest

from agi.errors import Conflict
from agi.workspace import replace
from agi.workspace.digests import digest
from agi.workspace.handle import Change, Workspace
from agi.workspace.replace import Replacement, commit_all
from agi.workspace.targets import Target


@pytest.fixture
def folder(tmp_path):
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def target(folder, name):
    try:
        before = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        before = None
    return Target(folder, (), name, name, before)


class FailsToCommit(Replacement):
    """A change whose last step fails, as on a dying disk."""

    def commit(self):
        raise OSError(5, "I/O error")


def test_a_failing_commit_undoes_those_before_it(folder, tmp_path):
    """New, changed and deleted files and a deleted link are all as they were, modes included."""
    (tmp_path / "changed").write_text("old")
    os.chmod(tmp_path / "changed", 0o750)
    (tmp_path / "deleted").write_text("kept")
    (tmp_path / "link").symlink_to("changed")
    changes = [Change("new", b"1"), Change("changed", b"2"), Change("deleted", None), Change("link", None)]
    replacements = [Replacement(target(folder, change.path), change) for change in changes]

    with pytest.raises(OSError, match="I/O error"):
        commit_all([*replacements, FailsToCommit(target(folder, "x"), Change("x", b""))])

    assert sorted(os.listdir(tmp_path)) == ["changed", "deleted", "link"]
    assert ((tmp_path / "changed").read_text(), (tmp_path / "deleted").read_text()) == ("old", "kept")
    assert os.stat(tmp_path / "changed").st_mode & 0o777 == 0o750
    assert os.readlink(tmp_path / "link") == "changed"


def test_what_is_put_back_is_the_very_same_file(folder, tmp_path):
    """Its other names, times and attributes come back with it."""
    (tmp_path / "f").write_text("old")
    os.link(tmp_path / "f", tmp_path / "other name")
    before = (tmp_path / "f").stat()

    with pytest.raises(OSError, match="I/O error"):
        commit_all(
            [
                Replacement(target(folder, "f"), Change("f", b"new")),
                FailsToCommit(target(folder, "x"), Change("x", b"")),
            ]
        )

    after = (tmp_path / "f").stat()
    assert (after.st_ino, after.st_nlink, after.st_mtime_ns) == (before.st_ino, 2, before.st_mtime_ns)


def test_a_hard_link_is_replaced_and_not_written_through(tmp_path):
    """The other name keeps the old content."""
    (tmp_path / "f").write_text("old")
    os.link(tmp_path / "f", tmp_path / "other")
    with Workspace.open(tmp_path) as workspace:
        workspace.write_bytes("f", b"new")

    assert ((tmp_path / "f").read_text(), (tmp_path / "other").read_text()) == ("new", "old")


@pytest.mark.parametrize("swap", [True, False])
def test_what_is_not_as_expected_is_not_replaced(tmp_path, monkeypatch, swap):
    """Another content, something where nothing was, nothing where something was; nor are the others."""
    if not swap:
        monkeypatch.setattr(replace, "exchange", lambda *_: False)
    (tmp_path / "f").write_text("theirs")
    (tmp_path / "g").write_text("g")
    good = Change("g", b"G", None, digest(b"g"))
    with Workspace.open(tmp_path) as workspace:
        for change in (
            Change("f", b"x", None, digest(b"ours")),
            Change("f", b"x", None, None),
            Change("f", None, None, digest(b"ours")),
            Change("n", b"x", None, digest(b"ours")),
        ):
            for changes in ([good, change], [change, good]):
                with pytest.raises(Conflict) as caught:
                    workspace.replace_all(changes)
                assert caught.value.code == "file_changed"
        workspace.replace_all([good, Change("f", b"x", None, digest(b"theirs")), Change("n/n", b"n", None, None)])

    assert sorted(os.listdir(tmp_path)) == ["f", "g", "n"]
    assert ((tmp_path / "f").read_text(), (tmp_path / "g").read_text()) == ("x", "G")


@pytest.mark.parametrize("swap", [True, False])
def test_what_was_displaced_is_looked_at_after_the_swap(folder, tmp_path, monkeypatch, swap):
    """Whoever wrote between the last look and the rename gets their version back."""
    if not swap:
        monkeypatch.setattr(replace, "exchange", lambda *_: False)

    class Late(Replacement):
        def commit(self):
            (tmp_path / "f").write_text("theirs")
            super().commit()

    for data in (b"ours", None):
        (tmp_path / "f").write_text("old")
        with pytest.raises(Conflict, match="by someone else"):
            commit_all([Late(target(folder, "f"), Change("f", data, None, digest(b"old")))])
        assert (tmp_path / "f").read_text() == "theirs"
    assert os.listdir(tmp_path) == ["f"]


def test_a_folder_that_took_a_files_place_is_not_replaced(folder, tmp_path):
    """Even if nobody said what is expected."""
    (tmp_path / "f").write_text("old")
    replacement = Replacement(target(folder, "f"), Change("f", b"new"))
    (tmp_path / "f").unlink()
    (tmp_path / "f").mkdir()

    with pytest.raises((Conflict, OSError)):
        commit_all([replacement])

    assert (tmp_path / "f").is_dir()
    assert os.listdir(tmp_path) == ["f"]


def test_folders_made_for_a_change_that_failed_are_taken_away(tmp_path):
    """Those that were there stay."""
    (tmp_path / "there").mkdir()
    with Workspace.open(tmp_path) as workspace, pytest.raises(Conflict):
        workspace.replace_all([Change("there/a/b/f", b"x"), Change("c/f", b"x", None, digest(b"y"))])

    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["there"]


def test_attributes_are_kept(tmp_path):
    """Where the file system has them."""
    (tmp_path / "f").write_text("old")
    try:
        os.setxattr(tmp_path / "f", "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    with Workspace.open(tmp_path) as workspace:
        workspace.write_bytes("f", b"new")

    assert os.getxattr(tmp_path / "f", "user.note") == b"kept"


def test_a_failing_stage_leaves_no_temporary_file(tmp_path):
    """When a folder vanishes between the check and the write, what was staged elsewhere is taken away."""
    (tmp_path / "gone").mkdir()
    gone = os.open(tmp_path / "gone", os.O_RDONLY | os.O_DIRECTORY)
    here = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    (tmp_path / "gone").rmdir()
    try:
        with pytest.raises(FileNotFoundError):
            commit_all(
                [Replacement(target(here, "a"), Change("a", b"")), Replacement(target(gone, "b"), Change("b", b""))]
            )
    finally:
        os.close(gone)
        os.close(here)

    assert os.listdir(tmp_path) == []


def test_a_file_larger_than_a_piece_is_written_whole(tmp_path):
    """Long content arrives complete."""
    data = os.urandom(3 * 1024 * 1024 + 17)
    with Workspace.open(tmp_path) as workspace:
        workspace.write_bytes("big", data)

    assert (tmp_path / "big").read_bytes() == data
