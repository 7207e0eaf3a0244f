"""git_status: the branch and what changed."""

import os
import subprocess

import pytest

from agi.tools.git_status import Status, parse_status


@pytest.fixture
def repository(desk, monkeypatch):
    """The workspace as a repository with one commit."""
    monkeypatch.setenv("HOME", str(desk.root.parent))

    def run(*args):
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *args]
        subprocess.run(command, cwd=desk.root, check=True, capture_output=True)

    desk.git = run
    run("init", "-q", "-b", "main", ".")
    desk.write("a.txt", "a\n")
    desk.write("dir/b.txt", "b\n" * 20)
    run("add", ".")
    run("commit", "-qm", "first")
    return desk


async def test_a_clean_repository_is_clean(repository):
    """Only the branch is told."""
    result = await repository.use("git_status")

    assert result.parts[0].text == "branch main\nnothing changed"
    assert result.result == {"branch": "main", "clean": True, "files": []}


async def test_changes_are_listed_with_gits_letters(repository):
    """Staged, changed, moved and untracked files, by their names."""
    repository.write("a.txt", "changed\n")
    repository.git("mv", "dir/b.txt", "dir/c.txt")
    repository.write("näme with blanks", "")
    repository.write("staged", "x")
    repository.git("add", "staged")

    result = await repository.use("git_status")

    assert {(file["status"], file["path"]) for file in result.result["files"]} == {
        (" M", "a.txt"),
        ("R ", "dir/c.txt"),
        ("A ", "staged"),
        ("??", "näme with blanks"),
    }


async def test_a_workspace_inside_a_repository_sees_its_own_part(repository):
    """Paths are told from the workspace, and what is beside it is not shown."""
    repository.write("a.txt", "changed\n")
    repository.write("dir/new", "")
    inner = type(repository)(repository.root / "dir")
    try:
        inner.write("mine", "")
        result = await inner.use("git_status")
    finally:
        inner.workspace.close()

    assert [file["path"] for file in result.result["files"]] == ["./"]


async def test_outside_a_repository_it_says_so(desk):
    """A failure the model can understand."""
    result = await desk.use("git_status")

    assert not result.ok
    assert "not a git repository" in result.error


async def test_a_hostile_repository_runs_nothing(repository, tmp_path):
    """A read-only tool stays read-only whatever the repository configures."""
    canary = tmp_path / "canary"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\ntouch {canary}\n")
    os.chmod(script, 0o755)
    repository.write(".gitattributes", "* filter=evil\n")
    for key in ("core.fsmonitor", "filter.evil.clean", "filter.evil.process"):
        repository.git("config", key, str(script))
    repository.write("a.txt", "changed\n")

    result = await repository.use("git_status")

    assert result.ok
    assert not canary.exists()


def test_what_git_writes_is_read():
    """Ahead and behind, conflicts and renames, and lines of a later version."""
    text = (
        "# branch.oid 1\n# branch.head topic\n# branch.upstream origin/topic\n# branch.ab +2 -1\n"
        "1 .M N... 100644 100644 100644 aa bb a b.txt\n"
        "2 R. N... 100644 100644 100644 aa bb R100 new\told\n"
        "u UU N... 1 2 3 4 a b c conflict\n"
        "? untracked\n! ignored\nz future\n"
    )

    assert parse_status(text) == Status(
        "topic", 2, 1, ((" M", "a b.txt"), ("R ", "new"), ("UU", "conflict"), ("??", "untracked"))
    )
