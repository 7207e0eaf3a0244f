"""Asking git about a repository that may be hostile."""

import os
import subprocess

import pytest

from agi.errors import NotFound, WorkspaceError
from agi.workspace.git import git
from agi.workspace.handle import Workspace
from agi.workspace.processes import find_program

STATUS = ("status", "--porcelain=v2", "--branch", "--ignore-submodules=all", "--", ".")


def run_git(folder, *args):
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", *args],
        cwd=folder,
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
    )


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with one commit, opened as a workspace."""
    monkeypatch.setenv("HOME", str(tmp_path))
    root = tmp_path / "repo"
    root.mkdir()
    run_git(root, "init", "-q", "-b", "main", ".")
    (root / "a.txt").write_text("a\n")
    run_git(root, "add", "a.txt")
    run_git(root, "commit", "-qm", "first")
    with Workspace.open(root) as workspace:
        yield workspace


async def test_git_answers(repository):
    """An ordinary question gets an ordinary answer."""
    (repository.root / "new").write_text("")

    answer = await git(repository, *STATUS)

    assert answer.exit_code == 0
    assert "# branch.head main\n" in answer.stdout
    assert "? new\n" in answer.stdout


@pytest.mark.threat("T24")
async def test_nothing_of_a_hostile_repository_runs(repository, tmp_path):
    """Monitors, hooks, filters, aliases and pagers that a repository configures leave no trace."""
    root = repository.root
    canary = tmp_path / "canary"
    evil = f"touch {canary}"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\n{evil}\n")
    os.chmod(script, 0o755)
    (root / ".gitattributes").write_text("*.txt filter=bad\n*.md filter=worse diff=bad\n")
    run_git(root, "add", ".")
    run_git(root, "commit", "-qm", "attributes")
    included = root / "included.cfg"
    included.write_text(f'[filter "worse"]\n\tclean = {evil}\n\tprocess = {script}\n\trequired = true\n')
    for key, value in {
        "core.fsmonitor": str(script),
        "core.hooksPath": str(tmp_path / "hooks"),
        "core.pager": str(script),
        "core.sshCommand": evil,
        "pager.status": str(script),
        "filter.bad.clean": evil,
        "filter.bad.smudge": evil,
        "filter.bad.required": "true",
        "diff.external": str(script),
        "diff.bad.textconv": str(script),
        "alias.status": f"!{evil}",
        "include.path": str(included),
    }.items():
        run_git(root, "config", key, value)
    for folder in (tmp_path / "hooks", root / ".git/hooks"):
        folder.mkdir(exist_ok=True)
        for hook in ("post-index-change", "pre-commit", "post-checkout", "reference-transaction"):
            (folder / hook).write_text(f"#!/bin/sh\n{evil}\n")
            os.chmod(folder / hook, 0o755)
    (root / "a.txt").write_text("b\n")
    (root / "b.md").write_text("b\n")

    answer = await git(repository, *STATUS)

    assert answer.exit_code == 0
    assert " a.txt" in answer.stdout
    assert not canary.exists()
    # The trap does work: asked without care, git springs it.
    run_git(root, "status")
    assert canary.exists()


async def test_a_filter_that_cannot_be_switched_off_is_refused(repository):
    """A name with an equals sign would be cut short on the command line."""
    config = repository.root / ".git/config"
    config.write_text(config.read_text() + '[filter "a=b"]\n\tclean = false\n')

    with pytest.raises(WorkspaceError) as caught:
        await git(repository, *STATUS)

    assert caught.value.code == "git_refused"


async def test_another_folder_is_not_shown(repository, tmp_path):
    """A repository that says its files are elsewhere does not make git list them."""
    (tmp_path / "elsewhere").mkdir()
    run_git(repository.root, "config", "core.worktree", str(tmp_path / "elsewhere"))

    with pytest.raises(WorkspaceError):
        await git(repository, *STATUS)


async def test_a_configured_folder_that_is_the_workspace_is_fine(repository):
    """As in a submodule."""
    run_git(repository.root, "config", "core.worktree", str(repository.root))

    assert (await git(repository, *STATUS)).exit_code == 0


async def test_a_folder_that_looks_like_a_bare_repository_is_none(tmp_path, monkeypatch):
    """Files that came with a download are not taken for git's own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    root = tmp_path / "bare"
    root.mkdir()
    run_git(root, "init", "-q", "--bare", ".")
    with Workspace.open(root) as workspace:
        answer = await git(workspace, *STATUS)

    assert answer.exit_code != 0


async def test_outside_a_repository_git_says_so(tmp_path, monkeypatch):
    """The answer is git's own, with its exit code."""
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    with Workspace.open(tmp_path) as workspace:
        answer = await git(workspace, *STATUS)

    assert answer.exit_code == 128
    assert "not a git repository" in answer.stderr


async def test_without_git_there_is_a_hint(tmp_path, monkeypatch):
    """A machine without git gets a clear error."""
    monkeypatch.setenv("PATH", str(tmp_path))
    find_program.cache_clear()
    with Workspace.open(tmp_path) as workspace, pytest.raises(NotFound) as caught:
        await git(workspace, *STATUS)

    assert caught.value.code == "git_missing"
