"""What stands at a name is read once, and again if it may have changed meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from agi.checkpoints import reading
from agi.checkpoints.nodes import Node, reason_of
from agi.checkpoints.reading import read_node


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


def test_a_file_is_its_bytes_and_its_permissions(tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch):
    """Whatever bytes those are; one that has been left alone for a moment is known by its stamp from now on."""
    monkeypatch.setattr(reading, "SLACK_NS", -1_000_000_000)
    data = b"\xff\x00\r\n\xfe"
    (tmp_path / "a").write_bytes(data)
    (tmp_path / "a").chmod(0o640)

    known, read = read_node(folder, "a", 100) or pytest.fail("it is there")

    assert (known.node, read) == (Node("file", 0o640, 5, sha256(data).digest()), data)
    assert known.stamp is not None


def test_a_file_that_was_written_just_now_is_read_once_more(tmp_path: Path, folder: int):
    """Within one tick of the clock it could be written again without a new stamp."""
    (tmp_path / "a").write_text("x")
    known, _ = read_node(folder, "a", 100) or pytest.fail("it is there")

    assert known.stamp is None


def test_a_link_is_where_it_points(tmp_path: Path, folder: int):
    """Also to nothing, or out of the workspace, or with a name that is no text."""
    os.symlink(b"/etc/\xff", os.fsencode(tmp_path / "a"))
    known, target = read_node(folder, "a", 100) or pytest.fail("it is there")

    assert known.node.kind == "link"
    assert target == b"/etc/\xff"


def test_a_large_file_is_not_read(tmp_path: Path, folder: int):
    """A sparse one of 10 GB takes no time; it is known by its stamp."""
    with (tmp_path / "a").open("wb") as file:
        file.truncate(10 * 1024**3)
    began = time.perf_counter()
    known, data = read_node(folder, "a", 1000) or pytest.fail("it is there")

    assert (known.node.kind, reason_of(known.node), data) == ("opaque", "large", b"")
    assert time.perf_counter() - began < 1


def test_nothing_pipes_and_folders_are_not_read(tmp_path: Path, folder: int):
    """And nothing waits."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "sub").mkdir()

    assert [read_node(folder, name, 100) for name in ("pipe", "sub", "missing")] == [None, None, None]
