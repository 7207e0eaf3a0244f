"""Renames that lose nothing, by the kernel and without it."""

import os

import pytest

from agi.workspace import renaming
from agi.workspace.renaming import claim, exchange


@pytest.fixture
def folder(tmp_path):
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


@pytest.fixture(params=["kernel", "links", "neither"])
def way(request, monkeypatch):
    """With the kernel's renames, with hard links only, and on a file system that has not even these."""
    if request.param != "kernel":
        monkeypatch.setattr(renaming, "_system_call", lambda: None)
    if request.param == "neither":

        def no_links(*_, **__):
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "link", no_links)
    return request.param


def test_two_names_are_swapped_where_that_can_be_done(folder, tmp_path, way):
    """Else it is said, and nothing happens."""
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")

    swapped = exchange(folder, "a", "b")

    assert swapped == (way == "kernel")
    assert (tmp_path / "a").read_text() == ("b" if swapped else "a")


def test_a_name_is_taken_only_if_it_is_free(folder, tmp_path, way):
    """A file and a link alike."""
    (tmp_path / "staged").write_text("ours")
    (tmp_path / "taken").write_text("theirs")
    (tmp_path / "link").symlink_to("nowhere")

    for name in ("taken", "link"):
        with pytest.raises(FileExistsError):
            claim(folder, "staged", name)
    claim(folder, "staged", "free")

    assert (tmp_path / "free").read_text() == "ours"
    assert (tmp_path / "taken").read_text() == "theirs"
    assert not (tmp_path / "staged").exists()


def test_what_is_not_there_cannot_be_renamed(folder, way):
    """The system's own error."""
    with pytest.raises(FileNotFoundError):
        claim(folder, "nothing", "free")
    if way == "kernel":
        with pytest.raises(FileNotFoundError):
            exchange(folder, "nothing", "either")
