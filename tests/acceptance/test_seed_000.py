"""Seed 000, in its words, over a real socket: sessions, messages, tool calls, approvals, verification."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agi.testing.box import Daemon, daemon_in_a_box
from agi.testing.files import picture

MAKEFILE = "test:\n\t@grep -q hello README.md && echo all good\n"
PATCH = "*** Begin Patch\n*** Update File: README.md\n@@\n-old\n+hello\n*** End Patch\n"


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with daemon_in_a_box(tmp_path, trusted=True) as box:
        yield box


def of_type(events: list[dict[str, Any]], *types: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] in types]


async def test_post_sessions_returns_a_session_id_and_creates_session_json(daemon: Daemon) -> None:
    """`POST /v1/sessions` returns a session id and creates `session.json`."""
    body = {
        "workspace_path": str(daemon.workspace.path),
        "system_prompt": "Optional system instructions",
        "auto_run": True,
    }

    reply = await daemon.post("/v1/sessions", body)

    session = reply.json()
    assert reply.status == 201
    assert session["session_id"] == session["id"]
    folder = daemon.workspace.path / ".agi/sessions" / session["session_id"]
    stored = json.loads((folder / "session.json").read_text())
    assert stored == session
    assert stored["status"] == "active"
    assert stored["workspace_path"] == str(daemon.workspace.path)
    assert stored["system_prompt"] == "Optional system instructions"


async def test_posting_a_message_emits_message_added_and_turn_started(daemon: Daemon) -> None:
    """`POST /v1/sessions/{id}/messages` emits `message_added` and `turn_started`."""
    daemon.model.says("Done.")
    session_id = await daemon.begin()
    parts = [{"type": "text", "text": "Please update the README."}]

    reply = await daemon.post(f"/v1/sessions/{session_id}/messages", {"role": "user", "parts": parts, "auto_run": True})

    posted = reply.json()
    assert reply.status == 202
    assert posted["message_id"].startswith("msg_")
    assert posted["turn_id"].startswith("turn_")
    events = await daemon.history(session_id)
    (added,) = of_type(events, "message_added")
    (started,) = of_type(events, "turn_started")
    assert added["data"]["message"]["id"] == started["data"]["message_id"] == posted["message_id"]
    assert added["turn_id"] == started["turn_id"] == posted["turn_id"]
    assert set(added) == {"seq", "ts", "session_id", "turn_id", "type", "data"}


async def test_tool_calls_emit_started_and_completed_events(daemon: Daemon) -> None:
    """Tool calls emit `tool_call_started` and `tool_call_completed` events, with name, call id, input and output."""
    daemon.workspace.write("README.md", "hello\n")
    daemon.model.calls("read_file", path="README.md").then_says("It says hello.")

    turn = await daemon.ask("what does it say?")

    assert await turn.answer() == "It says hello."
    events = await daemon.history(turn.session_id)
    (started,) = of_type(events, "tool_call_started")
    (completed,) = of_type(events, "tool_call_completed")
    call = started["data"]["tool_call"]
    assert (call["name"], call["input"]) == ("read_file", {"path": "README.md"})
    result = completed["data"]["tool_result"]
    assert (result["id"], result["ok"]) == (call["id"], True)
    assert "hello" in result["parts"][0]["text"]


async def test_approvals_gate_tool_execution_when_policy_requires_it(daemon: Daemon) -> None:
    """Approvals gate tool execution when policy requires it: nothing runs before the answer, a refusal is told."""
    daemon.workspace.write("notes.txt", "keep me\n")
    daemon.model.calls("shell", command="rm notes.txt").then_says("I left it alone.")
    turn = await daemon.ask("tidy up")
    question = await turn.question()
    assert (question["name"], question["input"]) == ("shell", {"command": "rm notes.txt"})
    session = (await daemon.get(f"/v1/sessions/{turn.session_id}")).json()
    assert session["status"] == "waiting_approval"

    reply = await turn.deny(reason="keep my notes")

    assert reply.json() == {"status": "ok", "tool_call_id": question["tool_call_id"], "action": "deny"}
    assert await turn.answer() == "I left it alone."
    assert not daemon.workspace.was_touched()
    (denied,) = of_type(await daemon.history(turn.session_id), "approval_denied")
    assert (denied["data"]["cause"], denied["data"]["reason"]) == ("user", "keep my notes")


async def test_an_approved_call_runs(daemon: Daemon) -> None:
    """The other answer lets it run."""
    daemon.model.calls("shell", command="echo one > one.txt").then_says("Written.")
    turn = await daemon.ask("write it")

    await turn.approve(reason="ok")

    assert await turn.answer() == "Written."
    assert daemon.workspace.read("one.txt") == "one\n"


async def test_verification_runs_after_a_write_and_emits_events_for_command_results(daemon: Daemon) -> None:
    """Verification runs after a write and emits events for command results; on failure the loop goes on."""
    daemon.workspace.write("README.md", "old\n")
    daemon.workspace.write("Makefile", MAKEFILE)
    daemon.model.calls("write_file", path="notes.md", content="x\n").then_says("Done.")
    daemon.model.calls("apply_patch", patch=PATCH).then_says("Now it is.")
    turn = await daemon.ask("change the readme")

    await turn.approve(remember="session")
    await turn.approve(remember="session")

    assert await turn.answer() == "Now it is."
    events = await daemon.history(turn.session_id)
    completed = [one["data"] for one in of_type(events, "verification_completed") if not one["data"]["baseline"]]
    assert [(one["command"], one["status"]) for one in completed] == [("make test", "failed"), ("make test", "passed")]
    assert completed[0]["exit_code"] != 0
    assert "all good" in completed[1]["output"]
    assert [one["data"]["baseline"] for one in of_type(events, "verification_started")] == [True, False, False]
    assert of_type(events, "turn_completed")[0]["data"]["verification"] == "verified"


async def test_a_canceled_turn_can_be_retried(daemon: Daemon) -> None:
    """Cancel ends an active turn; retry answers the same message again."""
    daemon.model.calls("shell", command="sleep 60").then_says("Second time.")
    turn = await daemon.ask("wait")
    await turn.question()

    canceled = await daemon.post(f"/v1/sessions/{turn.session_id}/cancel")
    retried = await daemon.post(f"/v1/sessions/{turn.session_id}/turns/{turn.id}/retry")

    assert canceled.json() == {"turn_ids": [turn.id], "status": "canceled"}
    assert retried.status == 202
    assert retried.json()["retry_of"] == turn.id
    events = await daemon.history(turn.session_id)
    assert of_type(events, "turn_canceled")[0]["turn_id"] == turn.id


async def test_a_small_attachment_is_uploaded_and_referred_to(daemon: Daemon) -> None:
    """An upload answers with its `ref`, which a message can carry."""
    daemon.model.says("I see.")
    session_id = await daemon.begin()
    upload = {"filename": "img_01.png", "mime_type": "image/png", "data": b64encode(picture()).decode()}

    stored = (await daemon.post(f"/v1/sessions/{session_id}/attachments", upload)).json()
    part = {"type": "image", "ref": stored["ref"], "mime_type": stored["mime_type"]}
    turn = await daemon.ask("look", session_id=session_id, parts=[{"type": "text", "text": "look"}, part])

    assert stored["ref"].startswith("attachments/")
    assert await turn.answer() == "I see."
    (added,) = of_type(await daemon.history(session_id), "message_added")
    assert added["data"]["message"]["parts"][1]["ref"] == stored["ref"]


async def test_sessions_are_listed_most_recent_first(daemon: Daemon) -> None:
    """`GET /v1/sessions` lists sessions, most recent first."""
    daemon.model.says("hi")
    first, second = await daemon.begin(title="first"), await daemon.begin(title="second")
    await (await daemon.ask("hello", session_id=first)).answer()

    listed = (await daemon.get("/v1/sessions")).json()["sessions"]

    assert [session["id"] for session in listed] == [first, second]
