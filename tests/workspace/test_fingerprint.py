"""Two looks at a workspace are alike only if no file changed in between."""

from __future__ import annotations

import os
import time

import pytest

from agi.workspace.fingerprint import take_tree
from agi.workspace.handle import Workspace


@pytest.fixture
def folder(tmp_path):
    """A small project."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("one\n")
    (tmp_path / "b.txt").write_text("two\n")
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
    return tmp_path


@pytest.fixture
def workspace(folder):
    """The project, held open."""
    with Workspace.open(folder) as opened:
        yield opened


def rewrite(path, text: str) -> None:
    """Write the same number of bytes, and put the old times back."""
    times = path.stat()
    path.write_text(text)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


CHANGES = {
    "written": lambda folder: (folder / "b.txt").write_text("other\n"),
    "written, as long and as old as before": lambda folder: rewrite(folder / "b.txt", "TWO\n"),
    "added": lambda folder: (folder / "new").touch(),
    "added, a folder": lambda folder: (folder / "new").mkdir(),
    "deleted": lambda folder: (folder / "b.txt").unlink(),
    "renamed": lambda folder: (folder / "b.txt").rename(folder / "c.txt"),
    "given other rights": lambda folder: (folder / "b.txt").chmod(0o700),
    "made a link": lambda folder: ((folder / "b.txt").unlink(), (folder / "b.txt").symlink_to("src/a.py")),
    "swapped with another": lambda folder: (
        (folder / "b.txt").rename(folder / "t"),
        (folder / "src" / "a.py").rename(folder / "b.txt"),
        (folder / "t").rename(folder / "src" / "a.py"),
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_happens_to_a_file_shows(folder, workspace, change):
    """Also what tries not to."""
    before = take_tree(workspace)

    change(folder)

    assert take_tree(workspace).digest != before.digest


def test_nothing_happened_nothing_shows(folder, workspace):
    """Reading, and files that come and go, leave no trace."""
    before = take_tree(workspace)
    (folder / "b.txt").read_text()
    (folder / "gone").touch()
    (folder / "gone").unlink()

    assert take_tree(workspace) == before


def test_what_git_ignores_and_what_tools_make_does_not_count(folder, workspace):
    """A build or a log that grows meanwhile says nothing about the sources."""
    before = take_tree(workspace)
    (folder / "run.log").write_text("x")
    for name in ("build", "__pycache__", "node_modules", ".agi", ".git"):
        (folder / name).mkdir()
        (folder / name / "x").write_text("x")

    assert take_tree(workspace).digest == before.digest


def test_it_is_told_which_files_changed(folder, workspace):
    """Those that were there and are others or gone; and those that are new."""
    before = take_tree(workspace)
    (folder / "b.txt").unlink()
    (folder / "src" / "a.py").write_text("three\n")
    (folder / "new").touch()

    after = take_tree(workspace)

    assert sorted(after.altered_since(before)) == ["b.txt", "src/a.py"]
    assert after.added_since(before) == ("new",)


def test_a_second_change_within_one_tick_of_the_clock_shows(folder, workspace):
    """A look right after a write waits until the file system's clock has moved on."""
    for n in range(20):
        (folder / "b.txt").write_text(f"{n:04}")
        before = take_tree(workspace)
        (folder / "b.txt").write_text(f"{n:04}".replace("0", "9", 1))

        assert take_tree(workspace).digest != before.digest


def test_a_file_from_the_future_holds_nothing_up(workspace):
    """A clock that is wrong is not waited for."""
    began = time.monotonic()

    take_tree(workspace, clock=lambda: 0)

    assert time.monotonic() - began < 5


def test_the_records_of_tasks_are_nobodys_work(folder, workspace):
    """The harness writes them at its own time; what else stands in a task's folder counts."""
    task = folder / ".agents" / "tasks" / "work"
    task.mkdir(parents=True)
    before = take_tree(workspace)

    (task / "task.json").write_text("{}")
    (task / "draft.json").write_text("{}")
    recorded = take_tree(workspace)
    (task / "notes.md").write_text("found it")

    assert recorded.digest == before.digest
    assert take_tree(workspace).digest != before.digest
