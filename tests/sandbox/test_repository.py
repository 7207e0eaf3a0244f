"""A repository in a sandbox: work goes on, and nothing is left that runs later."""

import asyncio
import os
import subprocess
import threading
from contextlib import suppress

import pytest

from agi.sandbox.mounts import Mounts
from agi.sandbox.repository import mount_repository

TRICKS = {
    "write a hook": "echo evil > .git/hooks/pre-commit",
    "link a hook": "ln -s /bin/sh .git/hooks/pre-push",
    "change the settings": "git config core.fsmonitor evil",
    "append to the settings": "echo '[core] fsmonitor = evil' >> .git/config",
    "replace the settings": "echo evil > c; mv c .git/config",
    "remove the settings": "rm -f .git/config",
    "remove the hooks": "rm -rf .git/hooks && mkdir .git/hooks && echo evil > .git/hooks/pre-commit",
    "rename the repository": "mv .git x && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit",
    "rename the hooks": "mv .git/hooks .git/h && mkdir .git/hooks",
    "link the repository": "cp -r .git g && rmdir .git || ln -sfT g .git",
    "lead elsewhere": "mkdir evil; echo ../evil > .git/commondir",
    "lead elsewhere by a move": "echo ../evil > c; mv c .git/commondir",
    "remove what leads here": "rm -f .git/commondir && echo ../evil > .git/commondir",
    "swap by another name": "ln -s .git other; echo evil > other/hooks/pre-commit",
    "plant other settings": "echo '[core] fsmonitor = evil' > .git/config.worktree",
    "plant other settings by a move": "echo '[core] fsmonitor = evil' > c; mv c .git/config.worktree",
    "plant servers": "echo '{}' > .mcp.json",
    "plant servers by a link": "ln -s x .mcp.json",
    "plant a folder of ours": "mkdir -p .agi/tools/evil && echo evil > .agi/tools/evil/tool.py",
    "replace a folder of ours": "mv .agi a; mkdir .agi",
    "exchange by a hard link": "ln .git/config linked && echo evil >> linked",
    "another case": "echo evil > .GIT/hooks/pre-commit || echo evil > .Git/config",
}


def git(*words, cwd):
    env = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    return subprocess.run(["git", *words], cwd=cwd, env=env, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(workspace):
    git("init", "-q", ".", cwd=workspace)
    git("config", "user.name", "a", cwd=workspace)
    git("config", "user.email", "a@b", cwd=workspace)
    (workspace / "file").write_text("1")
    git("add", "file", cwd=workspace)
    git("commit", "-q", "-m", "first", cwd=workspace)
    return workspace


def everything(folder):
    """All that is there of git's and ours: what each name is, and what is in it."""
    found = {}
    for top in (".git", ".agi", ".mcp.json"):
        for path in (folder / top, *(folder / top).rglob("*")):
            name = str(path.relative_to(folder))
            if path.is_symlink():
                found[name] = f"a link to {os.readlink(path)}"
            elif path.exists():
                found[name] = "a folder" if path.is_dir() else path.read_bytes()
    return found


@pytest.mark.threat("T27")
@pytest.mark.parametrize("trick", TRICKS)
async def test_nothing_that_steers_git_or_us_can_be_changed(apart, repository, trick):
    """Whatever is tried, it is afterwards as it was before; no stub is left."""
    before = everything(repository)

    result = await apart(TRICKS[trick])

    assert result.exit_code != 0 or trick in ("another case",)
    assert everything(repository) == before


@pytest.mark.threat("T27")
@pytest.mark.parametrize("trick", TRICKS)
async def test_where_it_cannot_be_kept_from_commands_it_is_put_back(in_landlock, repository, trick):
    """The second rung cannot except a file from a folder: what steers git is as before, and it says what it undid."""
    before = {name: value for name, value in everything(repository).items() if not name.startswith(".git/objects")}

    result = await in_landlock(TRICKS[trick])

    after = everything(repository)
    for name in (".git/config", ".git/config.worktree", ".git/commondir", ".mcp.json", ".agi"):
        assert after.get(name) == before.get(name)
    hooks = {name for name in after if name.startswith(".git/hooks/") and ".refused-" not in name}
    assert hooks <= before.keys()
    if any(name not in before for name in after if ".refused-" in name):
        assert any("put back" in note for note in result.notes)


@pytest.mark.threat("T27")
@pytest.mark.parametrize("trick", ["write a hook", "append to the settings", "rename the repository"])
async def test_a_folder_that_is_no_repository_yet_is_kept_from_commands_all_the_same(apart, workspace, trick):
    """Without a head git does not take it for one, but somebody may give it one later: nothing is planted in it."""
    (workspace / ".git" / "hooks").mkdir(parents=True)
    before = everything(workspace)

    await apart(f"{TRICKS[trick]}; echo 'ref: refs/heads/main' > .git/HEAD; mkdir .git/objects .git/refs")

    steers = lambda found: {name: kept for name, kept in found.items() if "hooks" in name or "config" in name}  # noqa: E731
    assert steers(everything(workspace)) == steers(before)


@pytest.mark.threat("T27")
async def test_settings_that_begin_to_count_later_are_not_planted(apart, repository, workspace, tmp_path):
    """git itself says that they count, when its user next asks for a part of the files; in work trees, too."""
    tree = (tmp_path / "tree").resolve()
    git("worktree", "add", "-q", str(tree), cwd=repository)
    for place in (repository, tree):
        folder = git("rev-parse", "--absolute-git-dir", cwd=place).strip()
        plant = f"printf '[core]\\n\\tfsmonitor = \"touch {tmp_path}/ran; false\"\\n' > {folder}/config.worktree"

        await apart(plant, workspace=place)
        git("sparse-checkout", "set", "src", cwd=place)
        git("status", cwd=place)

    assert not (tmp_path / "ran").exists()


async def test_work_on_a_repository_goes_on(apart, repository):
    """Commit, branch, stash, clean up: what git does with its own files works, and it sees none of ours."""
    result = await apart(
        "echo 2 > file && git add -A && git commit -q -m second && git checkout -q -b other && git tag x;"
        "echo 3 > file; git stash -q && git stash pop -q && git gc -q && git status --short && git log --oneline"
    )

    assert result.stderr.head == ""
    lines = result.stdout.head.splitlines()
    assert (lines[0], len(lines)) == (" M file", 3)
    assert git("log", "--format=%s", cwd=repository) == "second\nfirst\n"


async def test_settings_of_the_repositorys_own_count_over_the_users(apart, repository, tmp_path):
    """The user's name is known to commands, and no more of his settings; the repository's own name wins."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n name = Me\n email = me@home\n[github]\n token = secret\n")
    told = await apart("git config user.name; git config github.token; cat ~/.gitconfig", env={"HOME": str(home)})
    git("config", "--unset", "user.name", cwd=repository)
    theirs = await apart("git config user.name; git commit -q --allow-empty -m x", env={"HOME": str(home)})

    assert told.stdout.head.startswith("a\n")
    assert "secret" not in told.stdout.head
    assert (theirs.stdout.head, theirs.exit_code) == ("Me\n", 0)


async def test_without_a_repository_none_can_be_made_unless_that_is_allowed(apart, workspace):
    """A new repository would have hooks of the command's choosing."""
    refused = await apart("git init -q .")
    left = os.listdir(workspace)
    allowed = await apart("git init -q . && ls -a", may_create_repository=True)

    assert (refused.exit_code != 0, left) == (True, [])
    assert allowed.exit_code == 0
    assert (workspace / ".git" / "HEAD").exists()


async def test_a_worktree_can_be_committed_to(apart, repository, workspace, tmp_path):
    """Its repository lies elsewhere and may be changed too, but for what steers git there."""
    tree = (tmp_path / "tree").resolve()
    git("worktree", "add", "-q", str(tree), cwd=repository)
    shared = repository / ".git"
    script = (
        "echo 9 > file && git commit -q -a -m inside && git log --format=%s -1;"
        f"echo evil > {shared}/hooks/pre-commit; echo evil >> {shared}/config;"
        f"echo /evil > {shared}/worktrees/tree/commondir; rm {shared}/worktrees/tree/commondir; echo gitdir: /x > .git"
    )
    before = (shared / "config").read_bytes(), (shared / "worktrees/tree/commondir").read_bytes()

    result = await apart(f"cd {tree}; {script}", workspace=tree)

    assert result.stdout.head == "inside\n"
    assert ((shared / "config").read_bytes(), (shared / "worktrees/tree/commondir").read_bytes()) == before
    assert not (shared / "hooks/pre-commit").exists()


async def test_a_submodule_can_be_committed_to(apart, repository, tmp_path):
    """The same for a submodule, whose repository lies inside its parent's."""
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "sub", cwd=repository)
    sub = repository / "sub"

    result = await apart(
        "git commit -q --allow-empty -m inside && git log --format=%s -1; git config x.y z",
        workspace=sub,
        env={f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    )

    assert result.stdout.head == "inside\n"
    assert "x.y" not in git("config", "--list", cwd=sub)


PIPES = {
    "in the place of the index": ("rm .git/index; mkfifo .git/index", ".git/index"),
    "beside the index": ("mkfifo .git/sharedindex.x", ".git/sharedindex.x"),
    "that seems to lead back": ("mkfifo ../.git/modules/sub/gitdir", "../.git/modules/sub/gitdir"),
}


@pytest.mark.threat("T35")
@pytest.mark.parametrize("pipe", PIPES)
def test_a_pipe_is_not_waited_for(apart, repository, pipe):
    """Nobody writes to it, and the daemon that read it would stand still for everybody."""
    plant, path = PIPES[pipe]
    if path.startswith(".."):
        git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "sub", cwd=repository)
    folder = repository / "sub" if path.startswith("..") else repository
    said = []

    async def two():
        said.append(await apart(plant, workspace=folder))
        said.append(await apart("echo again", workspace=folder))

    one = threading.Thread(target=asyncio.run, args=(two(),))
    one.start()
    one.join(20)
    waits = one.is_alive()
    while one.is_alive():
        with suppress(OSError):  # unless somebody reads it
            os.close(os.open(folder / path, os.O_WRONLY | os.O_NONBLOCK))
        one.join(0.1)

    assert not waits
    assert (folder / path).is_fifo()
    assert said[1].stdout.head == "again\n"


async def test_a_pointer_to_a_folder_that_does_not_point_back_opens_nothing(apart, workspace, elsewhere):
    """A file of the workspace cannot make another folder writable."""
    for name in ("HEAD", "config", "commondir", "gitdir"):
        (elsewhere / name).write_text("../..\n")
    (elsewhere / "objects").mkdir()
    (workspace / ".git").write_text(f"gitdir: {elsewhere}\n")

    result = await apart(f"echo evil > {elsewhere}/planted")

    assert result.exit_code != 0
    assert not (elsewhere / "planted").exists()


def test_a_link_in_the_place_of_a_repository_is_told(workspace):
    """No mount can stand on a link, so someone else must look after it."""
    (workspace / ".git").symlink_to("elsewhere")
    mounts = Mounts()

    assert not mount_repository(mounts, str(workspace), may_create=False)
    assert mounts.steps == []


async def test_a_linked_repository_is_put_back(apart, repository):
    """What a command does to the link is undone after it."""
    (repository / ".git").rename(repository / "real")
    (repository / ".git").symlink_to("real")

    result = await apart("rm .git && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit")

    assert os.readlink(repository / ".git") == "real"
    assert "put back" in result.notes[0]
    assert git("log", "--format=%s", cwd=repository) == "first\n"


async def test_linked_hooks_make_the_repository_read_only(apart, repository):
    """Where the hooks are a link, a command could put others in its place: so nothing of it may be changed."""
    (repository / ".git/hooks").rename(repository / "hooks")
    (repository / ".git/hooks").symlink_to("../hooks")

    result = await apart("git status --short; rm .git/hooks; git commit -q --allow-empty -m x")

    assert result.exit_code != 0
    assert os.readlink(repository / ".git/hooks") == "../hooks"
