"""Putting files back: all of them or none, and nothing of anybody else's is lost."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agi.checkpoints import restoring
from agi.checkpoints.looking import OWN_PREFIX
from agi.checkpoints.nodes import Change, Node, key_of
from agi.checkpoints.restoring import restore
from agi.errors import Conflict, DiskFull, WorkspaceError

BLOBS: dict[bytes, bytes] = {}
FOLDER = Node("folder", 0o755)


def file(text: str, mode: int = 0o644) -> Node:
    BLOBS[key_of(text.encode())] = text.encode()
    return Node("file", mode, len(text), key_of(text.encode()))


def link(target: str) -> Node:
    BLOBS[key_of(target.encode())] = target.encode()
    return Node("link", 0, len(target), key_of(target.encode()))


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


def put(root: int, *moves: Change) -> None:
    restore(root, moves, lambda node: BLOBS.get(node.key), "0123456789abcdef")


def leftovers(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.startswith(OWN_PREFIX)]


def test_everything_changes_into_everything(tmp_path: Path, root: int):
    """File, link, folder and nothing, each into each other, in one go."""
    (tmp_path / "file to link").write_text("1")
    (tmp_path / "file to folder").write_text("1")
    (tmp_path / "link to file").symlink_to("x")
    (tmp_path / "folder to file").mkdir()
    (tmp_path / "folder to file" / "in it").write_text("1")
    (tmp_path / "file to nothing").write_text("1")
    for path in tmp_path.glob("file*"):
        path.chmod(0o644)
    (tmp_path / "folder to file" / "in it").chmod(0o644)

    put(
        root,
        Change("file to link", file("1"), link("anywhere")),
        Change("file to folder", file("1"), FOLDER),
        Change("file to folder/in it", None, file("2")),
        Change("link to file", link("x"), file("3", 0o755)),
        Change("folder to file", FOLDER, file("4")),
        Change("folder to file/in it", file("1"), None),
        Change("file to nothing", file("1"), None),
        Change("nothing/to/file", None, file("5")),
        Change("nothing to link", None, link("file to link")),
    )

    assert os.readlink(tmp_path / "file to link") == "anywhere"
    assert (tmp_path / "file to folder" / "in it").read_text() == "2"
    assert (tmp_path / "link to file").read_text() == "3"
    assert os.access(tmp_path / "link to file", os.X_OK)
    assert (tmp_path / "folder to file").read_text() == "4"
    assert not (tmp_path / "file to nothing").exists()
    assert (tmp_path / "nothing" / "to" / "file").read_text() == "5"
    assert os.readlink(tmp_path / "nothing to link") == "file to link"
    assert leftovers(tmp_path) == []


def test_a_file_that_is_not_what_was_expected_stops_everything(tmp_path: Path, root: int):
    """Nothing is touched, wherever in the list it stands."""
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("1")
        (tmp_path / name).chmod(0o644)
    (tmp_path / "b").write_text("mine")

    with pytest.raises(Conflict, match="'b' was changed by someone else"):
        put(root, *(Change(name, file("1"), file("2")) for name in ("a", "b", "c")))
    assert [(tmp_path / name).read_text() for name in ("a", "b", "c")] == ["1", "mine", "1"]
    assert leftovers(tmp_path) == []


def test_content_that_is_gone_stops_everything(tmp_path: Path, root: int):
    """Half an undo is none."""
    (tmp_path / "a").write_text("1")
    (tmp_path / "a").chmod(0o644)
    with pytest.raises(Conflict) as caught:
        put(root, Change("a", file("1"), file("2")), Change("b", None, Node("file", 0o644, 1, b"unknown")))
    assert caught.value.code == "checkpoint_gone"
    assert (tmp_path / "a").read_text() == "1"
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("at", range(12))
def test_a_failure_at_any_moment_undoes_what_was_done(
    tmp_path: Path, root: int, monkeypatch: pytest.MonkeyPatch, at: int
):
    """Whichever rename fails: all is as before, and nothing lies about."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "gone").write_text("1")
    (tmp_path / "deep" / "gone").chmod(0o644)
    (tmp_path / "changed").write_text("1")
    (tmp_path / "changed").chmod(0o644)
    (tmp_path / "link").symlink_to("x")
    before = _tree(tmp_path)
    moves = [
        Change("deep/gone", file("1"), None),
        Change("deep", FOLDER, None),
        Change("changed", file("1"), file("2", 0o755)),
        Change("link", link("x"), link("y")),
        Change("new/er", None, file("3")),
    ]
    calls = iter(range(1000))
    failed = False

    def failing(real):
        def call(*args, **fields):
            nonlocal failed
            if next(calls) == at and not failed:
                failed = True
                raise OSError(5, "it failed")
            return real(*args, **fields)

        return call

    for name in ("exchange", "claim"):
        monkeypatch.setattr(restoring, name, failing(getattr(restoring, name)))
    for name in ("mkdir", "rmdir", "rename", "symlink"):
        monkeypatch.setattr(restoring.os, name, failing(getattr(os, name)))
    told = ""
    try:
        put(root, *moves)
    except WorkspaceError as error:
        told = error.message

    if told:
        assert "Nothing was changed" in told
        assert _tree(tmp_path) == before
    else:
        assert (tmp_path / "new" / "er").read_text() == "3"  # it failed while cleaning up, or not at all


def test_a_full_disk_changes_nothing(tmp_path: Path, root: int, monkeypatch: pytest.MonkeyPatch):
    """It is found out while the new versions are written beside the old ones."""
    (tmp_path / "a").write_text("1")
    (tmp_path / "a").chmod(0o644)

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(restoring.os, "fsync", full)
    with pytest.raises(DiskFull):
        put(root, Change("a", file("1"), file("2")))
    assert (tmp_path / "a").read_text() == "1"
    assert leftovers(tmp_path) == []


def test_where_names_cannot_be_swapped_it_works_as_well(tmp_path: Path, root: int, monkeypatch: pytest.MonkeyPatch):
    """On file systems that do not know how."""
    monkeypatch.setattr(restoring, "exchange", lambda *names: False)
    (tmp_path / "a").write_text("1")
    (tmp_path / "a").chmod(0o644)
    put(root, Change("a", file("1"), file("2", 0o600)))

    assert (tmp_path / "a").read_text() == "2"
    assert leftovers(tmp_path) == []


def test_a_version_that_comes_in_the_last_moment_is_not_lost(
    tmp_path: Path, root: int, monkeypatch: pytest.MonkeyPatch
):
    """Somebody saves the file after it was looked at and before it is replaced: theirs goes back."""
    (tmp_path / "a").write_text("1")
    (tmp_path / "a").chmod(0o644)
    real = restoring.exchange

    def too_late(folder: int, one: str, other: str) -> bool:
        (tmp_path / "a").write_text("mine, just now")
        return real(folder, one, other)

    monkeypatch.setattr(restoring, "exchange", too_late)
    with pytest.raises(Conflict):
        put(root, Change("a", file("1"), file("2")))
    assert (tmp_path / "a").read_text() == "mine, just now"


def test_a_folder_that_holds_something_else_stays(tmp_path: Path, root: int):
    """An ignored file in it is nobody's to lose."""
    (tmp_path / "made").mkdir(mode=0o755)
    (tmp_path / "made" / "ignored.log").write_text("1")
    put(root, Change("made", FOLDER, None))

    assert (tmp_path / "made" / "ignored.log").exists()


def test_a_hard_link_is_replaced_not_written_through(tmp_path: Path, root: int):
    """The other name keeps what it has."""
    (tmp_path / "a").write_text("1")
    (tmp_path / "a").chmod(0o644)
    os.link(tmp_path / "a", tmp_path / "other")
    put(root, Change("a", file("1"), file("2")))

    assert ((tmp_path / "a").read_text(), (tmp_path / "other").read_text()) == ("2", "1")


@pytest.mark.parametrize("path", [".git/hooks/post-checkout", ".agi/config.json", "sub/.git/config"])
def test_git_and_our_own_folder_are_off_limits(tmp_path: Path, root: int, path: str):
    """Whatever a store says that came with a repository."""
    with pytest.raises(WorkspaceError):
        put(root, Change(path, None, file("evil")))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["../out", "link/out", "/etc/out"])
def test_nothing_leads_out(tmp_path: Path, path: str):
    """Not upward, not through a link, not from the root."""
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    (work / "link").symlink_to(outside)
    fd = os.open(work, os.O_RDONLY)
    with pytest.raises((WorkspaceError, Conflict)):
        put(fd, Change(path, None, file("evil")))
    os.close(fd)
    assert not (tmp_path / "out").exists()
    assert not (outside / "out").exists()


def _tree(folder: Path) -> dict[str, object]:
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else "folder"
        for path in folder.rglob("*")
    }
