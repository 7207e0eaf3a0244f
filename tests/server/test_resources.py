"""Registering resources: what may be registered, what it means, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agi.testing.box import AskedTurn, Daemon, daemon_in_a_box


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with daemon_in_a_box(tmp_path) as box:
        yield box


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "atlas"
    place.mkdir()
    (place / "rivers.md").write_text("Long.\n")
    return place


async def test_what_is_registered_is_listed_and_stays(daemon: Daemon, folder: Path, tmp_path: Path) -> None:
    """In the user's own file, which only the user can read; a second PUT replaces it."""
    put = await daemon.call("PUT", "/api/knowledge/atlas", {"path": str(folder), "title": "Atlas", "agent": "general"})
    again = await daemon.call("PUT", "/api/knowledge/atlas", {"path": str(folder)})

    listed = (await daemon.get("/api/knowledge")).json()

    assert (put.status, again.status) == (201, 200)
    assert put.json() == {
        "kind": "knowledge",
        "name": "atlas",
        "path": str(folder),
        "title": "Atlas",
        "agent": "general",
    }
    assert listed == {"resources": [again.json()]}
    assert "title" not in again.json()
    assert (await daemon.get("/api/knowledge/atlas")).json() == again.json()
    config = tmp_path / "home" / "config.json"
    assert config.stat().st_mode & 0o777 == 0o600
    assert json.loads(config.read_text())["resources"][0]["name"] == "atlas"


async def test_a_forgotten_one_is_gone_and_its_sessions_stay(daemon: Daemon, folder: Path) -> None:
    """Only the name goes."""
    daemon.model.says("Hi.")
    await daemon.call("PUT", "/api/knowledge/atlas", {"path": str(folder)})
    session_id = (await daemon.post("/api/knowledge/atlas/agent", {"message": "hi"})).json()["sessionId"]

    removed = await daemon.call("DELETE", "/api/knowledge/atlas")

    assert removed.status == 204
    assert (await daemon.get("/api/knowledge/atlas/agent/status")).status == 404
    assert (await daemon.call("DELETE", "/api/knowledge/atlas")).status == 404
    assert (await daemon.get(f"/v1/sessions/{session_id}")).json()["resource"] == {"kind": "knowledge", "name": "atlas"}
    assert (folder / "rivers.md").exists()


async def test_the_project_cannot_be_forgotten(daemon: Daemon) -> None:
    """It is there without being registered; what was registered under its name can go."""
    own = (await daemon.get("/api/repositories/project")).json()
    refused = await daemon.call("DELETE", "/api/repositories/project")
    await daemon.call("PUT", "/api/repositories/project", {"path": own["path"], "title": "Mine"})

    assert (refused.status, refused.code) == (409, "resource_is_project")
    assert (await daemon.get("/api/repositories/project")).json()["title"] == "Mine"
    assert (await daemon.call("DELETE", "/api/repositories/project")).status == 204


async def test_a_document_is_worked_on_in_its_folder(daemon: Daemon, folder: Path) -> None:
    """And its agent is told which document is meant."""
    daemon.model.says("Hi.")
    await daemon.call("PUT", "/api/constitutions/rules", {"path": str(folder / "rivers.md"), "title": "River law"})

    answer = (await daemon.post("/api/constitutions/rules/agent", {"message": "hi"})).json()

    session = (await daemon.get(f"/v1/sessions/{answer['sessionId']}")).json()
    assert session["workspace_path"] == str(folder)
    assert "“River law”: rivers.md" in session["system_prompt"]
    assert "rivers.md" in daemon.model.requests[0].system


async def test_whoever_does_not_want_to_wait_is_told_where_the_answer_will_be(daemon: Daemon, folder: Path) -> None:
    """At once: the session and the turn; both go on by themselves."""
    daemon.model.says("Long.")
    await daemon.call("PUT", "/api/knowledge/atlas", {"path": str(folder)})

    reply = await daemon.post("/api/knowledge/atlas/agent", {"message": "hi", "wait": False})

    told = reply.json()
    assert reply.status == 202
    assert await AskedTurn(daemon, told["sessionId"], told["turnId"]).answer() == "Long."
    history = (await daemon.get(f"/api/knowledge/atlas/agent/history?session_id={told['sessionId']}")).json()
    assert history["messages"][0]["messageId"] == told["messageId"]


async def test_two_resources_in_one_folder_keep_their_sessions_apart(daemon: Daemon, folder: Path) -> None:
    """A session of one is not found under the other's name."""
    daemon.model.says("Hi.")
    await daemon.call("PUT", "/api/knowledge/atlas", {"path": str(folder)})
    await daemon.call("PUT", "/api/constitutions/law", {"path": str(folder)})
    session_id = (await daemon.post("/api/knowledge/atlas/agent", {"message": "hi"})).json()["sessionId"]

    other = await daemon.post("/api/constitutions/law/agent", {"message": "hi", "sessionId": session_id})

    assert (other.status, other.code) == (404, "session_not_found")
    assert (await daemon.get("/api/constitutions/law/agent/sessions")).json() == {"sessions": []}


async def test_a_folder_that_went_away_is_said(daemon: Daemon, folder: Path) -> None:
    """It is a conflict, and no session begins."""
    await daemon.call("PUT", "/api/repositories/atlas", {"path": str(folder)})
    shutil.rmtree(folder)

    reply = await daemon.post("/api/repositories/atlas/agent", {"message": "hi"})

    assert (reply.status, reply.code) == (409, "resource_gone")
    assert daemon.harness.sessions() == []


@pytest.mark.parametrize(
    ("kind", "name", "body", "status", "code"),
    [
        ("repositories", "x", {}, 422, "invalid"),
        ("repositories", "x", {"path": "relative"}, 422, "path_not_absolute"),
        ("repositories", "x", {"path": "/nowhere/at/all"}, 422, "path_not_found"),
        ("repositories", "x", {"path": "/etc/passwd"}, 422, "path_not_found"),
        ("knowledge", "x", {"path": "/dev/null"}, 422, "path_not_found"),
        ("knowledge", "x", {"path": "/a\u0000b"}, 422, "path_not_absolute"),
        ("knowledge", "x", {"path": "/", "agent": "nobody"}, 422, "unknown_agent"),
        ("knowledge", "x", {"path": "/", "repositories": ["project"]}, 422, "binding_invalid"),
        ("constitutions", "x", {"path": "/", "repositories": ["unknown"]}, 404, "resource_not_found"),
        ("knowledge", "-x", {"path": "/"}, 422, "resource_name_invalid"),
        ("knowledge", "%2E%2E", {"path": "/"}, 422, "resource_name_invalid"),
        ("knowledge", "a%20b", {"path": "/"}, 422, "resource_name_invalid"),
        ("knowledge", "x", {"path": "/", "more": 1}, 422, "invalid"),
    ],
)
async def test_bad_input_registers_nothing(
    daemon: Daemon, kind: str, name: str, body: object, status: int, code: str
) -> None:
    """Each is refused with what to do about it."""
    reply = await daemon.call("PUT", f"/api/{kind}/{name}", body)

    assert (reply.status, reply.code) == (status, code)
    assert [one["name"] for one in (await daemon.get(f"/api/{kind}")).json()["resources"]] == (
        ["project"] if kind == "repositories" else []
    )


async def test_other_kinds_are_unknown(daemon: Daemon) -> None:
    """There are three."""
    assert (await daemon.get("/api/secrets")).status == 404


async def test_a_bound_constitution_stands_in_the_context_of_its_repositories(daemon: Daemon, folder: Path) -> None:
    """Whatever client begins the session; elsewhere it is not told."""
    (folder / "rivers.md").write_text("Rivers are not to be dammed.\n")
    daemon.model.says("Hi.").then_says("Hi.")
    body = {"path": str(folder / "rivers.md"), "repositories": ["project"]}
    put = await daemon.call("PUT", "/api/constitutions/law", body)
    other = await daemon.begin(workspace_path=str(folder))

    await (await daemon.ask("hi")).answer()
    await (await daemon.ask("hi", session_id=other)).answer()

    here, elsewhere = daemon.model.requests
    assert put.json()["repositories"] == ["project"]
    assert "Rivers are not to be dammed." in here.system
    assert "Rivers are not to be dammed." not in elsewhere.system


async def test_a_repository_that_a_constitution_binds_is_not_forgotten(daemon: Daemon, folder: Path) -> None:
    """The binding would go with it and nobody would know; it is said which one is in the way."""
    body = {"path": str(folder / "rivers.md"), "repositories": ["project"]}
    await daemon.call("PUT", "/api/constitutions/law", body)

    refused = await daemon.call("DELETE", "/api/repositories/project")
    await daemon.call("PUT", "/api/constitutions/law", {"path": body["path"]})

    assert (refused.status, refused.code) == (409, "resource_bound")
    assert "law" in refused.json()["error"]["message"]
    assert (await daemon.call("DELETE", "/api/repositories/project")).status == 204
