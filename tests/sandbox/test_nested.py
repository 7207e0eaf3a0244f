"""Repositories inside a workspace: work with them goes on, and none is left that starts a program."""

import os
import shutil
import subprocess

import pytest

from agi.sandbox import repositories
from agi.sandbox.nested import Nested

WHO = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
NEW = "git init -q n && git -C n commit -q --allow-empty -m n"
COPY = "cp -r .git/modules/sub evil && git config --file evil/config core.worktree ../sub"


def git(*words, cwd):
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **WHO}
    return subprocess.run(["git", *words], cwd=cwd, env=env, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(workspace, tmp_path):
    """A repository with a submodule, whose own repository lies in its parent's."""
    library = tmp_path / "library"
    library.mkdir()
    for folder in (library, workspace):
        git("init", "-q", ".", cwd=folder)
        (folder / "file").write_text("1")
        git("add", "file", cwd=folder)
        git("commit", "-q", "-m", "first", cwd=folder)
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "sub", cwd=workspace)
    git("commit", "-q", "-m", "sub", cwd=workspace)
    return workspace


def look_around(repository):
    """What a user would do next, in the whole and in each folder."""
    git("status", cwd=repository)
    for folder in filter(os.path.isdir, (repository / name for name in ("n", "sub", "a/b/c/n"))):
        subprocess.run(["git", "status"], cwd=folder, capture_output=True)
        subprocess.run(["git", "add", "."], cwd=repository, capture_output=True)
    git("status", cwd=repository)


@pytest.fixture
def planted(repository, tmp_path):
    """What must not come about, and a program that would make it."""
    (repository / "evil.sh").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (repository / "evil.sh").chmod(0o755)
    return tmp_path / "ran"


TRICKS = {
    "a new repository": f"{NEW} && git -C n config core.fsmonitor '$E' && git add n",
    "one that is not added": f"{NEW} && git -C n config core.fsmonitor '$E'",
    "one far below": f"mkdir -p a/b/c && cd a/b/c && {NEW} && git -C n config core.fsmonitor '$E'",
    "a hook": f"{NEW} && cp $E n/.git/hooks/post-index-change && git add n",
    "a linked hook": f"{NEW} && ln -s $E n/.git/hooks/post-index-change && git add n",
    "linked hooks": f"{NEW} && mkdir h && cp $E h/post-index-change && rm -r n/.git/hooks && ln -s ../../h "
    "n/.git/hooks",
    "many hooks": f"{NEW} && for i in $(seq 300); do cp $E n/.git/hooks/a$i; done; cp $E "
    "n/.git/hooks/post-index-change",
    "other settings": f"{NEW} && git -C n config extensions.worktreeConfig true && git -C n config --worktree "
    "core.fsmonitor '$E'",
    "included settings": f"{NEW} && git config --file x core.fsmonitor '$E' && git -C n config include.path ../../x",
    "linked settings": f"{NEW} && cp n/.git/config x && git config --file x core.fsmonitor '$E' && ln -sf ../../x "
    "n/.git/config",
    "a shared folder": f"{NEW} && cp -r n/.git c && git config --file c/config core.fsmonitor '$E' && echo ../../c > "
    "n/.git/commondir",
    "another pointer": f"{COPY} && git config --file evil/config core.fsmonitor '$E' && echo 'gitdir: ../evil' > "
    "sub/.git",
    "a linked pointer": f"{COPY} && git config --file evil/config core.fsmonitor '$E' && rm sub/.git && ln -s ../evil "
    "sub/.git",
    "an odd pointer": f"{COPY} && mv evil 'evil ' && git config --file 'evil /config' core.fsmonitor '$E' && printf "
    "'gitdir: ../evil \\r\\n\\n' > sub/.git",
    "a pointer with more behind": f"{COPY} && git config --file evil/config core.fsmonitor '$E' && printf "
    "'gitdir: ../evil\\0junk' > sub/.git && head -c 500000 /dev/zero >> sub/.git",
    "a pointer into the repository": f"{COPY} && mv evil .git/evil && git config --file .git/evil/config core.worktree "
    "../../sub && git config --file .git/evil/config core.fsmonitor '$E' && echo 'gitdir: ../.git/evil' > sub/.git",
    "a repository without a work tree": "git init -q --bare n && git -C n config core.bare false && git -C n config "
    "core.worktree . && git -C n config core.fsmonitor '$E'",
}


@pytest.mark.threat("T27")
@pytest.mark.parametrize("trick", TRICKS)
async def test_nothing_of_it_runs_when_its_user_calls_git(confined, repository, planted, trick):
    """Neither in the whole nor in the folder itself; and it is said what was set aside."""
    result = await confined(TRICKS[trick].replace("$E", f"{repository}/evil.sh"), env=WHO)

    assert result.exit_code == 0, result.stderr.head
    look_around(repository)
    assert not planted.exists()
    assert any("set aside, since it makes git start programs" in note for note in result.notes)
    assert git("-C", "sub", "log", "--format=%s", cwd=repository) == "first\n"


async def test_a_submodules_settings_are_not_changed(confined, repository):
    """Kept from commands, or put back."""
    settings = repository / ".git/modules/sub/config"
    before = settings.read_bytes()

    await confined("git config --file .git/modules/sub/config core.fsmonitor evil", env=WHO)

    assert settings.read_bytes() == before


WORK = {
    "a new repository": f"{NEW} && git -C n config user.name me && git -C n remote add origin https://host.example/n",
    "a clone": "git clone -q . copy && git -C copy checkout -q -b topic --track origin/HEAD",
    "a bare one": "git init -q --bare b.git && git push -q ./b.git HEAD:refs/heads/main",
    "a work tree": "git worktree add -q wt && cd wt && echo 2 > file && git commit -q -a -m more",
    "a look at a submodule": "cd sub && echo 2 > file && git status --short && git log -1",
    "a moved folder": "mkdir into && mv own into/own",
    "a removed one": "rm -rf own sub/.git",
}


@pytest.mark.parametrize("work", WORK)
async def test_ordinary_work_with_repositories_goes_on(confined, repository, work):
    """Whatever its user set up himself, and whatever git does by itself."""
    git("config", "core.hooksPath", ".husky", cwd=repository)
    git("init", "-q", "own", cwd=repository)
    git("config", "core.fsmonitor", "theirs", cwd=repository / "own")

    result = await confined(WORK[work], env=WHO)

    assert (result.exit_code, result.notes) == (0, ()), result.stderr.head
    assert [path for path in repository.rglob("*.refused-*") if ".git/objects" not in str(path)] == []


async def test_what_its_user_set_up_stays_when_a_command_changes_other_settings(confined, repository):
    """Only what is new counts."""
    git("init", "-q", "own", cwd=repository)
    git("config", "core.fsmonitor", "theirs", cwd=repository / "own")

    fine = await confined("git -C own remote add origin https://host.example/n", env=WHO)
    refused = await confined("git -C own config core.sshCommand evil", env=WHO)

    assert fine.notes == ()
    assert refused.notes == ("set aside, since it makes git start programs: own/.git/config (core.sshcommand)",)
    assert "theirs" in git("config", "--list", cwd=repository / "own")
    assert "host.example" in git("config", "--list", cwd=repository / "own")
    assert "evil" in (repository / "own/.git/config.refused-1").read_text()


def test_settings_that_came_with_the_project_are_not_made_to_count(repository):
    """A folder that looks like a repository may lie in a project; a pointer to it is new."""
    shutil.copytree(repository / ".git/modules/sub", repository / "fixture")
    git("config", "--file", "fixture/config", "core.fsmonitor", "evil", cwd=repository)
    pointer = (repository / "sub/.git").read_text()
    nested = Nested(str(repository))
    (repository / "sub/.git").write_text("gitdir: ../fixture\n")

    assert "sub/.git" in nested.put_back()[0]
    assert (repository / "sub/.git").read_text() == pointer
    assert "evil" in (repository / "fixture/config").read_text()


def test_what_leads_to_changed_settings_elsewhere_goes(repository, tmp_path):
    """They may lie in another place that commands may change."""
    shutil.copytree(repository / ".git/modules/sub", tmp_path / "elsewhere")
    (repository / "sub/.git").write_text(f"gitdir: {tmp_path}/elsewhere\n")
    nested = Nested(str(repository))
    git("config", "--file", f"{tmp_path}/elsewhere/config", "core.fsmonitor", "evil", cwd=repository)

    assert "sub/.git" in nested.put_back()[0]
    assert not (repository / "sub/.git").exists()


def test_where_there_is_too_much_to_look_at_that_is_said_once(repository, monkeypatch):
    """What git would go into by itself is looked at all the same."""
    monkeypatch.setattr(repositories, "MOST_FOLDERS", 1)
    git("init", "-q", "n", cwd=repository)
    nested = Nested(str(repository))
    git("config", "core.fsmonitor", "evil", cwd=repository / "n")
    (repository / "sub/.git").write_text("gitdir: ../n/.git\n")

    first, second = nested.put_back(), nested.put_back()

    assert "sub/.git" in first[0]
    assert "not all folders could be looked through" in first[-1]
    assert second == ()


def test_what_was_there_before_is_never_taken_for_new(repository, monkeypatch):
    """Not even where the first look did not get so far."""
    git("init", "-q", "own", cwd=repository)
    git("config", "core.fsmonitor", "theirs", cwd=repository / "own")
    settings = repository / "own/.git/config"
    monkeypatch.setattr(repositories, "MOST_FOLDERS", 1)
    nested = Nested(str(repository))
    nested._began_ns = settings.stat().st_ctime_ns + 1
    monkeypatch.undo()

    assert not any("own" in note for note in nested.put_back())
    assert settings.exists()


def test_names_a_command_chose_can_be_told(repository):
    """They may hold anything, and there may be many."""
    nested = Nested(str(repository))
    for number in range(20):
        folder = os.fsencode(repository) + b"/\xff\n%d" % number
        os.mkdir(folder)
        git("init", "-q", ".", cwd=folder)
        git("config", "core.pager", "evil", cwd=folder)

    (note,) = nested.put_back()

    assert note.encode()
    assert note.isprintable()
    assert note.endswith(" and 12 more")


def test_no_descriptor_is_left(repository):
    """However it went."""
    before = len(os.listdir("/proc/self/fd"))
    nested = Nested(str(repository))
    git("init", "-q", "n", cwd=repository)
    git("config", "core.pager", "evil", cwd=repository / "n")

    assert nested.put_back()
    assert len(os.listdir("/proc/self/fd")) == before
