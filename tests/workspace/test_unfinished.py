"""A kill in the middle of a change, put back."""

import fcntl
import os
import signal
import subprocess
import sys

import pytest

from agi.workspace.handle import Change, Workspace
from agi.workspace.unfinished import Note, Step

CHILD = """
import os, signal, sys
from pathlib import Path
import agi.workspace.replace as replace
from agi.workspace.handle import Change, Workspace

root, notes, last = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
calls = 0

def killing(function):
    def call(*args, **kwargs):
        global calls
        calls += 1
        if calls == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **kwargs)
    return call

if sys.argv[4] == "without":
    replace.exchange = lambda *_: False
for name in ("rename", "unlink", "link"):
    setattr(os, name, killing(getattr(os, name)))
replace.exchange, replace.claim = killing(replace.exchange), killing(replace.claim)
changes = [Change("a", b"A"), Change("gone", None), Change("new/n", b"N"), Change("b", b"B"), Change("link", None)]
with Workspace.open(root) as workspace:
    workspace.replace_all(changes, notes=notes)
"""

OLD = {"a": "old a", "b": "old b", "gone": "old gone", "link": "-> a"}
NEW = {"a": "A", "b": "B", "new/n": "N"}


def lay_out(root):
    for name in ("a", "b", "gone"):
        (root / name).write_text(f"old {name}")
    (root / "link").symlink_to("a")


def tree(root):
    found = {}
    for path in root.rglob("*"):
        if path.is_symlink():
            found[str(path.relative_to(root))] = f"-> {os.readlink(path)}"
        elif path.is_file():
            found[str(path.relative_to(root))] = path.read_text()
    return found


@pytest.mark.parametrize("way", ["with", "without"])
def test_a_kill_at_any_step_leaves_all_files_old_or_all_new(tmp_path, way):
    """Before the note is gone they are put back; after that they are done. With the kernel's swap and without."""
    seen = []
    for step in range(1, 40):
        root, notes = tmp_path / f"{step}", tmp_path / f"notes{step}"
        root.mkdir()
        lay_out(root)
        done = subprocess.run([sys.executable, "-c", CHILD, root, notes, f"{step}", way], check=False)
        with Workspace.open(root) as workspace:
            workspace.put_back(notes)
        found = {name: text for name, text in tree(root).items() if not name.endswith(".tmp")}
        seen.append("old" if found == OLD else "new" if found == NEW else found)
        assert seen[-1] in ("old", "new")
        assert not notes.exists()
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        if seen[-1] == "old" and step > 1:
            assert tree(root) == OLD  # nothing lies about

    assert sorted(seen, key=["old", "new"].index) == seen
    assert seen.count("old") >= 5
    assert done.returncode == 0


def test_what_someone_changed_since_the_kill_stays(tmp_path):
    """The others are put back all the same."""
    root, notes = tmp_path / "root", tmp_path / "notes"
    root.mkdir()
    lay_out(root)
    subprocess.run([sys.executable, "-c", CHILD, root, notes, "4", "with"], check=False)
    assert (root / "a").read_text() == "A"
    (root / "a").write_text("mine")

    with Workspace.open(root) as workspace:
        restored = workspace.put_back(notes)

    assert tree(root) == {**OLD, "a": "mine"}
    assert sorted(restored) == ["gone", "new/n"]


def test_a_change_that_someone_is_making_is_left_alone(tmp_path):
    """Its note is locked as long as they live."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root/f").write_text("new")
    note = Note(tmp_path / "notes", [Step("f", "", "x", None, "whatever")])
    with Workspace.open(tmp_path / "root") as workspace:
        assert workspace.put_back(tmp_path / "notes") == []
        assert len(list((tmp_path / "notes").iterdir())) == 1
        note.close(settled=False)
        workspace.put_back(tmp_path / "notes")

    assert not (tmp_path / "notes").exists()
    assert (tmp_path / "root/f").read_text() == "new"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[1]",
        b'[["../out", "", "x", null, "y"]]',
        b'[{"location":"f","staged":"../o","kept":"","old":null,"new":""}]',
    ],
)
def test_a_note_that_makes_no_sense_is_thrown_away(tmp_path, content):
    """Nothing is done by it, least of all outside."""
    (tmp_path / "root").mkdir()
    (tmp_path / "out").write_text("x")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/n.json").write_bytes(content)

    with Workspace.open(tmp_path / "root") as workspace:
        assert workspace.put_back(tmp_path / "notes") == []

    assert (tmp_path / "out").read_text() == "x"
    assert not (tmp_path / "notes").exists()


def test_without_notes_there_is_nothing_to_put_back(tmp_path):
    """Nor is a folder made for them by a change of one file."""
    with Workspace.open(tmp_path) as workspace:
        assert workspace.put_back(tmp_path / "notes") == []
        workspace.replace_all([Change("f", b"x")], notes=tmp_path / "notes")

    assert os.listdir(tmp_path) == ["f"]


def test_a_note_is_private_and_locked(tmp_path):
    """Nobody else reads or takes it."""
    note = Note(tmp_path / "notes", [])
    (path,) = (tmp_path / "notes").iterdir()
    with path.open() as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    assert (path.stat().st_mode & 0o777, (tmp_path / "notes").stat().st_mode & 0o777) == (0o600, 0o700)
    note.close(settled=True)
