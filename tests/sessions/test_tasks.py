"""Tasks: made, found and recorded through the workspace; a hostile or broken file costs nothing but its own title."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from agi.errors import AgiError, Conflict, Invalid, NotFound
from agi.sessions.tasks import Tasks, slug_of
from agi.workspace.handle import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    (tmp_path / "project").mkdir()
    with Workspace.open(tmp_path / "project") as opened:
        yield opened


def test_a_task_is_a_folder_with_its_record(workspace):
    """`task.json` says what is to be done; the slug comes from the title."""
    made = Tasks(None).create(workspace, "  Sort out\nthe Checkout! ")

    assert (made.task_slug, made.title) == ("sort-out-the-checkout", "Sort out the Checkout!")
    written = json.loads((workspace.root / made.task_dir / "task.json").read_text())
    assert (written["title"], written["slug"], written["work"]) == (made.title, made.task_slug, [])
    assert Tasks(None).find(workspace, made.task_slug) == made


def test_a_slug_that_is_taken_gets_a_number_or_is_refused(workspace):
    """By itself a number; asked for by name, a refusal that changes nothing."""
    tasks = Tasks(None)

    slugs = [tasks.create(workspace, "Same").task_slug for _ in range(3)]
    with pytest.raises(Conflict):
        tasks.create(workspace, "Other", "same")

    assert slugs == ["same", "same-2", "same-3"]
    assert tasks.find(workspace, "same").title == "Same"


@pytest.mark.parametrize("slug", ["", "..", "../up", "a/b", "A", "a b", "-a", "a" * 65, "é", "a\n", "a\0"])
def test_a_slug_cannot_lead_anywhere(workspace, slug):
    """It becomes part of a path."""
    with pytest.raises(Invalid):
        Tasks(None).create(workspace, "t", slug)
    with pytest.raises(Invalid):
        Tasks(None).find(workspace, slug)

    assert not (workspace.root / ".agents").exists()


def test_a_task_that_is_not_there_is_told(workspace):
    """With how to make one."""
    with pytest.raises(NotFound) as missing:
        Tasks(None).find(workspace, "nothing")

    assert "create_task" in missing.value.hint
    assert Tasks(None).all(workspace) == []


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"title": 1}', '{"title": "x"}', "[" * 5000, '{"title": "t", "slug": "s", "work": [{}]}']
)
def test_a_broken_file_is_told_with_its_task(workspace, text):
    """The folder is a task all the same, under its slug."""
    (workspace.root / ".agents/tasks/broken").mkdir(parents=True)
    (workspace.root / ".agents/tasks/broken/task.json").write_text(text)
    Tasks(None).create(workspace, "Good")

    broken, good = Tasks(None).all(workspace)

    assert (broken.title, bool(broken.problem)) == ("broken", True)
    assert (good.title, good.problem) == ("Good", "")


def test_folders_that_lead_out_are_refused(workspace, tmp_path):
    """A link in the place of the tasks' folder reaches nothing."""
    outside = tmp_path / "outside"
    (outside / "tasks" / "x").mkdir(parents=True)
    (workspace.root / ".agents").symlink_to(outside)

    with pytest.raises(AgiError):
        Tasks(None).create(workspace, "t")
    with pytest.raises(AgiError):
        Tasks(None).all(workspace)

    assert [one.name for one in (outside / "tasks").iterdir()] == ["x"]


def test_what_others_recorded_is_kept(workspace):
    """A record that came with a repository stays in the file; the log does not take it for its own."""
    tasks = Tasks(None)
    made = tasks.create(workspace, "Shared")
    path = workspace.root / made.task_dir / "task.json"
    written = json.loads(path.read_text())
    theirs = {"sessionId": "sess_theirs", "role": "dev", "kind": "worker", "status": "completed", "startedAt": "2026"}
    path.write_text(json.dumps({**written, "work": [theirs]}))
    db = sqlite3.connect(":memory:")
    db.execute(
        "CREATE TABLE pool (session_id, kind, project_path, task_slug, parent, call, opened_at, open, root, depth)"
    )  # a log in which nobody worked on it

    Tasks(db, lambda row: pytest.fail("nobody did")).record(workspace, "shared")

    assert json.loads(path.read_text())["work"] == [theirs]
    assert Tasks(db, lambda row: pytest.fail("nobody did")).find(workspace, "shared").work == ()
    db.close()


@pytest.mark.parametrize(
    ("title", "slug"), [("Fix it", "fix-it"), ("日本語", "task"), ("--- a ---", "a"), ("x" * 200, "x" * 50)]
)
def test_a_slug_from_a_title(title, slug):
    """Plain letters, digits and dashes; never empty, never long."""
    assert slug_of(title) == slug
