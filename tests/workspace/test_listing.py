"""Listing folders: sorted, bounded, told apart by kind."""

import os

from agi.workspace.listing import Entry, Listing, list_folder, walk


def test_entries_are_told_apart_by_kind(tmp_path):
    """A link is a link, whatever it points to."""
    (tmp_path / "d").mkdir()
    (tmp_path / "f").write_text("12")
    (tmp_path / "l").symlink_to("d")
    os.mkfifo(tmp_path / "p")
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        listing = list_folder(fd, 10)
    finally:
        os.close(fd)

    assert [(entry.name, entry.kind) for entry in listing.entries] == [
        ("d", "directory"),
        ("f", "file"),
        ("l", "symlink"),
        ("p", "other"),
    ]
    assert listing.entries[1].size == 2


def test_a_walk_stops_soon_after_its_limit():
    """Folders beyond the limit are not even listed."""
    listed = []

    def list_one(folder):
        listed.append(folder)
        return Listing((Entry("d", "directory", 0), Entry("e", "directory", 0)), False)

    found = walk(list_one, ".", depth=64, limit=6)

    assert len(found.entries) == 6
    assert found.truncated
    assert len(listed) == 4
