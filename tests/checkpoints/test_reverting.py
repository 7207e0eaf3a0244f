"""Taking steps back: exactly what was, only what the session changed, and never half."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.checkpoints.conftest import Watched

from agi.checkpoints import restoring
from agi.checkpoints.looking import OWN_PREFIX
from agi.checkpoints.reverting import carry_out, settle
from agi.checkpoints.store import Store
from agi.checkpoints.tracking import Tracker
from agi.errors import Conflict, DiskFull
from agi.protocol.checkpoints import CheckpointPolicy
from agi.protocol.ids import CHECKPOINT, new_id

Work = Callable[[Path], object]


def sh(command: str) -> Work:
    """What a command does."""
    return lambda root: subprocess.run(["bash", "-ec", command], cwd=root, check=True)


CASES: dict[str, Work] = {
    "edited": sh("echo more >> text; echo x > deep/text"),
    "deleted": sh("rm text binary deep/text"),
    "created": sh("mkdir -p new/er; echo 1 > new/er/file; echo 2 > top"),
    "renamed": sh("mv text moved; mv deep deeper"),
    "binary": sh("printf '\\0\\1\\2' > binary; head -c 100000 /dev/urandom > noise"),
    "mode": sh("chmod +x text; chmod 600 binary; chmod 700 deep"),
    "links": sh("rm link; ln -s binary link; ln -s nowhere dangling; rm text; ln -s binary text"),
    "line endings": sh("printf 'a\\r\\nb\\rc\\n' > crlf; printf 'x' >> crlf"),
    "file to folder": sh("rm text; mkdir text; echo 1 > text/inside"),
    "folder to file": sh("rm -r deep; echo 1 > deep"),
    "empty": sh("> text; touch nothing; mkdir empty; rmdir hollow"),
    "odd names": sh("touch -- $'new\\nline' '-dash' 'q\"uote'; touch $'\\xff\\xfe'"),
    "everything gone": sh("rm -rf -- * "),
    "swapped": sh("mv text t; mv binary text; mv t binary"),
}


def fill(watched: Watched) -> None:
    watched.write("text", "one\ntwo\n", 0o644)
    watched.write("binary", b"\0\xff" * 100, 0o644)
    watched.write("crlf", b"a\r\nb\r\nc", 0o644)
    watched.write("deep/text", "x", 0o640)
    watched.write("deep/er/run.sh", "#!/bin/sh\n", 0o755)
    (watched.root / "hollow").mkdir()
    (watched.root / "link").symlink_to("deep/text")


@pytest.mark.parametrize("case", CASES)
def test_what_a_command_did_is_taken_back_exactly_and_brought_back_exactly(watched: Watched, case: str):
    """Bytes, permissions, links, folders: without git, to the last bit, both ways."""
    fill(watched)
    before = watched.tree()
    step = watched.step(lambda: CASES[case](watched.root))
    after = watched.tree()
    assert before != after

    reverted = watched.revert(step)
    assert watched.tree() == before

    watched.revert(reverted)
    assert watched.tree() == after


def test_several_steps_are_taken_back_at_once(watched: Watched):
    """To the state before the first of them."""
    fill(watched)
    before = watched.tree()
    kinds = ("edited", "created", "mode", "deleted")
    steps = [watched.step(lambda kind=kind: CASES[kind](watched.root)) for kind in kinds]

    watched.revert(*steps)
    assert watched.tree() == before


@pytest.mark.parametrize("seed", range(8))
def test_whatever_was_done_in_whatever_order_can_be_taken_back(watched: Watched, seed: int):
    """Many steps of many kinds, the user at work on other files in between: those stay, the rest goes back."""
    chance = random.Random(seed)
    names = [f"{folder}{name}" for folder in ("", "x/", "x/y/", "z/") for name in ("a", "b", "c")]
    fill(watched)
    for name in chance.sample(names, 6):
        watched.write(name, chance.randbytes(20))
    before = watched.tree()
    steps = []
    for n in range(10):
        commands = "; ".join(_random_command(chance, names) for _ in range(chance.randint(1, 4)))
        work = sh(f"set +e; {{ {commands}; }} 2>/dev/null; true")
        steps.append(watched.step(lambda work=work: work(watched.root)))
        watched.write(f"mine {n}", "the user's")
    done = [one for one in steps if one is not None]

    assert watched.plan(*done).conflicts == ()
    watched.revert(*done)
    assert {path: what for path, what in watched.tree().items() if not path.startswith("mine")} == before
    assert len([path for path in watched.tree() if path.startswith("mine")]) == 10


def _random_command(chance: random.Random, names: list[str]) -> str:
    one, other = chance.sample(names, 2)
    kinds = [
        f"mkdir -p $(dirname {one}); head -c {chance.randint(0, 50)} /dev/urandom > {one}",
        f"rm -rf {one}",
        f"mkdir -p $(dirname {other}); mv {one} {other}",
        f"chmod {chance.choice(['600', '755', '644'])} {one}",
        f"ln -sfn {other} {one}",
        f"rm -rf {one}; mkdir -p {one}; echo 1 > {one}/in",
        "mv x w; mv z x; mv w z",
    ]
    return chance.choice(kinds)


def test_only_what_the_session_changed_is_touched(watched: Watched):
    """Other files keep their bytes, their times and their very inodes."""
    fill(watched)
    step = watched.step(lambda: watched.write("text", "2"))
    watched.write("mine", "the user's own")
    others = {path: path.stat() for path in watched.root.rglob("*") if path.name not in ("text", "link")}
    watched.revert(step)

    assert {path: path.stat() for path in others} == others


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_dirty_tree_and_a_staged_index_stay_as_they_are(watched: Watched):
    """Without an identity, with staged, unstaged and untracked changes: git sees no difference afterwards."""
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*args: str) -> str:
        ran = subprocess.run(["git", *args], cwd=watched.root, env=env, check=True, capture_output=True, text=True)
        return ran.stdout

    git("init", "-q")
    watched.write("a", "1\n")
    watched.write("b", "1\n")
    git("add", ".")
    git("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "one")
    watched.write("a", "staged\n")
    git("add", "a")
    watched.write("a", "unstaged\n")
    watched.write("untracked", "mine\n")
    index = (watched.root / ".git/index").read_bytes()
    before = (git("status", "--porcelain"), git("diff"), git("diff", "--cached"))
    assert (watched.root / ".git/index").read_bytes() == index
    tree = watched.tree()
    step = watched.step(lambda: sh("echo agent > a; rm b untracked; echo new > c")(watched.root))

    watched.revert(step)
    assert watched.tree() == tree
    assert (watched.root / ".git/index").read_bytes() == index
    assert (git("status", "--porcelain"), git("diff"), git("diff", "--cached")) == before


def test_what_the_user_changed_since_is_refused_and_named(watched: Watched):
    """Nothing is planned for it; with its name in hand it can be forced, and that can be taken back too."""
    fill(watched)
    step = watched.step(lambda: CASES["edited"](watched.root))
    watched.write("text", "mine")

    plan = watched.plan(step)
    assert [(one.path, one.reason) for one in plan.conflicts] == [("text", "changed_since")]
    assert [one.path for one in plan.moves] == ["deep/text"]

    forced = watched.revert(step, forced=("text",))
    assert (watched.root / "text").read_text() == "one\ntwo\n"
    watched.revert(forced)
    assert (watched.root / "text").read_text() == "mine"


@pytest.mark.parametrize("work", ["rm text", "rm text; mkdir text", "rm text; ln -s binary text", "chmod 600 text"])
def test_any_change_of_the_users_is_refused(watched: Watched, work: str):
    """Deleted, a folder, a link, other permissions."""
    fill(watched)
    step = watched.step(lambda: watched.write("text", "agent"))
    sh(work)(watched.root)

    assert [one.reason for one in watched.plan(step).conflicts] == ["changed_since"]


def test_a_user_edit_between_two_steps_is_refused(watched: Watched):
    """It is in what the agent built on; only back to after it is free."""
    watched.write("a", "0")
    first = watched.step(lambda: watched.write("a", "agent 1"))
    watched.write("a", "mine")
    second = watched.step(lambda: watched.write("a", "mine and agent 2"))

    assert [one.reason for one in watched.plan(first, second).conflicts] == ["changed_between"]
    watched.revert(second)
    assert (watched.root / "a").read_text() == "mine"


def test_another_sessions_later_change_is_refused_by_its_name(watched: Watched):
    """Two sessions in one workspace: the first does not take back what the second built on it."""
    watched.write("a", "0")
    first = watched.step(lambda: watched.write("a", "1"), session="sess_1")
    watched.step(lambda: watched.write("a", "2"), session="sess_2")

    found = watched.plan(first).conflicts
    assert [(one.reason, one.session_id) for one in found] == [("changed_since", "sess_2")]


def test_another_sessions_change_during_a_slow_command_is_refused(watched: Watched):
    """The slow one cannot claim it, the one that named it can."""
    for name in ("a", "b"):
        watched.write(name, "0")
    slow = watched.tracker("sess_1")
    begun = slow.begin(id=new_id(CHECKPOINT), session="sess_1", turn=None, call="")
    watched.write("b", "slow")
    quick = watched.step(lambda: watched.write("a", "quick"), session="sess_2", named=("a",))
    closed = slow.end(begun.step)

    plan = watched.plan(closed)
    assert [(one.path, one.reason, one.session_id) for one in plan.conflicts] == [("a", "changed_elsewhere", "sess_2")]
    assert [one.path for one in plan.moves] == ["b"]
    watched.revert(quick, session="sess_2")
    assert (watched.root / "a").read_text() == "0"


def test_a_file_too_large_to_be_kept_stays_and_is_named(watched: Watched):
    """The rest is taken back."""
    watched.policy = CheckpointPolicy(max_file_bytes=1000)
    watched.write("big", "x" * 2000)
    watched.write("small", "1")

    def work() -> None:
        watched.write("big", "y" * 2000)
        watched.write("made big", "z" * 2000)
        watched.write("small", "2")

    step = watched.step(work)
    plan = watched.plan(step)
    assert [one.path for one in plan.unrestored] == ["big", "made big"]
    watched.revert(step)
    assert (watched.root / "small").read_text() == "1"
    assert (watched.root / "big").read_text() == "y" * 2000


def test_a_change_between_looking_and_doing_stops_it(watched: Watched):
    """The plan is for the files as they were."""
    watched.write("a", "0")
    step = watched.step(lambda: watched.write("a", "1"))
    plan = watched.plan(step)
    watched.write("a", "mine")

    with pytest.raises(Conflict, match="changed by someone else"):
        carry_out(watched.tracker(), plan.moves, id=new_id(CHECKPOINT), session="sess_1")
    assert (watched.root / "a").read_text() == "mine"
    assert [one.reason for one in watched.plan(step).conflicts] == ["changed_since"]


def test_a_step_that_made_room_cannot_be_taken_back(watched: Watched):
    """It is said, instead of a state that never was."""
    step = watched.step(lambda: watched.write("a", "1"))
    assert step is not None
    with watched.store.writing() as db:
        db.execute("DELETE FROM steps")

    with pytest.raises(Conflict) as caught:
        watched.plan(step)
    assert caught.value.code == "checkpoint_gone"


def test_a_full_store_stops_a_revert_before_it_touches_anything(watched: Watched):
    """What is there now must be kept first, or the undo could not be undone."""
    watched.write("a", "0")
    step = watched.step(lambda: watched.write("a", "1"))
    watched.write("a", os.urandom(400_000))
    with watched.store.reading() as db:
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count={pages + 1}")
    with pytest.raises(DiskFull):
        watched.plan(step)
    with watched.store.reading() as db:
        db.execute("PRAGMA max_page_count=1000000")

    assert [one.reason for one in watched.plan(step).conflicts] == ["changed_since"]


def test_a_failure_after_the_files_were_put_back_puts_them_forward_again(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
):
    """Either all of it happened, or nothing did."""
    fill(watched)
    step = watched.step(lambda: CASES["edited"](watched.root))
    after = watched.tree()
    plan = watched.plan(step)
    tracker = watched.tracker()

    def failing(*args: object, **fields: object) -> None:
        raise DiskFull("no room")

    monkeypatch.setattr(tracker, "end", failing)
    with pytest.raises(DiskFull):
        carry_out(tracker, plan.moves, id=new_id(CHECKPOINT), session="sess_1")
    assert watched.tree() == after


KILLED = """
import os, signal, sys
from pathlib import Path
from agi.checkpoints import restoring
from agi.checkpoints.reverting import carry_out, plan_revert, settle
from agi.checkpoints.store import Store
from agi.checkpoints.tracking import Tracker
from agi.protocol.checkpoints import CheckpointPolicy
from agi.workspace.handle import Workspace

store, root, step, at = sys.argv[1:5]
calls = iter(range(1000))

def deadly(real):
    def call(*args, **fields):
        if next(calls) == int(at):
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **fields)
    return call

tracker = Tracker(Store(Path(store)), Workspace.open(root), CheckpointPolicy())
settle(tracker)
plan = plan_revert(tracker, "sess_1", [step], wanted=lambda paths: paths, forced=lambda paths: ())
for name in ("exchange", "claim"):
    setattr(restoring, name, deadly(getattr(restoring, name)))
for name in ("mkdir", "rmdir", "rename", "unlink", "symlink", "fsync"):
    setattr(restoring.os, name, deadly(getattr(os, name)))
carry_out(tracker, plan.moves, id="ckpt_0123456789abcdef0123456789abcdef", session="sess_1")
print("done")
"""


@pytest.mark.parametrize("at", range(0, 60, 3))
def test_a_kill_in_the_middle_of_a_revert_is_put_right_by_the_next(watched: Watched, at: int):
    """Wherever it comes: after running it again everything is as before the step; nothing lies about."""
    fill(watched)
    before = watched.tree()
    work = sh(
        "echo x >> text; rm binary; rm link; ln -s a link; mv deep deeper; mkdir -p n/n; echo 1 > n/n/f;"
        "rm crlf; mkdir crlf"
    )
    step = watched.step(lambda: work(watched.root))
    assert step is not None
    after = watched.tree()
    watched.store.close()

    ran = subprocess.run(
        [sys.executable, "-c", KILLED, str(watched.store.folder), str(watched.root), step.step.id, str(at)],
        capture_output=True,
        text=True,
    )
    assert ran.returncode in (0, -signal.SIGKILL), ran.stderr
    if ran.returncode:
        settle(watched.tracker())
        assert watched.tree() == after
        watched.revert(step)
    assert watched.tree() == before
    assert not [path for path in watched.root.rglob("*") if path.name.startswith(OWN_PREFIX)]


def test_what_a_user_did_after_the_kill_is_left_alone(watched: Watched):
    """A path that is neither as it was nor as it should be is somebody's newer work."""
    watched.write("a", "0")
    watched.write("b", "0")
    step = watched.step(lambda: [watched.write(name, "agent") for name in "ab"])
    assert step is not None
    watched.store.close()
    for at in range(40):
        ran = subprocess.run(
            [sys.executable, "-c", KILLED, str(watched.store.folder), str(watched.root), step.step.id, str(at)],
            capture_output=True,
        )
        if (watched.root / "a").read_text() == "0":
            break
        settle(watched.tracker())
        watched.store.close()
    assert ran.returncode == -signal.SIGKILL
    watched.write("a", "mine, after the kill")

    settle(watched.tracker())
    assert (watched.root / "a").read_text() == "mine, after the kill"
    assert (watched.root / "b").read_text() == "agent"


def test_a_store_that_came_with_a_repository_writes_no_files(watched: Watched, tmp_path: Path):
    """One that claims that a revert was cut off, and that something is to be put back."""
    watched.write("a", "0")
    step = watched.step(lambda: watched.write("a", "1"))
    assert step is not None
    watched.store.close()
    for at in range(40):
        ran = subprocess.run(
            [sys.executable, "-c", KILLED, str(watched.store.folder), str(watched.root), step.step.id, str(at)],
            capture_output=True,
        )
        if (watched.root / "a").read_text() == "0":
            break
        settle(watched.tracker())
        watched.store.close()
    assert ran.returncode == -signal.SIGKILL
    shutil.copytree(watched.store.folder, tmp_path / "shipped")
    tracker = Tracker(Store(tmp_path / "shipped"), watched.workspace, CheckpointPolicy())

    settle(tracker)
    assert (watched.root / "a").read_text() == "0"
    tracker.store.close()


def test_a_revert_that_is_under_way_elsewhere_is_not_disturbed(watched: Watched, monkeypatch: pytest.MonkeyPatch):
    """Only what a dead process left is put back."""
    watched.write("a", "0")
    step = watched.step(lambda: watched.write("a", "1"))
    real = restoring.exchange

    def meanwhile(*args: object) -> bool:
        done = real(*args)  # type: ignore[arg-type]
        settle(watched.tracker("sess_2"))
        return done

    monkeypatch.setattr("agi.checkpoints.restoring.exchange", meanwhile)
    watched.revert(step)
    assert (watched.root / "a").read_text() == "0"


def test_a_100_mb_tree_is_bounded(watched: Watched):
    """The store stays within its limit, and what is not covered is counted."""
    watched.policy = CheckpointPolicy(max_file_bytes=2_000_000, max_total_bytes=40_000_000)
    for n in range(100):
        watched.write(f"data{n // 10}/{n}", os.urandom(1_000_000))
    for n in range(50):
        watched.write(f"src/{n}.py", f"print({n})\n")
    step = watched.step(lambda: watched.write("src/1.py", "changed\n"))
    told = {one.code: one.files for one in watched.tracker().omissions()}
    size = sum(path.stat().st_size for path in watched.store.folder.iterdir())

    assert size < 60_000_000, "with the write-ahead log, before it is worked in"
    assert told == {"over_limit": 81}
    watched.revert(step)
    assert (watched.root / "src/1.py").read_text() == "print(1)\n"
