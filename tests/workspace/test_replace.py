"""Replacing files: all together or none, with what was there before put back."""

import os

import pytest

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
