"""Walking without what is ignored."""

import os
import threading

import pytest

from agi.errors import AgiError
from agi.workspace.handle import Workspace
from agi.workspace.walking import rules_above, walk_visible


@pytest.fixture
def folder(tmp_path):
    """A workspace, and a way to put files into it."""
    root = tmp_path / "outer" / "ws"
    root.mkdir(parents=True)

    def write(path, text=""):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    with Workspace.open(root) as workspace:
        workspace.write = write
        yield workspace


def names(listing):
    return [entry.name for entry in listing.entries]


def test_nearest_comes_first_and_skipped_folders_are_not_entered(folder):
    """Level by level, each by name."""
    for path in ("b/x/deep", "a", "b/y", "node_modules/m", ".git/HEAD", "Node_Modules/n"):
        folder.write(path)

    assert names(walk_visible(folder, limit=100)) == ["a", "b", "b/x", "b/y", "b/x/deep"]


def test_a_limit_and_a_depth_cut_off_what_is_deepest(folder):
    """And it is said."""
    for path in ("a", "b/c/d"):
        folder.write(path)

    assert names(walk_visible(folder, limit=100, depth=2)) == ["a", "b", "b/c"]
    assert walk_visible(folder, limit=2).truncated
    assert not walk_visible(folder, limit=100, depth=1).truncated


def test_links_are_named_and_not_followed(folder, tmp_path):
    """Wherever they lead."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("")
    (folder.root / "link").symlink_to(tmp_path / "outside")
    os.mkfifo(folder.root / "pipe")

    listing = walk_visible(folder, limit=100)

    assert [(entry.name, entry.kind) for entry in listing.entries] == [("link", "symlink"), ("pipe", "other")]


def test_rules_of_the_repository_above_count(folder, tmp_path):
    """As they would for git; those above the repository do not."""
    (tmp_path / ".gitignore").write_text("b\n")
    (tmp_path / "outer" / ".git" / "info").mkdir(parents=True)
    (tmp_path / "outer" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "outer" / ".git" / "info" / "exclude").write_text("/ws/e\n")
    (tmp_path / "outer" / ".gitignore").write_text("*.log\n/ws/c\n")
    for path in ("a.log", "b", "c", "d", "e"):
        folder.write(path)

    assert names(walk_visible(folder, limit=100)) == ["b", "d"]


def test_without_a_repository_nothing_above_the_workspace_counts(folder, tmp_path):
    """It is another's."""
    (tmp_path / "outer" / ".gitignore").write_text("*\n")
    folder.write("a")

    assert names(walk_visible(folder, limit=100)) == ["a"]
    assert rules_above(folder) == []


def test_a_rule_that_is_ignored_itself_or_is_a_link_does_not_count(folder, tmp_path):
    """A file of rules must be a file, as for git."""
    (tmp_path / "rules").write_text("a\n")
    (folder.root / ".gitignore").symlink_to(tmp_path / "rules")
    folder.write("a")

    assert names(walk_visible(folder, limit=100)) == [".gitignore", "a"]


def test_what_is_kept_and_everything(folder):
    """An ignored file may be asked for by name, or all of them."""
    folder.write(".gitignore", "a\nb/\n")
    folder.write("a")
    folder.write("b/c")

    assert names(walk_visible(folder, limit=9, kept=lambda path, is_folder: path == "a")) == [".gitignore", "a"]
    assert names(walk_visible(folder, limit=9, everything=True)) == [".gitignore", "a", "b", "b/c"]


def test_a_walk_that_is_called_off_ends(folder):
    """And says that there was more."""
    folder.write("a")
    stop = threading.Event()
    stop.set()

    listing = walk_visible(folder, limit=9, stop=stop)

    assert (listing.entries, listing.truncated) == ((), True)


def test_measured_it_says_how_large_files_are_and_when_they_changed(folder):
    """As the disk has it; otherwise nobody asks for that."""
    folder.write("file")
    found = (folder.root / "file").stat()

    (plain,) = walk_visible(folder, limit=9).entries
    (measured,) = walk_visible(folder, limit=9, measured=True).entries

    assert (plain.size, plain.changed_ns) == (0, 0)
    assert (measured.size, measured.changed_ns) == (found.st_size, found.st_ctime_ns)


@pytest.mark.parametrize("path", ["..", "/etc", "gone", "file"])
def test_a_path_that_is_no_folder_of_the_workspace_is_refused(folder, path):
    """By the one door there is."""
    folder.write("file")

    with pytest.raises(AgiError):
        walk_visible(folder, path, limit=9)


@pytest.mark.threat("T16")
def test_a_folder_swapped_for_a_link_is_never_entered(folder, tmp_path, swapping):
    """Whoever swaps it, and however often."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("")
    (folder.root / "real").mkdir()
    (folder.root / "link").symlink_to(tmp_path / "outside")

    with swapping(folder.root):
        for _ in range(300):
            assert not any("secret" in name for name in names(walk_visible(folder, limit=99)))
