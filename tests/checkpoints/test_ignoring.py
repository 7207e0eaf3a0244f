"""What a project ignores is asked once, and again when its rules say something else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agi.checkpoints.ignoring import RuleBook
from agi.workspace.handle import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


def test_a_deeper_file_has_the_last_word(tmp_path: Path, root: int):
    """What a folder's own ignore file says beats those above it, and ends where the folder does."""
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / ".gitignore").write_text("!keep.log\n/here.txt\n")
    book = RuleBook()
    with Workspace.open(tmp_path) as workspace:
        above = book.inside(root, "", book.above(workspace))
    below_fd = os.open("src", os.O_RDONLY, dir_fd=root)
    below = book.inside(below_fd, "src/", above)
    os.close(below_fd)

    assert below.names("src/a.log", False)
    assert not below.names("src/keep.log", False)
    assert above.names("keep.log", False)
    assert below.names("src/build", True)
    assert not below.names("src/build", False)
    assert below.names("src/here.txt", False)
    assert not below.names("src/deep/here.txt", False)


def test_a_repository_around_the_workspace_counts(tmp_path: Path):
    """A workspace in a part of a repository follows the rules that are written above it."""
    (tmp_path / ".git" / "info").mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / ".git" / "info" / "exclude").write_text("private.txt\n")
    (tmp_path / ".gitignore").write_text("dist/\n/parts/one/only-here\n")
    (tmp_path / "parts" / "one").mkdir(parents=True)

    with Workspace.open(tmp_path / "parts" / "one") as workspace:
        rules = RuleBook().above(workspace)

    assert rules.names("dist", True)
    assert rules.names("deep/private.txt", False)
    assert rules.names("only-here", False)
    assert not rules.names("deep/only-here", False)


def test_answers_are_kept_until_the_file_says_something_else(tmp_path: Path, root: int):
    """Rules that did not change are the same rules, and what stands above them likewise."""
    (tmp_path / ".gitignore").write_text("*.o\n")
    book = RuleBook()
    with Workspace.open(tmp_path) as workspace:
        first = book.inside(root, "", book.above(workspace))
        assert book.inside(root, "", book.above(workspace)) is first
        (tmp_path / ".gitignore").write_text("*.a\n")
        second = book.inside(root, "", book.above(workspace))

    assert second is not first
    assert second.names("x.a", False)
    assert not second.names("x.o", False)


def test_rules_behind_a_link_are_none(tmp_path: Path, root: int):
    """As for git: a link may lead anywhere."""
    (tmp_path / "rules").write_text("*\n")
    (tmp_path / ".gitignore").symlink_to("rules")
    book = RuleBook()
    with Workspace.open(tmp_path) as workspace:
        above = book.above(workspace)

    assert book.inside(root, "", above) is above
