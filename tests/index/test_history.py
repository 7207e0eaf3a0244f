"""What past commits say."""

import os
import subprocess

import pytest

from agi.index import history
from agi.index.asking import read_question
from agi.index.history import Commit, Past, head_of, pack, parse, read_log, unpack
from agi.workspace.handle import Workspace


def run_git(folder, *args):
    command = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", *args]
    env = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, env=env, text=True).stdout.strip()


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    run_git(folder, "init", "-q", "-b", "main", ".")
    for name, message in (("cart.py", "Round prices in the cart"), ("mail.py", "Send mail twice")):
        (folder / name).write_text(name)
        run_git(folder, "add", ".")
        run_git(folder, "commit", "-qm", message)
    with Workspace.open(folder) as workspace:
        yield workspace


async def commits_of(workspace, since=""):
    return parse(await read_log(workspace, await head_of(workspace), since) or b"")


async def test_the_log_is_read_newest_first_with_what_each_commit_changed(project):
    """Through the one hardened git."""
    newest, oldest = await commits_of(project)
    assert (newest.paths, oldest.paths) == (("mail.py",), ("cart.py",))
    assert {"round", "pric", "cart"} <= set(oldest.terms)


async def test_after_a_commit_only_the_new_ones_are_asked_for(project):
    """History that is known is not read again; one that was rewritten is."""
    before = await head_of(project)
    (project.root / "cart.py").write_text("more")
    run_git(project.root, "commit", "-qam", "Third")
    assert [commit.paths for commit in await commits_of(project, before)] == [("cart.py",)]
    run_git(project.root, "commit", "-q", "--amend", "-m", "Rewritten")
    head = await head_of(project)
    run_git(project.root, "reset", "-q", "--hard", before)
    assert await read_log(project, await head_of(project), head) is None


async def test_a_folder_without_a_repository_or_without_commits_has_no_past(tmp_path):
    """Ranking goes on without it."""
    with Workspace.open(tmp_path) as workspace:
        assert await head_of(workspace) == ""
        run_git(tmp_path, "init", "-q", ".")
        assert await head_of(workspace) == ""


async def test_paths_are_named_from_the_workspace_below_a_repositorys_root(project):
    """A workspace may be a part of a repository."""
    (project.root / "sub").mkdir()
    (project.root / "sub" / "x.py").write_text("x")
    run_git(project.root, "add", ".")
    run_git(project.root, "commit", "-qm", "Deep")
    with Workspace.open(project.root / "sub") as below:
        assert (await commits_of(below))[0].paths == ("x.py",)


def test_a_log_that_is_cut_off_or_odd_is_read_as_far_as_it_goes():
    """Messages and names are anybody's."""
    head = b"a" * 40
    assert parse(b"") == parse(b"nonsense\0") == []
    (commit,) = parse(head + b"\nsay \xff it\n\0\nbad\xff.py\0half a na")
    assert (commit.id, len(commit.paths)) == ("a" * 40, 1)
    sweeping = head + b"\nformat all\n\0\n" + b"".join(b"f%d\0" % n for n in range(5000))
    assert parse(sweeping)[0].paths == ()


def test_what_was_kept_is_read_again_and_nonsense_is_nothing():
    """The cache may be damaged."""
    commits = [Commit("a" * 40, ("cart",), ("cart.py",))]
    assert unpack(pack(commits)) == commits
    assert unpack(b"nonsense") == unpack(b"") == []


def past_of(*told):
    return Past(
        [Commit(f"{n:040x}", tuple(read_question(text).terms), tuple(paths)) for n, (text, *paths) in enumerate(told)]
    )


def test_files_of_commits_that_resemble_the_question_come_first():
    """Who changed it last time for such a reason changes it again."""
    past = past_of(("Send mail twice", "mail.py"), ("Round prices in the cart", "cart.py"), ("Tidy", "cart.py", "x.py"))
    files, witnesses = past.alike(read_question("prices in the cart are wrong").terms)
    assert max(files, key=files.__getitem__) == "cart.py"
    assert witnesses["cart.py"] == f"{1:040x}"
    assert "mail.py" not in files


def test_a_commit_of_few_files_says_more_for_each():
    """What is changed together with much else is changed by chance."""
    past = past_of(("Round prices", "a.py", *(f"x{n}.py" for n in range(20))), ("Round prices", "b.py"))
    files, _ = past.alike(read_question("round prices").terms)
    assert files["b.py"] > files["a.py"]


def test_old_commits_fade(monkeypatch):
    """The same message says less after a thousand others."""
    monkeypatch.setattr(history, "_HALF_ALIKE", 2)
    past = past_of(("Round prices", "new.py"), *[("other", "o.py")] * 6, ("Round prices", "old.py"))
    files, _ = past.alike(read_question("round prices").terms)
    assert files["new.py"] > 3 * files["old.py"]
    assert past.recent["new.py"] > past.recent["old.py"]


def test_a_commit_is_known_by_the_beginning_of_its_hash():
    """As people write it."""
    past = past_of(("Round prices", "a.py"), ("Send mail", "b.py"))
    assert past.of([f"{1:040x}"[:39] + "1"]) == {"b.py": f"{1:040x}"}
    assert past.of([]) == past.of(["fffffff"]) == {}
