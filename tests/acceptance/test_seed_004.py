"""Seed 004's integration list, over a real socket: a message streamed and persisted, the one-shot, the document."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from openapi_spec_validator import validate

from agi.errors import ModelError
from agi.testing.box import Daemon, daemon_in_a_box


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with daemon_in_a_box(tmp_path, trusted=True) as box:
        yield box


async def streamed(daemon: Daemon, path: str, body: object) -> list[tuple[str, dict[str, Any]]]:
    """The words and payloads of a streamed reply."""
    return [(event.event, msgspec.json.decode(event.data)) async for event in daemon.stream(path, body=body)]


def rows(daemon: Daemon, query: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(daemon.workspace.path / ".agi/agi.sqlite") as db:
        found = db.execute(query).fetchall()
    db.close()
    return found


async def test_a_posted_message_is_received_over_sse_and_persisted_correctly(daemon: Daemon) -> None:
    """Create session → post message → receive SSE → data persisted correctly."""
    daemon.workspace.write("a.txt", "alpha\n")
    daemon.model.calls("fs.read", path="a.txt").then_says("It says alpha.", size=5)
    session = (await daemon.post("/v1/sessions", {"title": "first", "agent": "general"})).json()
    path = f"/v1/sessions/{session['id']}/messages"

    told = await streamed(daemon, path, {"content": "read it"})

    words = [word for word, _ in told]
    assert words[0] == "message.created"
    assert words[-1] == "turn.completed"
    assert [word for word in words if word.startswith("tool.")] == ["tool.call", "tool.result"]
    deltas = [payload for word, payload in told if word == "message.part.delta"]
    assert "".join(delta["delta"] for delta in deltas) == "It says alpha."
    assert set(deltas[0]) == {"partId", "type", "delta", "messageId", "offset"}
    completed = [payload for word, payload in told if word == "message.completed"]
    assert completed[-1]["parts"] == [{"type": "text", "text": "It says alpha.", "id": deltas[0]["partId"]}]

    assert rows(daemon, "SELECT id, title, agent FROM sessions") == [(session["id"], "first", "general")]
    roles = rows(daemon, "SELECT role, status FROM messages ORDER BY position")
    assert roles == [("user", "complete"), ("assistant", "complete"), ("tool", "complete"), ("assistant", "complete")]
    kinds = rows(daemon, "SELECT p.type FROM message_parts p JOIN messages m ON m.id=p.message_id ORDER BY m.position")
    assert kinds == [("text",), ("tool_call",), ("tool_result",), ("text",)]
    listed = (await daemon.get(path)).json()
    assert [message["role"] for message in listed["messages"]] == [role for role, _ in roles]
    assert listed["has_more"] is False


async def test_without_sse_the_answer_comes_when_the_turn_is_complete(daemon: Daemon) -> None:
    """A `content` message returns once complete if JSON: message with parts, usage and turn status."""
    daemon.model.says("Four.")
    session_id = await daemon.begin()

    reply = await daemon.post(f"/v1/sessions/{session_id}/messages", {"content": "two and two?"})

    said = reply.json()
    assert reply.status == 200
    assert [part["text"] for part in said["message"]["parts"]] == ["Four."]
    assert (said["turn_status"], said["stop_reason"], said["verification"]) == ("completed", "end_turn", "not_run")
    assert said["usage"]["requests"] == 1
    assert said["message_id"].startswith("msg_")
    assert said["turn_id"].startswith("turn_")


async def test_one_shot_returns_the_expected_shape(daemon: Daemon) -> None:
    """One‑shot route returns expected shape, and its session is not listed."""
    daemon.model.says("Hello.")

    reply = await daemon.post("/v1/one-shot", {"prompt": "greet me"})

    said = reply.json()
    assert reply.status == 200
    assert set(said) == {"session_id", "turn_id", "message", "content", "usage", "stop_reason", "refused"}
    assert (said["content"], said["stop_reason"], said["refused"]) == ("Hello.", "end_turn", [])
    assert said["message"]["role"] == "assistant"
    assert (await daemon.get("/v1/sessions")).json() == {"sessions": [], "next": None}


async def test_one_shot_takes_a_conversation(daemon: Daemon) -> None:
    """`messages` are the context: the model is told all of them, in order and with their roles."""
    daemon.model.says("Blue.")
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "My favourite colour is blue."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "Which is it?"},
    ]

    said = (await daemon.post("/v1/one-shot", {"messages": messages})).json()

    assert said["content"] == "Blue."
    (request,) = daemon.model.requests
    told = [(message.role, message.parts[0].text) for message in request.messages]
    assert told == [(message["role"], message["content"]) for message in messages]


async def test_one_shot_streams_when_asked_to(daemon: Daemon) -> None:
    """The same words as a streamed message, after the session it happens in."""
    daemon.model.says("Hello.")

    told = await streamed(daemon, "/v1/one-shot", {"prompt": "greet me"})

    words = [word for word, _ in told]
    assert words[:2] == ["session.created", "message.created"]
    assert words[-1] == "turn.completed"
    assert told[1][1]["session_id"] == told[0][1]["id"]


async def test_openapi_is_served_and_valid(daemon: Daemon) -> None:
    """OpenAPI served and minimally valid, with the version of the package and parts told apart by `type`."""
    document = (await daemon.get("/openapi.json")).json()

    validate(document)
    assert document["openapi"].startswith("3.1")
    assert document["info"]["version"] == (await daemon.get("/v1/health")).json()["version"]
    assert "/v1/sessions/{session_id}/messages" in document["paths"]
    part = document["components"]["schemas"]["Part"]
    assert part["discriminator"]["propertyName"] == "type"
    assert {"text", "tool_call", "tool_result", "image", "error"} <= set(part["discriminator"]["mapping"])


async def test_a_failing_provider_is_an_error_event_and_an_error_payload(daemon: Daemon) -> None:
    """Consistent error payloads and SSE `error` events; the turn is in the log and can be retried."""
    for _ in range(2):
        daemon.model.fails(ModelError("overloaded", code="provider_overloaded"))
    session_id = await daemon.begin()
    path = f"/v1/sessions/{session_id}/messages"

    reply = await daemon.post(path, {"content": "hello"})
    told = await streamed(daemon, path, {"content": "hello"})

    assert reply.status == 502
    error = reply.json()["error"]
    assert (error["code"], error["message"]) == ("provider_overloaded", "overloaded")
    assert [word for word, _ in told][-2:] == ["error", "turn.failed"]
    assert told[-2][1]["message"] == "overloaded"
    daemon.model.says("Better now.")
    retried = await daemon.post(f"/v1/sessions/{session_id}/turns/{told[-1][1]['turn_id']}/retry")
    assert retried.status == 202
    assert error["turn_id"].startswith("turn_")


async def test_stream_tells_a_session_from_now_on(daemon: Daemon) -> None:
    """`/stream` is live from now: what was said before is not repeated, what is said next arrives in dotted words."""
    daemon.model.says("first").then_says("second")
    turn = await daemon.ask("one")
    await turn.answer()
    response = await daemon.open("GET", f"/v1/sessions/{turn.session_id}/stream")

    await daemon.ask("two", session_id=turn.session_id)

    heard = b""
    async for chunk in response.chunks():
        heard += chunk
        if b"event: session.completed" in heard:
            break
    await response.close()
    assert b"second" in heard
    assert b"first" not in heard
    assert b"event: message.created" in heard
    assert b"_added" not in heard
