"""Whose repository a folder's `.git` is."""

import os
import subprocess

import pytest

from agi.errors import WorkspaceError
from agi.workspace.git import git
from agi.workspace.handle import Workspace
from agi.workspace.repository import foreign, has_plain_settings, repository_root, tracked_files


def run_git(folder, *args):
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always", *args],
        cwd=folder,
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
    )


@pytest.fixture
def private(tmp_path):
    """Another repository of the same user, with a secret in its history."""
    folder = tmp_path / "private"
    folder.mkdir()
    run_git(folder, "init", "-q", "-b", "main", ".")
    (folder / "secret").write_text("secret\n")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-qm", "the secret")
    return folder


@pytest.fixture
def hostile(tmp_path):
    """A folder that came from elsewhere."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    return folder


def test_an_ordinary_repository_is_its_folders_own(private):
    """Also seen from a folder in it."""
    (private / "sub").mkdir()

    assert repository_root(private / "sub") == private
    assert foreign(private) == ""
    assert has_plain_settings(private)


def test_a_folder_without_a_head_is_no_repository_as_for_git(private):
    """Git looks further up past it, and so do we: at the repository around it, or at none."""
    empty = private / "sub"
    (empty / ".git" / "hooks").mkdir(parents=True)
    found = subprocess.run(
        ["git", "rev-parse", "--show-toplevel"], cwd=empty, capture_output=True, text=True, check=True
    )

    assert repository_root(empty) == private
    assert found.stdout.strip() == str(private)


def test_an_empty_git_far_above_makes_nothing_a_repository(hostile, tmp_path):
    """One that another program left in a folder for everybody's files counts for none of them."""
    (tmp_path / ".git").mkdir()

    assert repository_root(hostile) is None


@pytest.mark.parametrize("kind", ["pointer", "link to a folder", "link to nothing", "pipe"])
def test_what_leads_elsewhere_or_is_odd_counts_and_is_looked_at(hostile, private, kind):
    """Whatever git might make something of is judged before git is asked."""
    git = hostile / ".git"
    if kind == "pointer":
        git.write_text(f"gitdir: {private / '.git'}\n")
    elif kind == "pipe":
        os.mkfifo(git)
    else:
        git.symlink_to(private / ".git" if kind == "link to a folder" else hostile / "nothing")

    assert repository_root(hostile) == hostile


def test_worktrees_and_submodules_point_back(private, tmp_path):
    """They lie elsewhere and are one's own all the same."""
    run_git(private, "worktree", "add", "-q", str(tmp_path / "tree"))
    outer = tmp_path / "outer"
    outer.mkdir()
    run_git(outer, "init", "-q", ".")
    run_git(outer, "submodule", "--quiet", "add", str(private), "sub")

    assert foreign(tmp_path / "tree") == ""
    assert foreign(outer / "sub") == ""


def lead_by_pointer(hostile, private):
    (hostile / ".git").write_text(f"gitdir: {private}/.git\n")


def lead_by_link(hostile, private):
    (hostile / ".git").symlink_to(private / ".git")


def lead_by_common_folder(hostile, private):
    run_git(hostile, "init", "-q", ".")
    (hostile / ".git" / "commondir").write_text(f"{private}/.git\n")


def lead_by_links_inside(hostile, private):
    run_git(hostile, "init", "-q", "-b", "main", ".")
    for name in ("objects", "refs"):
        subprocess.run(["rm", "-r", hostile / ".git" / name], check=True)
        (hostile / ".git" / name).symlink_to(private / ".git" / name)


WAYS = [lead_by_pointer, lead_by_link, lead_by_common_folder, lead_by_links_inside]


@pytest.mark.parametrize("lead", WAYS, ids=lambda lead: lead.__name__)
async def test_another_repository_is_not_asked(hostile, private, lead):
    """Its history is not this folder's to show."""
    lead(hostile, private)
    with Workspace.open(hostile) as workspace, pytest.raises(WorkspaceError) as caught:
        await git(workspace, "log")

    assert caught.value.code == "git_refused"
    assert foreign(hostile)


def test_settings_that_take_in_others_are_not_plain(private):
    """They are looked at by git itself then."""
    run_git(private, "config", "include.path", "/elsewhere")

    assert not has_plain_settings(private)


def test_files_are_counted_by_the_index(private, hostile):
    """Where there is one, and it holds them all."""
    assert tracked_files(private) == 1
    assert tracked_files(hostile) is None
    run_git(private, "update-index", "--split-index")
    assert tracked_files(private) is None


def test_odd_files_in_the_place_of_git_are_borne(hostile):
    """Neither a pipe nor garbage makes it wait or fail."""
    os.mkfifo(hostile / ".git")

    assert foreign(hostile) == "" or "leads" in foreign(hostile)
    assert tracked_files(hostile) is None
