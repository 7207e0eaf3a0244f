"""Repositories inside a repository, as its index names them."""

import os
import subprocess

import pytest

from agi.sandbox.gitlinks import gitlinks

ID = "1" * 40


def git(*words, cwd):
    return subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True, text=True).stdout


@pytest.fixture(params=["sha1", "sha256"])
def repository(request, workspace):
    git("init", "-q", f"--object-format={request.param}", ".", cwd=workspace)
    for name in ("a", "deep/er/file", f"{'z' * 250}/{'z' * 250}", "ä"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("x")
    git("add", "-A", cwd=workspace)
    return workspace, ID if request.param == "sha1" else "1" * 64


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_they_are_found_in_every_kind_of_index(repository, version):
    """Whatever its version, and however contents are named."""
    folder, name = repository
    git("update-index", f"--index-version={version}", cwd=folder)
    if version == "3":
        git("update-index", "--skip-worktree", "a", cwd=folder)
    assert gitlinks(f"{folder}/.git") == ((), True)

    for path in ("deep/n", "m", "zz/" + "y" * 200):
        git("update-index", "--add", "--cacheinfo", f"160000,{name},{path}", cwd=folder)

    names, complete = gitlinks(f"{folder}/.git")
    assert {"deep/n", "m", "zz/" + "y" * 200} <= set(names)
    assert complete


def test_they_are_found_where_an_index_is_split(repository):
    """A part of it then lies in another file."""
    folder, name = repository
    git("update-index", "--add", "--cacheinfo", f"160000,{name},m", cwd=folder)
    git("update-index", "--split-index", cwd=folder)

    assert "m" in gitlinks(f"{folder}/.git")[0]


@pytest.mark.parametrize(
    "data", [b"", b"DIRC", b"\0\0\xe0\0" * 99, b"DIRC\0\0\0\2\xff\xff\xff\xff" + b"\0\0\xe0\0" * 50]
)
def test_a_broken_index_is_no_error(workspace, data):
    """It is a file a command may have written; that not all was read is said."""
    os.mkdir(workspace / ".git")
    (workspace / ".git/index").write_bytes(data)

    assert gitlinks(f"{workspace}/.git")[1] is (b"\xe0" not in data)


def test_without_an_index_there_are_none(workspace):
    """As in a repository nothing was added to."""
    assert gitlinks(f"{workspace}/.git") == ((), True)
