"""What workers change comes into the files of the one they work for: one after the other, whole, or not at all."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agi.models.base import ModelRequest
from agi.models.scripted import Call, Say, Step
from agi.protocol import commands

from .conftest import FREE, Crewed, delegates, prompt, report, results


def git(folder: Path, *words: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *identity, *words], cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout


def writes(path: str, content: str) -> Any:
    """A writer that writes one file and reports."""

    def part(request: ModelRequest) -> Sequence[Step]:
        return report("Written.") if results(request) else rewrite(path, content)

    return part


def rewrite(path: str, content: str) -> Sequence[Step]:
    return [Call("read_file", {"path": path}), Call("write_file", {"path": path, "content": content})]


def merges(found: list[Any]) -> Sequence[Step]:
    """After the results: take all changes, then tell what came of it."""
    half = [one for one in found if isinstance(one, dict) and "summary" in one]
    told = [one for one in found if isinstance(one, str)]
    if not told:
        return [Call("merge_agent", {"agent_id": one["agent_id"]}) for one in half]
    return [Say(json.dumps(told))]


@pytest.fixture
def repository(crewed: Crewed) -> Crewed:
    """The project is a git repository with a file that is committed, and one that is not."""
    git(crewed.project, "init", "-q")
    (crewed.project / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    (crewed.project / ".gitignore").write_text(".agi/\n*.log\n")
    git(crewed.project, "add", ".")
    git(crewed.project, "commit", "-qm", "first")
    (crewed.project / "new.txt").write_text("not committed\n")
    (crewed.project / "noise.log").write_text("ignored\n")
    return crewed


async def test_a_worker_that_writes_does_so_in_a_worktree_until_it_is_merged(repository: Crewed) -> None:
    """It begins with the files as they are, committed or not; nothing of the user's changes before the merge."""
    crewed = repository
    seen: dict[str, Any] = {}

    def writer(request: ModelRequest) -> Sequence[Step]:
        if not results(request):
            (folder,) = crewed.folders()
            seen["files"] = sorted(one.name for one in (folder / "files").iterdir())
            seen["status"] = git(folder / "files", "status", "--short")
        return writes("a.txt", "one\n2\nthree\nfour\nfive\n")(request)

    def then(found: list[Any]) -> Sequence[Step]:
        seen.setdefault("before", (crewed.project / "a.txt").read_text())
        return merges(found)

    crewed.parts["writer"] = writer
    crewed.parts["lead"] = delegates({"role": "writer", "prompt": "change a.txt"}, then=then)
    session = await crewed.ask()

    assert seen["files"] == [".git", ".gitignore", "a.txt", "new.txt"]
    assert seen["status"] == "?? new.txt\n"
    assert seen["before"] == "one\ntwo\nthree\nfour\nfive\n"
    assert (crewed.project / "a.txt").read_text() == "one\n2\nthree\nfour\nfive\n"
    (merged,) = crewed.events(session.id, "worker_merged")
    assert merged.data.files == ("a.txt",)
    assert crewed.folders() == []
    assert git(crewed.project, "worktree", "list").count("\n") == 1


async def test_what_two_workers_changed_in_one_file_is_merged_one_by_one(repository: Crewed) -> None:
    """Changes of other lines stand beside each other, and the user's own with them."""
    crewed = repository
    versions = {"first": "ONE\ntwo\nthree\nfour\nfive\n", "second": "one\ntwo\nthree\nfour\nFIVE\n"}

    def writer(request: ModelRequest) -> Sequence[Step]:
        name = next(name for name in versions if name in json.dumps(texts(request)))
        return writes("a.txt", versions[name])(request)

    def then(found: list[Any]) -> Sequence[Step]:
        if not any(isinstance(one, str) for one in found):
            (crewed.project / "a.txt").write_text("one\ntwo\n3\nfour\nfive\n")  # the user, meanwhile
        return merges(found)

    crewed.parts["writer"] = writer
    asked = [{"role": "writer", "prompt": name} for name in versions]
    crewed.parts["lead"] = delegates(*asked, then=then)
    await crewed.ask()

    assert (crewed.project / "a.txt").read_text() == "ONE\ntwo\n3\nfour\nFIVE\n"


def texts(request: ModelRequest) -> list[str]:
    return [part.text for one in request.messages if one.role == "user" for part in one.parts]


async def test_a_conflict_goes_back_to_its_worker_once_and_changes_nothing(repository: Crewed) -> None:
    """The worker finds both versions in its file, resolves them, and is merged then."""
    crewed = repository
    met: list[str] = []

    def writer(request: ModelRequest) -> Sequence[Step]:
        if "changed by somebody else" in prompt(request):
            (folder,) = crewed.folders()
            text = (folder / "files" / "a.txt").read_text()
            if "<<<<<<<" in text:
                met.append(text)
                return rewrite("a.txt", "one\nboth\nthree\nfour\nfive\n")
            return report("Resolved.")
        return writes("a.txt", "one\nmine\nthree\nfour\nfive\n")(request)

    def lead(request: ModelRequest) -> Sequence[Step]:
        found = results(request)
        if not found:
            return [Call("draft_agent", {"role": "writer", "prompt": "change a.txt"})]
        agent_id = found[0]["agent_id"]
        if len(found) == 2:
            (crewed.project / "a.txt").write_text("one\nyours\nthree\nfour\nfive\n")
        if len(found) in (1, 3):
            return [Call("await_agent", {"agent_id": agent_id})]
        if len(found) in (2, 4):
            return [Call("merge_agent", {"agent_id": agent_id})]
        return [Say(str(found[2]))]

    crewed.parts["writer"], crewed.parts["lead"] = writer, lead
    session = await crewed.ask()
    first, second = crewed.events(session.id, "worker_merged")

    assert (crewed.project / "a.txt").read_text() == "one\nboth\nthree\nfour\nfive\n"
    assert met == [
        "one\n<<<<<<< in the workspace\nyours\n=======\nmine\n>>>>>>> by you\nthree\nfour\nfive\n",
    ]
    assert "The worker was told" in crewed.answer(session.id)
    assert (first.data.conflicts, first.data.files) == (("a.txt",), ())
    assert (second.data.conflicts, second.data.files) == ((), ("a.txt",))


async def test_a_conflict_that_its_worker_left_is_not_merged(repository: Crewed) -> None:
    """Conflict markers do not come into the files: the agent is told to decide, and what is there stays."""
    crewed = repository
    writer = writes("a.txt", "one\nmine\nthree\nfour\nfive\n")

    def lead(request: ModelRequest) -> Sequence[Step]:
        found = results(request)
        if not found:
            return [Call("draft_agent", {"role": "writer", "prompt": "change a.txt"})]
        agent_id = found[0]["agent_id"]
        if len(found) == 2:
            (crewed.project / "a.txt").write_text("one\nyours\nthree\nfour\nfive\n")
        if len(found) in (1, 3):
            return [Call("await_agent", {"agent_id": agent_id})]
        if len(found) in (2, 4):
            return [Call("merge_agent", {"agent_id": agent_id})]
        return [Say(str(found[4]))]

    crewed.parts["writer"] = lambda request: (
        report("Too hard.", "failed") if "changed by somebody else" in prompt(request) else writer(request)
    )
    crewed.parts["lead"] = lead
    session = await crewed.ask()

    assert (crewed.project / "a.txt").read_text() == "one\nyours\nthree\nfour\nfive\n"
    assert "both versions still stand in a.txt" in crewed.answer(session.id)
    assert "make the change yourself, or tell the worker what to do" in crewed.answer(session.id)
    assert [event.data.conflicts for event in crewed.events(session.id, "worker_merged")] == [("a.txt",), ("a.txt",)]


async def test_without_a_repository_a_worker_has_a_folder_of_its_own(crewed: Crewed) -> None:
    """New, changed and deleted files come into the workspace together."""
    (crewed.project / "old.txt").write_text("old\n")

    def writer(request: ModelRequest) -> Sequence[Step]:
        found = results(request)
        if not found:
            return [Call("write_file", {"path": "sub/new.txt", "content": "new\n"})]
        if len(found) == 1:
            return [Call("shell", {"command": "rm old.txt"})]
        return report("Done.")

    crewed.parts["writer"] = writer
    crewed.parts["lead"] = delegates({"role": "writer", "prompt": "tidy"}, then=merges)
    session = await crewed.ask()

    (started,) = crewed.events(session.id, "worker_started")
    (merged,) = crewed.events(session.id, "worker_merged")
    assert started.data.kept_apart == "folder"
    assert sorted(merged.data.files) == ["old.txt", "sub/new.txt"]
    assert (crewed.project / "sub" / "new.txt").read_text() == "new\n"
    assert not (crewed.project / "old.txt").exists()


async def test_a_merge_can_be_undone_like_any_other_change(repository: Crewed) -> None:
    """It is a step of the session that merged."""
    crewed = repository
    crewed.parts["writer"] = writes("a.txt", "changed\n")
    crewed.parts["lead"] = delegates({"role": "writer", "prompt": "change"}, then=merges)
    session = await crewed.ask()
    assert (crewed.project / "a.txt").read_text() == "changed\n"

    await crewed.harness.revert(session.id, commands.Revert(to="start"))

    assert (crewed.project / "a.txt").read_text() == "one\ntwo\nthree\nfour\nfive\n"


async def test_a_merge_is_asked_about_where_changes_are(tmp_path: Path) -> None:
    """With its diff, as any change; the worker's own changes are asked about at the root as well."""
    crewed = Crewed(tmp_path, {"verify": {"autoVerify": False}})
    await crewed.open()
    crewed.parts["writer"] = writes("n.txt", "n\n")
    crewed.parts["lead"] = delegates({"role": "writer", "prompt": "write"}, then=merges)
    session, turn_id = await crewed.begin()

    (waiting,) = await crewed.heard(session.id, "worker_waiting")
    await crewed.harness.approve(session.id, commands.Approve(tool_call_id=waiting.data.tool_call_id, action="approve"))
    (asked,) = await crewed.heard(session.id, "approval_requested")
    await crewed.harness.approve(session.id, commands.Approve(tool_call_id=asked.data.tool_call_id, action="deny"))
    await crewed.harness.wait_turn(session.id, turn_id)

    assert asked.data.name == "merge_agent"
    assert "+n" in asked.data.preview
    assert not (crewed.project / "n.txt").exists()
    assert len(crewed.folders()) == 1
    await crewed.harness.close()


async def test_with_isolation_off_workers_change_the_files_themselves(tmp_path: Path) -> None:
    """As the user's settings say."""
    crewed = Crewed(tmp_path, {**FREE, "workers": {"isolate": "off"}})
    await crewed.open()
    crewed.parts["writer"] = writes("n.txt", "n\n")
    crewed.parts["lead"] = delegates({"role": "writer", "prompt": "write"})
    session = await crewed.ask()

    (result,) = json.loads(crewed.answer(session.id))
    assert result["merge"] == "none"
    assert result["changes"] == [{"path": "n.txt", "status": "added"}]
    assert (crewed.project / "n.txt").exists()
    await crewed.harness.close()
