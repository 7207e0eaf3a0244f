"""A file that a repository keeps although it ignores it is covered like any other."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.checkpoints.conftest import Watched

from agi.checkpoints import tracked
from agi.checkpoints.tracked import tracked_but_ignored

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *args: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@y", *args], cwd=folder, env=env, check=True)


async def test_they_are_found_and_asked_for_only_when_the_index_changed(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
):
    """What git said once is remembered, also by the next process."""
    git(watched.root, "init", "-q")
    watched.write(".gitignore", "*.log\ndist/\n")
    watched.write("kept.log", "1")
    watched.write("dist/app.js", "1")
    watched.write("other.log", "1")
    git(watched.root, "add", "-f", "kept.log", "dist/app.js", ".gitignore")
    asked = []
    real = tracked.git

    async def counted(*args: object, **fields: object) -> object:
        asked.append(args)
        return await real(*args, **fields)  # type: ignore[arg-type]

    monkeypatch.setattr(tracked, "git", counted)
    found = await tracked_but_ignored(watched.store, watched.workspace)
    again = await tracked_but_ignored(watched.store, watched.workspace)
    git(watched.root, "rm", "-q", "--cached", "kept.log")
    later = await tracked_but_ignored(watched.store, watched.workspace)

    assert found == again == {"kept.log", "dist/app.js"}
    assert later == {"dist/app.js"}
    assert len(asked) == 2

    changed = watched.changes(lambda: watched.write("dist/app.js", "2"), also=later)
    assert changed == [("dist/app.js", "modified")]


async def test_without_a_repository_there_are_none(watched: Watched):
    """And nothing is started."""
    assert await tracked_but_ignored(watched.store, watched.workspace) == frozenset()


async def test_a_broken_repository_is_no_hindrance(watched: Watched):
    """Whatever its files say."""
    watched.write(".git", "gitdir: \0nowhere\n")
    assert await tracked_but_ignored(watched.store, watched.workspace) == frozenset()
    (watched.root / ".git").unlink()
    watched.write(".git/index", "no index")
    watched.write(".git/config", "[broken")
    assert await tracked_but_ignored(watched.store, watched.workspace) == frozenset()
