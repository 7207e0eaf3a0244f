"""Where a change of a path would land."""

import os

import pytest

from agi.errors import WorkspaceError
from agi.workspace.beneath import best_opener
from agi.workspace.targets import find_target, make_folders


@pytest.fixture
def open_place(tmp_path):
    root = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield lambda path, flags: best_opener()(root, path, flags)
    os.close(root)


def test_a_place_that_is_not_there_is_found_without_making_it(open_place, tmp_path):
    """The nearest folder that exists is held; the others are only named."""
    (tmp_path / "a").mkdir()

    target = find_target(open_place, ["a", "b", "c", "f"], follow=True)
    os.close(target.folder)

    assert (target.missing, target.name, target.location, target.before) == (("b", "c"), "f", "a/b/c/f", None)
    assert os.listdir(tmp_path / "a") == []


def test_missing_folders_are_made_when_told(open_place, tmp_path):
    """Also if someone else made one of them meanwhile."""
    target = find_target(open_place, ["a", "b", "f"], follow=True)
    (tmp_path / "a").mkdir()

    made = make_folders(target)
    os.close(target.folder)

    assert os.path.samestat(os.fstat(made.folder), (tmp_path / "a/b").stat())
    os.close(made.folder)


@pytest.mark.threat("T16")
def test_a_link_put_where_a_folder_was_to_be_made_is_not_followed(open_place, tmp_path):
    """Between looking and making, nobody can lead us elsewhere."""
    target = find_target(open_place, ["a", "f"], follow=True)
    (tmp_path / "a").symlink_to("/tmp")
    before = len(os.listdir("/proc/self/fd"))

    with pytest.raises(OSError):
        make_folders(target)

    assert len(os.listdir("/proc/self/fd")) == before
    os.close(target.folder)


def test_a_link_at_the_end_is_followed_only_if_asked(open_place, tmp_path):
    """A file is replaced where it is; a link is deleted where it stands."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d/f").write_text("x")
    (tmp_path / "link").symlink_to("d/f")

    followed = find_target(open_place, ["link"], follow=True)
    itself = find_target(open_place, ["link"], follow=False)
    os.close(followed.folder)
    os.close(itself.folder)

    assert (followed.location, itself.location) == ("d/f", "link")


def test_a_link_to_nothing_is_refused(open_place, tmp_path):
    """Its target is not made."""
    (tmp_path / "link").symlink_to("nothing")
    before = len(os.listdir("/proc/self/fd"))

    with pytest.raises(WorkspaceError, match="does not exist"):
        find_target(open_place, ["link"], follow=True)

    assert len(os.listdir("/proc/self/fd")) == before
