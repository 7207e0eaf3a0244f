"""A workspace's folder, held open."""

import os

import pytest

from agi.errors import Invalid, WorkspaceError
from agi.workspace.handle import Workspace
from agi.workspace.opening import open_root


def test_a_folder_is_held_open_under_the_name_it_was_given_and_the_one_it_has(tmp_path):
    """Links are followed once, at the opening; tools may use either name."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    opened = open_root(tmp_path / "link")

    assert (opened.root, opened.given) == ((tmp_path / "real").resolve(), str(tmp_path / "link"))
    assert os.path.samestat(os.fstat(opened.fd), os.stat(tmp_path / "real"))
    opened.close()


def test_what_cannot_be_worked_in_is_refused(tmp_path):
    """A name with nothing behind it, a file, and text that is no path."""
    (tmp_path / "file").write_text("")
    found = []
    for path in (tmp_path / "nowhere", tmp_path / "file", f"{tmp_path}/a\0b"):
        with pytest.raises(Invalid) as caught:
            open_root(path)
        found.append(caught.value.code)

    assert found == ["workspace_missing", "workspace_not_a_directory", "workspace_missing"]


def test_who_closes_the_folder_closes_it_for_every_handle(tmp_path):
    """Its number may be another file's by then: a handle that was left over reads nothing through it."""
    (tmp_path / "notes.txt").write_text("mine")
    opened = open_root(tmp_path)
    left_over = Workspace(opened)
    number = opened.fd

    opened.close()
    opened.close()
    with open(tmp_path / "notes.txt") as other:
        assert other.fileno() == number  # as expected of a number that is free

        with pytest.raises(WorkspaceError) as caught:
            left_over.read_bytes("notes.txt")

    assert caught.value.code == "workspace_closed"
