"""A copy of a workspace's files, and what is other in it afterwards."""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier

import pytest

from agi.errors import TooLarge
from agi.workspace import copying
from agi.workspace.copying import copy_files, keep, kept_content, look_at, read_base, write_base
from agi.workspace.handle import Workspace


def made(tmp_path: Path) -> tuple[Workspace, Path, Path]:
    root, target = tmp_path / "root", tmp_path / "copy"
    (root / "sub").mkdir(parents=True)
    (root / "empty").mkdir()
    target.mkdir()
    (root / "a.txt").write_bytes(b"a\r\n")
    (root / "sub" / "run.sh").write_text("echo\n")
    (root / "sub" / "run.sh").chmod(0o755)
    (root / "link").symlink_to("/etc/passwd")
    (root / ".gitignore").write_text("*.log\n")
    (root / "noise.log").write_text("x")
    (root / ".git").write_text("gitdir: elsewhere\n")
    return Workspace.open(root), target, tmp_path / "kept"


def test_the_files_are_copied_as_they_are_and_what_is_ignored_is_not(tmp_path: Path) -> None:
    """Bytes, the right to run, links as links, empty folders; never a pointer to a repository."""
    workspace, target, kept = made(tmp_path)
    with workspace:
        base = copy_files(workspace, target, kept)

    assert sorted(base) == [".gitignore", "a.txt", "link", "sub/run.sh"]
    assert (target / "a.txt").read_bytes() == b"a\r\n"
    assert (target / "sub" / "run.sh").stat().st_mode & 0o100
    assert (target / "link").is_symlink()
    assert (target / "empty").is_dir()
    assert not (target / ".git").exists()
    assert kept_content(kept, base["a.txt"]) == b"a\r\n"
    assert kept_content(kept, base["link"]) is None
    write_base(tmp_path / "base.json", base)
    assert read_base(tmp_path / "base.json") == base


def test_what_came_changed_and_went_is_found(tmp_path: Path) -> None:
    """Also a right to run, and a link that leads elsewhere; a file that leads out is not read."""
    workspace, target, kept = made(tmp_path)
    with workspace, Workspace.open(target) as own:
        base = copy_files(workspace, target, kept)
        assert look_at(own, base) == {}
        (target / "a.txt").unlink()
        (target / "new.txt").write_text("new")
        (target / "sub" / "run.sh").chmod(0o644)
        (target / "link").unlink()
        (target / "link").symlink_to("/etc/shadow")
        found = look_at(own, base)

    assert sorted(found) == ["a.txt", "link", "new.txt", "sub/run.sh"]
    assert found["a.txt"] == (None, None)
    assert found["new.txt"][1] == b"new"
    assert found["link"][1] is None
    assert found["sub/run.sh"][1] == b"echo\n"


def test_a_workspace_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do; a worker that saw half of the files would do harm."""
    workspace, target, kept = made(tmp_path)
    monkeypatch.setattr(copying, "MOST_FILES", 2)

    with workspace, pytest.raises(TooLarge) as refused:
        copy_files(workspace, target, kept)

    assert refused.value.code == "workspace_too_large"


def test_copies_made_at_once_keep_the_same_content_without_meeting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers begin side by side, from the same files: each has written its own before any puts it in place."""
    all_written = Barrier(3, timeout=20)
    replace = Path.replace

    def replace_together(path: Path, target: Path) -> Path:
        all_written.wait()
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", replace_together)
    with ThreadPoolExecutor(3) as threads:
        names = set(threads.map(partial(keep, tmp_path), [b"the same"] * 3))

    assert [path.name for path in tmp_path.iterdir()] == list(names)
    assert (tmp_path / names.pop()).read_bytes() == b"the same"


def test_what_could_not_be_kept_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as where the disk is full."""

    def refuse(path: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="no room"):
        keep(tmp_path, b"content")

    assert list(tmp_path.iterdir()) == []
