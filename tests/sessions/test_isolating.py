"""The folders of workers: made whole or not at all, and gone when nobody needs them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from agi.errors import WorkspaceError
from agi.protocol import commands
from agi.sessions.isolating import Apart, workers_folder
from agi.workspace.handle import Workspace

from .conftest import FREE, Crewed, delegates, report


def apart(tmp_path: Path) -> Apart:
    return Apart(tmp_path / "project" / ".agi", tmp_path / "config", {"HOME": str(tmp_path)})


async def test_a_worktree_that_cannot_be_had_is_refused_and_nothing_stays(tmp_path: Path) -> None:
    """Where one is asked for by name."""
    (tmp_path / "project").mkdir()
    with Workspace.open(tmp_path / "project") as workspace:
        with pytest.raises(WorkspaceError) as refused:
            await apart(tmp_path).make("sess_1", workspace, "worktree")
        assert refused.value.code == "no_worktree"
        assert not apart(tmp_path).is_there("sess_1")
        assert await apart(tmp_path).make("sess_1", workspace, "auto") == "folder"


def begin_repository(folder: Path) -> None:
    """One with a commit, so that it can have worktrees."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=t", "-c", "user.email=t@t")
    for words in (("init", "-q", "."), (*who, "commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run(["git", *words], cwd=folder, env=env, check=True)


async def test_an_empty_git_makes_no_worktree_of_the_repository_around_it(tmp_path: Path) -> None:
    """Git would look further up, and make one of somebody else's repository."""
    begin_repository(tmp_path)
    (tmp_path / "project" / ".git").mkdir(parents=True)
    with Workspace.open(tmp_path / "project") as workspace:
        assert await apart(tmp_path).make("sess_1", workspace, "auto") == "folder"

    assert not (tmp_path / ".git" / "worktrees").exists()


async def test_only_folders_of_workers_are_taken_for_such(tmp_path: Path) -> None:
    """No other path gets a project's trust."""
    place = apart(tmp_path)
    assert place.session_of(str(place.files("sess_1"))) == "sess_1"
    for path in (place.root, place.files("sess_1").parent, place.files("sess_1") / "files", tmp_path / "x" / "files"):
        assert place.session_of(str(path)) is None


def test_folders_are_in_the_users_cache(tmp_path: Path) -> None:
    """Or beside the settings, where nobody knows of a home."""
    assert workers_folder(tmp_path, {"XDG_CACHE_HOME": "/c", "HOME": "/h"}) == Path("/c/agi/workers")
    assert workers_folder(tmp_path, {"XDG_CACHE_HOME": "c", "HOME": "/h"}) == Path("/h/.cache/agi/workers")
    assert workers_folder(tmp_path / "agi", {}) == tmp_path / "agi-workers"


async def test_a_start_removes_what_no_session_knows_and_keeps_what_is_not_merged(tmp_path: Path) -> None:
    """After a crash between making a folder and beginning its session."""
    crewed = Crewed(tmp_path, FREE)
    await crewed.open()
    crewed.parts["lead"] = delegates({"role": "writer", "prompt": "write"})
    crewed.parts["writer"] = lambda request: report("Nothing to do.")
    session = await crewed.ask()
    (result,) = json.loads(crewed.answer(session.id))
    (crewed.harness.apart.root / "sess_lost" / "files").mkdir(parents=True)
    await crewed.harness.close()

    await crewed.open()
    assert [one.name for one in crewed.folders()] == [result["agent_id"]]

    await crewed.harness.delete_session(result["agent_id"])
    assert crewed.folders() == []
    await crewed.harness.close()


async def test_a_worker_whose_folder_is_gone_gets_a_new_one_when_it_is_told_more(crewed: Crewed) -> None:
    """It begins with the files as they are then."""
    crewed.parts["lead"] = delegates({"role": "writer", "prompt": "write"})
    crewed.parts["writer"] = lambda request: report("Nothing to do.")
    session = await crewed.ask()
    (result,) = json.loads(crewed.answer(session.id))
    worker = result["agent_id"]
    await crewed.harness.apart.remove(worker, None)
    (crewed.project / "later.txt").write_text("later\n")

    posted = await crewed.harness.post_message(worker, commands.PostMessage(content="again"))
    await crewed.harness.wait_turn(worker, posted.turn_id or "")

    assert (crewed.harness.apart.files(worker) / "later.txt").read_text() == "later\n"


async def test_a_workers_folder_has_the_projects_trust_and_settings(crewed: Crewed) -> None:
    """It is the project's own work, at another place."""
    crewed.parts["lead"] = delegates({"role": "writer", "prompt": "write"})
    crewed.parts["writer"] = lambda request: report("Nothing to do.")
    session = await crewed.ask()
    (result,) = json.loads(crewed.answer(session.id))
    state = crewed.harness.state(result["agent_id"])
    site = crewed.harness.site(state.workspace_path)

    assert state.workspace_path == str(crewed.harness.apart.files(state.id))
    assert state.project_path == str(crewed.project)
    assert site.trusted
    assert site.project == crewed.project
    assert site.config.approval.require_for_kinds == ()
