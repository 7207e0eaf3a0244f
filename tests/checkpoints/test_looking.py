"""A look at a workspace: every name once, through no link, without what is ignored, bounded."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from agi.checkpoints import looking
from agi.checkpoints.ignoring import RuleBook
from agi.checkpoints.looking import Look, folder_at, look, root_of
from agi.checkpoints.nodes import Known, Node
from agi.workspace.handle import Workspace


def look_at(folder: Path, known: dict[str, Known] | None = None, also: tuple[str, ...] = ()) -> Look:
    with Workspace.open(folder) as workspace, root_of(workspace) as root:
        return look(workspace, root, known or {}, RuleBook(), also)


def test_everything_is_found_but_what_is_ignored_or_made_by_tools(tmp_path: Path):
    """Files, links and folders; not the ignored, not git's or our own folders."""
    for name in ("a.py", "src/b.py", "build/c.o", "node_modules/d.js", ".git/config", ".agi/agi.sqlite", "e.o"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / ".gitignore").write_text("build/\n*.o\n")
    (tmp_path / "link").symlink_to("src")

    found = look_at(tmp_path)

    assert found.there == {"", "a.py", "src", "src/b.py", ".gitignore", "link"}
    assert set(found.passed) == {"build", "node_modules", ".git", ".agi", "e.o"}


def test_a_file_that_did_not_change_is_not_fresh(tmp_path: Path):
    """Only what has another stamp is to be read."""
    (tmp_path / "a").write_text("1")
    (tmp_path / "b").write_text("1")
    first = look_at(tmp_path)
    known = {path: Known(Node("file"), stamp) for path, stamp in first.fresh.items()}
    (tmp_path / "b").write_text("22")

    assert set(look_at(tmp_path, known).fresh) == {"b"}


def test_a_link_out_of_the_workspace_is_a_link_and_nothing_more(tmp_path: Path):
    """What it leads to is neither listed nor read."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("x")
    work = tmp_path / "work"
    work.mkdir()
    (work / "out").symlink_to(outside)

    assert look_at(work).there == {"", "out"}


def test_pipes_sockets_and_devices_are_named_and_not_opened(tmp_path: Path):
    """A pipe would wait for ever."""
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(tmp_path)  # a socket's path must be short
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)

    assert look_at(tmp_path).passed == {"pipe": "special", "socket": "special"}


def test_an_ignored_file_that_is_asked_for_counts(tmp_path: Path):
    """Also deep in a folder that is not entered."""
    (tmp_path / "dist" / "deep").mkdir(parents=True)
    (tmp_path / "dist" / "deep" / "app.js").write_text("x")
    (tmp_path / "dist" / "other.js").write_text("x")
    (tmp_path / ".env").write_text("x")
    (tmp_path / ".gitignore").write_text("dist/\n.env\n")

    found = look_at(tmp_path, also=("dist/deep/app.js", ".env", "dist/not-there"))

    assert found.there == {"", ".gitignore", "dist/deep/app.js", ".env"}
    assert found.passed == {"dist": "ignored"}


def test_too_many_names_are_said_to_be_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A folder with a million entries costs no more than the limit, and what is known of it is looked at by name."""
    for n in range(50):
        (tmp_path / f"{n:03}").write_text("x")
    whole = look_at(tmp_path)
    known = {path: Known(Node("file"), stamp) for path, stamp in whole.fresh.items()}
    monkeypatch.setattr(looking, "MOST", 10)

    found = look_at(tmp_path, known)

    assert found.cut
    assert found.closed == {""}
    assert found.there == whole.there
    assert len(look_at(tmp_path).there) == 11


def test_a_folder_is_reached_without_passing_a_link(tmp_path: Path):
    """Whoever swaps a folder for a link leads nobody anywhere."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    root = os.open(tmp_path, os.O_RDONLY)
    try:
        with folder_at(root, "real") as fd:
            assert os.fstat(fd).st_ino == (tmp_path / "real").stat().st_ino
        with pytest.raises(OSError), folder_at(root, "link"):
            pass
    finally:
        os.close(root)


def test_a_swapped_folder_shows_nothing_from_outside(tmp_path: Path, swapping):
    """While somebody swaps a folder for a link that leads out, no look ever sees what is there."""
    work = tmp_path / "work"
    (work / "real").mkdir(parents=True)
    (work / "real" / "inside").write_text("x")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("x")
    (work / "link").symlink_to(tmp_path / "outside")
    with swapping(work):
        seen = [path for _ in range(300) for path in look_at(work).there]

    assert not [path for path in seen if path.endswith("secret")]
    assert [path for path in seen if path.endswith("inside")]
