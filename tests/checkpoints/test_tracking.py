"""Around a call: what it changed is found, whoever else is at work; what it did not change is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from tests.checkpoints.conftest import Watched, told

from agi.checkpoints import ledger, looking, reading, tracking
from agi.checkpoints.index import Index
from agi.checkpoints.nodes import counted, key_of
from agi.checkpoints.store import Store, get_blob
from agi.checkpoints.tracking import Tracker
from agi.errors import DiskFull
from agi.protocol.checkpoints import CheckpointPolicy

STRACE = shutil.which("strace") or ""
BECOME = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")


def test_what_a_call_does_is_found(watched: Watched):
    """Files that came, changed and went, in any folder; the rest is as it was."""
    for name in ("kept", "changed", "gone", "deep/changed"):
        watched.write(name, "1")

    def work() -> None:
        watched.write("changed", "2")
        watched.write("deep/changed", "2")
        watched.write("deep/new/file", "2")
        (watched.root / "gone").unlink()

    assert watched.changes(work) == [
        ("changed", "modified"),
        ("deep/changed", "modified"),
        ("deep/new", "added"),
        ("deep/new/file", "added"),
        ("gone", "deleted"),
    ]


def test_a_call_that_changes_nothing_leaves_no_trace(watched: Watched):
    """Also one that rewrites a file with what it held."""
    watched.write("a", "1")

    assert watched.step(lambda: watched.write("a", "1")) is None
    with watched.store.reading() as db:
        assert db.execute("SELECT count(*) FROM steps").fetchone()[0] == 0


def test_a_change_within_one_tick_of_the_clock_is_found(watched: Watched):
    """The same size, written the moment before the look: the stamp may be the same, the content is not."""
    watched.write("a", "0")
    for n in range(1, 40):
        assert watched.changes(lambda n=n: watched.write("a", str(n % 10))) == [("a", "modified")]


def test_permissions_and_links_are_changes(watched: Watched):
    """A file that became executable, a link that leads elsewhere, a link in a file's place."""
    watched.write("run", "1", 0o644)
    watched.write("file", "1")
    (watched.root / "link").symlink_to("run")

    def work() -> None:
        (watched.root / "run").chmod(0o755)
        (watched.root / "link").unlink()
        (watched.root / "link").symlink_to("file")
        (watched.root / "file").unlink()
        (watched.root / "file").symlink_to("run")

    assert watched.changes(work) == [("file", "modified"), ("link", "modified"), ("run", "modified")]


def test_a_renamed_folder_is_gone_and_come_with_all_that_is_in_it(watched: Watched):
    """The files in it keep their stamps, and are at another place all the same."""
    watched.write("old/a", "1")
    watched.write("old/deep/b", "1")

    found = watched.changes(lambda: (watched.root / "old").rename(watched.root / "new"))

    assert found == [
        *(("new" + end, "added") for end in ("", "/a", "/deep", "/deep/b")),
        *(("old" + end, "deleted") for end in ("", "/a", "/deep", "/deep/b")),
    ]


def test_names_that_are_no_text_are_kept(watched: Watched):
    """Bytes, newlines, quotes: a name is a name."""
    names = [os.fsdecode(b"\xff\xfe"), "new\nline", 'q"uote', "-dash", "é"]

    assert watched.changes(lambda: [watched.write(name, "1") for name in names]) == [
        (name, "added") for name in sorted(names)
    ]


def test_what_the_user_does_between_calls_is_not_the_calls_doing(watched: Watched):
    """The look before a call sees it first."""
    watched.write("mine", "1")
    watched.step(lambda: watched.write("a", "1"))
    watched.write("mine", "2")

    assert watched.changes(lambda: watched.write("a", "2")) == [("a", "modified")]


def test_ignored_files_are_not_looked_at(watched: Watched):
    """Neither those a rule names, nor those in folders that tools make."""
    watched.write(".gitignore", "*.log\n")

    def work() -> None:
        watched.write("a.log", "1")
        watched.write("node_modules/x.js", "1")

    assert watched.step(work) is None


def test_an_ignored_file_that_goes_or_changes_is_seen_and_not_kept(watched: Watched):
    """Nobody is to believe that an undo brings it back; what is new there is left alone."""
    watched.write(".gitignore", ".env\n*.log\nbuild/\n")
    for name in (".env", "a.log", "b.log", "sub/c.log", "build/x", "node_modules/y"):
        watched.write(name, "secret 1")

    def work() -> None:
        (watched.root / ".env").unlink()
        watched.write("a.log", "changed")
        watched.write("new.log", "1")
        shutil.rmtree(watched.root / "sub")
        shutil.rmtree(watched.root / "build")
        shutil.rmtree(watched.root / "node_modules")

    closed = watched.step(work)
    assert closed is not None
    assert [told(one.change) for one in closed.changes] == [
        (".env", "deleted"),
        ("a.log", "modified"),
        ("build", "deleted"),
        ("node_modules", "deleted"),
        ("sub", "deleted"),
        ("sub/c.log", "deleted"),
    ]
    assert counted([one.change for one in closed.changes]) == (0, 0, 0)
    plan = watched.plan(closed)
    assert [one.path for one in plan.unrestored] == [".env", "a.log", "build", "node_modules", "sub/c.log"]
    assert [one.path for one in plan.moves] == ["sub"]
    with watched.store.reading() as db:
        assert get_blob(db, key_of(b"changed"), 7) is None


def test_an_ignored_file_nobody_touched_leaves_no_trace(watched: Watched):
    """Neither does a cache that goes, nor the `.git` that a sandbox shows where there is none."""
    watched.write(".gitignore", "*.log\n")
    watched.write("a.log", "1")
    watched.write("__pycache__/x", "1")
    (watched.root / ".git").mkdir()

    def work() -> None:
        (watched.root / "a.log").read_text()
        (watched.root / ".git").rmdir()
        shutil.rmtree(watched.root / "__pycache__")

    assert watched.step(work) is None


def test_ignored_files_below_what_cannot_be_listed_have_not_gone(watched: Watched, monkeypatch: pytest.MonkeyPatch):
    """Not being seen is not being gone."""
    watched.write(".gitignore", "*.log\n")
    for name in ("deep/a.log", "deep/er/b.log"):
        watched.write(name, "1")
    watched.step(lambda: watched.write("x", "1"))

    assert watched.step(lambda: monkeypatch.setattr(looking, "DEEPEST", 0)) is None


def test_an_index_of_before_knows_nothing_of_ignored_files_and_claims_nothing(watched: Watched):
    """What an older version knew of them was only that they are there."""
    watched.write(".gitignore", "*.log\n")
    watched.write("a.log", "1")
    watched.step(lambda: watched.write("x", "1"))
    with watched.store.writing() as db:
        db.execute("UPDATE files SET key=x'' WHERE kind='passed'")
        db.execute("UPDATE workspaces SET generation=generation+1")

    assert watched.changes(lambda: watched.write("x", "2")) == [("x", "modified")]


def test_when_a_file_changed_and_how_long_a_call_took_is_written_down(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
):
    """By that one tells what may be the user's; a call that began 10 s ago and one that begins now."""
    watched.write("a", "1")
    real = time.time_ns
    with monkeypatch.context() as patched:
        patched.setattr(ledger, "time_ns", lambda: real() - 10 * 10**9)
        begun = watched.tracker().begin(id="ckpt_1", session="sess_1", turn=None, call="")
    watched.write("a", "2")
    slow = watched.tracker().end(begun.step)
    quick = watched.step(lambda: watched.write("a", "3"))

    assert [(one.path, one.reason) for one in watched.plan(slow, quick).conflicts] == [("a", "during_command")]
    assert watched.plan(quick).conflicts == ()
    watched.revert(slow, quick, forced=("a",))
    assert (watched.root / "a").read_text() == "1"


def test_an_ignored_file_that_a_call_names_is_covered(watched: Watched):
    """Before-image and all; also one that is not there yet, in a folder that is ignored."""
    watched.write(".gitignore", ".env\ndist/\n")
    watched.write(".env", "1")
    watched.write("dist/other", "1")

    def work() -> None:
        watched.write(".env", "2")
        watched.write("dist/new", "2")

    assert watched.changes(work, also=(".env", "dist/new"), named=(".env", "dist/new")) == [
        (".env", "modified"),
        ("dist/new", "added"),
    ]
    assert watched.changes(lambda: watched.write("dist/new", "3")) == [("dist/new", "modified")]


def test_files_that_only_come_into_view_are_not_new(watched: Watched):
    """A call that shortens the ignore file did not make what it uncovers; that would be deleted by an undo."""
    watched.write(".gitignore", ".env\ndist/\n")
    watched.write(".env", "secret")
    watched.write("dist/deep/app.js", "1")

    def work() -> None:
        watched.write(".gitignore", "")
        watched.write(".env", "secret, and changed")
        watched.write("dist/deep/app.js", "2")

    assert watched.changes(work) == [(".gitignore", "modified")]


def test_a_file_that_becomes_ignored_is_not_gone(watched: Watched):
    """Once covered, it stays covered."""
    watched.write("a.log", "1")
    watched.step(lambda: watched.write("x", "1"))

    def work() -> None:
        watched.write(".gitignore", "*.log\n")
        watched.write("a.log", "2")

    assert watched.changes(work) == [(".gitignore", "added"), ("a.log", "modified")]


def test_a_named_step_owns_only_what_it_names(watched: Watched):
    """What the user saves in the same moment is the user's."""
    watched.write("theirs", "1")

    def work() -> None:
        watched.write("new/folder/mine", "1")
        watched.write("theirs", "2")

    assert watched.changes(work, named=("new/folder/mine",)) == [
        ("new", "added"),
        ("new/folder", "added"),
        ("new/folder/mine", "added"),
    ]


def test_two_sessions_at_once_each_see_their_own(watched: Watched):
    """A quick one within a slow one: the quick one's change is seen by both, the slow one's only by itself."""
    slow, quick = watched.tracker("sess_1"), watched.tracker("sess_2")
    begun = slow.begin(id="ckpt_1", session="sess_1", turn=None, call="")
    watched.write("slow", "1")
    assert watched.changes(lambda: watched.write("quick", "1"), session="sess_2") == [("quick", "added")]
    watched.write("slow later", "1")
    closed = slow.end(begun.step)

    assert closed is not None
    assert {one.change.path for one in closed.changes} == {"slow", "quick", "slow later"}
    assert quick.store is slow.store


def test_another_processs_look_is_taken_over(watched: Watched, tmp_path: Path):
    """What it found is known here too; nothing is seen twice."""
    watched.write("a", "1")
    watched.step(lambda: watched.write("b", "1"))
    code = (
        "import sys; from pathlib import Path; from agi.checkpoints.store import Store\n"
        "from agi.checkpoints.tracking import Tracker; from agi.protocol.checkpoints import CheckpointPolicy\n"
        "from agi.workspace.handle import Workspace\n"
        "tracker = Tracker(Store(Path(sys.argv[1])), Workspace.open(sys.argv[2]), CheckpointPolicy())\n"
        "begun = tracker.begin(id='ckpt_x', session='sess_x', turn=None, call='')\n"
        "Path(sys.argv[2], 'a').write_text('from elsewhere')\n"
        "print(len(tracker.end(begun.step).changes))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(watched.store.folder), str(watched.root)], capture_output=True, text=True
    )
    assert ran.stdout == "1\n", ran.stderr

    assert watched.step(lambda: None) is None
    assert watched.changes(lambda: watched.write("a", "2")) == [("a", "modified")]


def test_a_process_that_died_in_a_call_leaves_a_step_that_is_closed_as_interrupted(watched: Watched):
    """Its changes are not lost, and nobody claims to know whose they are."""
    code = (
        "import os, sys; from pathlib import Path; from agi.checkpoints.store import Store\n"
        "from agi.checkpoints.tracking import Tracker; from agi.protocol.checkpoints import CheckpointPolicy\n"
        "from agi.workspace.handle import Workspace\n"
        "tracker = Tracker(Store(Path(sys.argv[1])), Workspace.open(sys.argv[2]), CheckpointPolicy())\n"
        "tracker.begin(id='ckpt_dead', session='sess_1', turn=None, call='')\n"
        "Path(sys.argv[2], 'half').write_text('done')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(watched.store.folder), str(watched.root)], capture_output=True)

    watched.tracker("sess_2").look()
    with watched.store.reading() as db:
        step = ledger.find_step(db, "ckpt_dead")
        assert step is not None
        assert step.cause == "interrupted"
        assert [one.change.path for one in ledger.changes_of(db, step)] == ["half"]


def test_a_step_that_could_not_be_closed_is_closed_by_the_next(watched: Watched):
    """The session goes on; what was left open counts as interrupted."""
    tracker = watched.tracker()
    tracker.begin(id="ckpt_1", session="sess_1", turn=None, call="call_1")
    watched.write("a", "1")
    begun = tracker.begin(id="ckpt_2", session="sess_1", turn=None, call="call_2")

    assert [(one.step.id, one.step.cause) for one in begun.left_over] == [("ckpt_1", "interrupted")]


def test_large_special_and_too_many_files_are_said_not_to_be_covered(watched: Watched):
    """How many, why, and the first of them by name."""
    watched.policy = CheckpointPolicy(max_file_bytes=100)
    for n in range(7):
        watched.write(f"big{n}", "x" * 101)
    os.mkfifo(watched.root / "pipe")
    watched.step(lambda: watched.write("a", "1"))

    told = {one.code: one for one in watched.tracker().omissions()}
    assert (told["large"].files, told["large"].paths[0]) == (7, "big0")
    assert told["special"].paths == ("pipe",)


def test_a_large_file_that_changes_is_seen_to_change(watched: Watched):
    """It cannot be brought back, but it is not overlooked."""
    watched.policy = CheckpointPolicy(max_file_bytes=100)
    watched.write("big", "x" * 101)

    assert watched.changes(lambda: watched.write("big", "y" * 102)) == [("big", "modified")]


def test_the_room_goes_to_the_smaller_files_first(watched: Watched):
    """What does not fit is not covered, and said; a later file that does not fit neither."""
    watched.policy = CheckpointPolicy(max_file_bytes=1000, max_total_bytes=2000)
    for n in range(10):
        watched.write(f"small{n}", bytes([n]) * 50)
        watched.write(f"large{n}", bytes([n]) * 400)
    watched.step(lambda: watched.write("late", "x" * 900))

    told = {one.code: one.files for one in watched.tracker().omissions()}
    index = watched.store.index(watched.workspace.root)
    covered = {path for path, known in index.known.items() if known.node.kind == "file"}
    assert {f"small{n}" for n in range(10)} <= covered
    assert told == {"over_limit": 10}
    assert index.kept <= 1000


def test_a_first_look_is_written_in_pieces(watched: Watched, monkeypatch: pytest.MonkeyPatch):
    """One that is cut off is taken up where it was; until it is whole, nothing counts as new."""
    monkeypatch.setattr(tracking, "BATCH", 1000)
    for n in range(40):
        watched.write(f"{n}", os.urandom(100))

    assert watched.changes(lambda: watched.write("new", "1")) == [("new", "added")]
    index = watched.store.index(watched.workspace.root)
    assert index.is_whole
    assert index.kept == 4001


def test_a_folder_that_cannot_be_listed_has_not_lost_its_files(watched: Watched, monkeypatch: pytest.MonkeyPatch):
    """What cannot be looked at is not gone; and what comes into view later did not come into being."""
    watched.write("deep/er/a", "1")
    watched.step(lambda: watched.write("x", "1"))
    monkeypatch.setattr(looking, "DEEPEST", 1)
    assert watched.step(lambda: None) is None
    watched.write("deep/er/b", "1")
    monkeypatch.setattr(looking, "DEEPEST", 100)

    assert watched.changes(lambda: watched.write("x", "2")) == [("x", "modified")]
    assert watched.changes(lambda: watched.write("deep/er/c", "1")) == [("deep/er/c", "added")]


@pytest.mark.skipif(shutil.which("setpriv") is None or os.geteuid() != 0, reason="needs to become another user")
def test_what_may_not_be_read_is_named_and_left_alone(watched: Watched, tmp_path: Path):
    """A file or a folder without permission is neither read nor taken for gone."""
    watched.write("open", "1")
    watched.write("closed file", "1", 0o000)
    watched.write("closed folder/a", "1")
    (watched.root / "closed folder").chmod(0o000)
    for path in (tmp_path, watched.root, tmp_path / "theirs"):
        path.mkdir(exist_ok=True)
        path.chmod(0o777)
    code = (
        "import sys; from pathlib import Path; from agi.checkpoints.store import Store\n"
        "from agi.checkpoints.tracking import Tracker; from agi.protocol.checkpoints import CheckpointPolicy\n"
        "from agi.workspace.handle import Workspace\n"
        "tracker = Tracker(Store(Path(sys.argv[1])), Workspace.open(sys.argv[2]), CheckpointPolicy())\n"
        "begun = tracker.begin(id='ckpt_x', session='sess_x', turn=None, call='')\n"
        "Path(sys.argv[2], 'new').write_text('x')\n"
        "closed = tracker.end(begun.step)\n"
        "print([one.change.path for one in closed.changes], [(one.code, one.files) for one in tracker.omissions()])\n"
    )
    parents = [parent for parent in tmp_path.parents if parent.stat().st_mode & 0o005 != 0o005]
    modes = {parent: parent.stat().st_mode for parent in parents}
    for parent in parents:
        parent.chmod(modes[parent] | 0o005)
    try:
        ran = subprocess.run(
            [*BECOME, sys.executable, "-c", code, str(tmp_path / "theirs" / "c"), str(watched.root)],
            capture_output=True,
            text=True,
        )
    finally:
        for parent, mode in modes.items():
            parent.chmod(mode)
    if "PermissionError" in ran.stderr and "site-packages" in ran.stderr:
        pytest.skip("another user cannot run this interpreter")

    assert ran.stdout == "['new'] [('unreadable', 2)]\n", ran.stderr


def test_a_full_disk_keeps_a_step_from_beginning(watched: Watched):
    """Nothing is written down, and what is known stays right for when there is room again."""
    watched.write("a", "1")
    watched.step(lambda: watched.write("a", "2"))
    with watched.store.reading() as db:
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count={pages + 1}")
    watched.write("b", os.urandom(500_000))
    with pytest.raises(DiskFull):
        watched.step(lambda: None)
    with watched.store.reading() as db:
        db.execute("PRAGMA max_page_count=1000000")

    assert watched.changes(lambda: watched.write("b", "2")) == [("b", "modified")]


def test_a_step_survives_being_read_back(watched: Watched):
    """What is in the store is what was put there."""
    closed = watched.step(lambda: watched.write("é", "1"), named=("é", os.fsdecode(b"\xff")))
    assert closed is not None
    with Store(watched.store.folder).reading() as db:
        assert ledger.steps_of(db, "sess_1") == [closed.step]
        assert msgspec.structs.replace(closed.step, last=None) != closed.step


def test_a_workspace_that_is_gone_is_said_to_be(watched: Watched):
    """Not a traceback."""
    tracker = Tracker(watched.store, watched.workspace, CheckpointPolicy())
    watched.workspace.close()
    with pytest.raises(Exception, match="closed") as caught:
        tracker.look()
    assert hasattr(caught.value, "code")


@pytest.mark.skipif(not STRACE, reason="strace is not installed")
def test_what_a_look_found_is_forced_to_disk_and_a_look_that_found_nothing_waits_for_none(tmp_path: Path):
    """A power cut after the call began must not lose what it changed; a step alone may be lost."""
    (tmp_path / "work").mkdir()
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from agi.checkpoints.store import Store\n"
        "from agi.checkpoints.tracking import Tracker\n"
        "from agi.protocol.checkpoints import CheckpointPolicy\n"
        "from agi.workspace.handle import Workspace\n"
        "root = Path('work')\n"
        "tracker = Tracker(Store(Path('data')), Workspace.open(root), CheckpointPolicy())\n"
        "tracker.look()\n"
        "def begin(id): tracker.begin(id=id, session='s', turn=None, call='c')\n"
        "os.write(2, b'quiet\\n'); begin('one')\n"
        "(root / 'new.txt').write_text('new')\n"
        "os.write(2, b'changed\\n'); begin('two'); os.write(2, b'over\\n')\n"
    )
    calls = tmp_path / "calls"
    command = (STRACE, "-f", "-e", "trace=write,pwrite64,fdatasync,fsync", "-o", str(calls), sys.executable)
    subprocess.run((*command, "-c", script), cwd=tmp_path, check=True, stderr=subprocess.DEVNULL)

    said = calls.read_text()
    quiet = said.partition('"quiet')[2].partition('"changed')[0]
    changed = said.partition('"changed')[2].partition('"over')[0]
    assert "pwrite64(" in quiet
    assert "sync(" not in quiet
    assert changed.rindex("sync(") > changed.rindex("pwrite64(")


@pytest.mark.parametrize("found_by", ["this process", "another"])
def test_what_somebody_else_found_is_on_the_disk_too_before_a_call_runs(watched: Watched, monkeypatch, found_by: str):
    """A call found it and did not come to force it to disk; the next one would change what a power cut then loses."""
    monkeypatch.setattr(reading, "SLACK_NS", 10**15)  # nothing settles meanwhile, however slow the machine is
    watched.step(lambda: None)
    watched.write("a", "precious")
    hardened: list[str] = []
    harden = Store.harden

    def full(store: Store, index: Index) -> None:
        raise DiskFull("The disk is full.")

    monkeypatch.setattr(Store, "harden", full)
    store = watched.store if found_by == "this process" else Store(watched.store.folder)
    with pytest.raises(DiskFull):
        Tracker(store, watched.workspace, watched.policy).begin(id="cp_1", session="sess_1", turn=None, call="c")

    monkeypatch.setattr(Store, "harden", lambda store, index: (harden(store, index), hardened.append("forced")))
    watched.step(lambda: hardened.append("call"), session="sess_2")
    watched.step(lambda: hardened.append("call"), session="sess_2")

    assert hardened == ["forced", "call", "call"]


def test_a_call_of_another_process_that_runs_on_is_left_alone(watched: Watched):
    """Only whose process is gone has left something open; ours and a living one's are under way."""
    other = f"{os.getppid()}:{ledger.started_at(os.getppid())}"
    begun = watched.tracker("sess_2").begin(id="cp_other", session="sess_2", turn=None, call="c")
    with watched.store.writing() as db:
        db.execute("UPDATE steps SET owner=?", (other,))

    watched.step(lambda: (watched.root / "a").write_text("a"))

    with watched.store.reading() as db:
        assert [step.id for step in ledger.open_steps(db, begun.step.workspace)] == ["cp_other"]
    with watched.store.writing() as db:
        db.execute("UPDATE steps SET owner='1:0' WHERE last IS NULL")
    watched.step(lambda: None)
    with watched.store.reading() as db:
        assert ledger.open_steps(db, begun.step.workspace) == []
