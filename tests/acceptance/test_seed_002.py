"""Seed 002, in its words, over a real socket: a frontend sends, polls the status, cancels, lists, reloads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agi.errors import ModelError
from agi.testing.box import Daemon, daemon_in_a_box, eventually

KINDS = ("repositories", "knowledge", "constitutions")


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with daemon_in_a_box(tmp_path) as box:
        yield box


@pytest.fixture(params=KINDS)
async def agent(daemon: Daemon, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """The base path of a registered resource of each kind."""
    folder = tmp_path / "things" / "atlas"
    folder.mkdir(parents=True)
    (folder / "notes.md").write_text("The river is long.\n")
    reply = await daemon.call("PUT", f"/api/{request.param}/atlas", {"path": str(folder)})
    assert reply.status == 201
    return f"/api/{request.param}/atlas/agent"


async def is_working(daemon: Daemon, agent: str) -> dict[str, Any]:
    """Poll the status, as the frontend does, until the agent is at work."""
    for _ in range(1000):
        status = (await daemon.get(f"{agent}/status")).json()
        if status["processing"]:
            return dict(status)
        await asyncio.sleep(0.001)
    raise AssertionError("it never began")


async def test_send_agent_message(daemon: Daemon, agent: str) -> None:
    """`POST …/agent` answers with the response, its parts typed thinking, tool or final, and a session."""
    daemon.model.calls("read_file", path="notes.md").then_says("It is long.")

    reply = await daemon.post(agent, {"message": "How long is the river?"})

    answer = reply.json()
    assert reply.status == 200
    assert set(answer) == {"messageId", "sent", "response", "prompt", "responses", "sessionId"}
    assert answer["response"] == "It is long."
    assert answer["prompt"] == "How long is the river?"
    assert [(one["type"], "callId" in one) for one in answer["responses"]] == [
        ("tool", True),
        ("tool", True),
        ("final", False),
    ]
    assert answer["responses"][0]["callId"] == answer["responses"][1]["callId"]
    assert "The river is long." in answer["responses"][1]["text"]
    assert answer["responses"][2]["text"] == "It is long."
    assert all(one["timestamp"].endswith("Z") and one["partId"] for one in answer["responses"])


async def test_session_id_continues_a_session(daemon: Daemon, agent: str) -> None:
    """With `sessionId` the conversation goes on; without it another begins; an unknown one is 404."""
    daemon.model.says("One.").then_says("Two.").then_says("Other.")
    first = (await daemon.post(agent, {"message": "a"})).json()["sessionId"]

    second = (await daemon.post(agent, {"message": "b", "sessionId": first})).json()["sessionId"]
    third = (await daemon.post(agent, {"message": "c"})).json()["sessionId"]
    unknown = await daemon.post(agent, {"message": "d", "sessionId": "sess_" + "0" * 32})

    assert first == second != third
    assert (unknown.status, unknown.code) == (404, "session_not_found")
    assert len((await daemon.get(f"{agent}/sessions")).json()["sessions"]) == 2


async def test_get_agent_status(daemon: Daemon, agent: str) -> None:
    """`processing` and `startedAt`; one that waits for a person says so in an extra field."""
    daemon.model.calls("write_file", path="notes.md", content="x").then_says("Left alone.")
    idle = (await daemon.get(f"{agent}/status")).json()
    asking = asyncio.create_task(daemon.post(agent, {"message": "change it"}))

    await eventually(lambda: any(one.activity == "waiting_approval" for one in daemon.harness.sessions()))
    working = (await daemon.get(f"{agent}/status")).json()
    session = (await daemon.get(f"/v1/sessions/{working['sessionId']}")).json()
    (pending,) = session["pending_approvals"]
    body = {"tool_call_id": pending["tool_call_id"], "action": "deny"}
    await daemon.post(f"/v1/sessions/{session['id']}/approve", body)

    assert idle == {"processing": False, "startedAt": None}
    assert (working["processing"], working["waitingFor"]) == (True, "approval")
    assert working["startedAt"].endswith("Z")
    assert (await asking).json()["response"] == "Left alone."
    assert (await daemon.get(f"{agent}/status")).json() == idle


async def test_cancel_agent_request(daemon: Daemon, agent: str) -> None:
    """`204 No Content` on success, also where nothing runs; what was canceled is answered with what there is."""
    daemon.model.calls("write_file", path="notes.md", content="x").then_says("never said")
    asking = asyncio.create_task(daemon.post(agent, {"message": "change it"}))
    await is_working(daemon, agent)

    canceled = await daemon.post(f"{agent}/cancel")
    again = await daemon.post(f"{agent}/cancel")
    as_json = await daemon.post(f"{agent}/cancel", {})

    assert [(one.status, one.body) for one in (canceled, again, as_json)] == [(204, b"")] * 3
    assert (await asking).status == 200
    assert (await daemon.get(f"{agent}/status")).json() == {"processing": False, "startedAt": None}


async def test_list_sessions(daemon: Daemon, agent: str) -> None:
    """`id`, `title` and `updated`, the latest first, at most `limit`."""
    daemon.model.says("One.").then_says("Two.")
    first = (await daemon.post(agent, {"message": "first words"})).json()["sessionId"]
    second = (await daemon.post(agent, {"message": "second words"})).json()["sessionId"]

    both = (await daemon.get(f"{agent}/sessions?limit=5")).json()["sessions"]
    latest = (await daemon.get(f"{agent}/sessions?limit=1")).json()["sessions"]

    assert [(one["id"], one["title"]) for one in both] == [(second, "second words"), (first, "first words")]
    assert latest == both[:1]
    assert all(set(one) == {"id", "title", "updated"} for one in both)


async def test_fetch_session_history(daemon: Daemon, agent: str) -> None:
    """Each message once, typed text, tool_use or tool; `start` leaves out what is earlier."""
    daemon.model.calls("read_file", path="notes.md").then_says("It is long.").then_says("Bye.")
    answer = (await daemon.post(agent, {"message": "How long?"})).json()
    session_id = answer["sessionId"]
    await daemon.post(agent, {"message": "Thanks.", "sessionId": session_id})

    history = (await daemon.get(f"{agent}/history?session_id={session_id}")).json()

    assert history["sessionId"] == session_id
    assert [(one["role"], one["type"]) for one in history["messages"]] == [
        ("user", "text"),
        ("assistant", "tool_use"),
        ("assistant", "tool"),
        ("assistant", "text"),
        ("user", "text"),
        ("assistant", "text"),
    ]
    assert history["messages"][0]["messageId"] == answer["messageId"]
    assert len({(one.get("callId"), one["partId"]) for one in history["messages"]}) == 6
    late = (await daemon.get(f"{agent}/history?session_id={session_id}&start=99999999999999")).json()
    assert late == {"sessionId": session_id, "messages": []}


async def test_a_reload_in_the_middle_shows_what_was_said_and_goes_on(daemon: Daemon, agent: str) -> None:
    """The page is closed while the agent works: the turn goes on, and history and status tell of it afterwards."""
    daemon.model.calls("write_file", path="notes.md", content="x").then_says("Done.")
    asking = asyncio.create_task(daemon.post(agent, {"message": "change it"}))
    await eventually(lambda: any(one.activity == "waiting_approval" for one in daemon.harness.sessions()))
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)

    working = await is_working(daemon, agent)
    before = (await daemon.get(f"{agent}/history?session_id={working['sessionId']}")).json()["messages"]
    session = (await daemon.get(f"/v1/sessions/{working['sessionId']}")).json()
    body = {"tool_call_id": session["pending_approvals"][0]["tool_call_id"], "action": "deny"}
    await daemon.post(f"/v1/sessions/{session['id']}/approve", body)
    await eventually(lambda: daemon.harness.session(session["id"]).status == "completed")
    after = (await daemon.get(f"{agent}/history?session_id={working['sessionId']}")).json()["messages"]

    assert [one["type"] for one in before] == ["text", "tool_use"]
    assert after[: len(before)] == before
    assert after[-1]["content"] == "Done."


async def test_two_messages_at_once_to_one_session_queue(daemon: Daemon, agent: str) -> None:
    """Both are answered, one after the other."""
    daemon.model.says("Hello.").then_says("One.").then_says("Two.")
    session_id = (await daemon.post(agent, {"message": "hi"})).json()["sessionId"]

    both = await asyncio.gather(
        daemon.post(agent, {"message": "a", "sessionId": session_id}),
        daemon.post(agent, {"message": "b", "sessionId": session_id}),
    )

    assert [one.status for one in both] == [200, 200]
    assert sorted(one.json()["response"] for one in both) == ["One.", "Two."]


async def test_a_provider_that_fails_is_told(daemon: Daemon, agent: str) -> None:
    """502 in the error shape, with the turn, which can be retried."""
    daemon.model.fails(ModelError("the provider is gone", code="provider_failed"))

    reply = await daemon.post(agent, {"message": "hi"})

    assert reply.status == 502
    assert reply.json()["error"]["turn_id"].startswith("turn_")


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "", {}, 422),
        ("POST", "", {"message": ""}, 422),
        ("POST", "", {"message": 7}, 422),
        ("POST", "", {"message": "hi", "model": "x"}, 422),
        ("GET", "/history", None, 422),
        ("GET", "/history?session_id=x", None, 404),
        ("GET", "/history?session_id=x&start=soon", None, 422),
        ("GET", "/sessions?limit=0", None, 422),
        ("GET", "", None, 405),
    ],
)
async def test_bad_input_changes_nothing(
    daemon: Daemon, agent: str, method: str, path: str, body: object, status: int
) -> None:
    """Each gets an error in the one shape."""
    reply = await daemon.call(method, agent + path, body)

    assert reply.status == status
    assert reply.json()["error"]["hint"]
    assert daemon.harness.sessions() == []


async def test_the_project_is_a_repository_under_its_folders_name(daemon: Daemon) -> None:
    """Without being registered; sessions begun elsewhere are listed too, since they are in the same folder."""
    daemon.model.says("Hi.").then_says("Hello.")
    turn = await daemon.ask("from another client")
    await turn.answer()

    answer = (await daemon.post("/api/repositories/project/agent", {"message": "hi"})).json()

    listed = (await daemon.get("/api/repositories/project/agent/sessions")).json()["sessions"]
    assert [one["id"] for one in listed] == [answer["sessionId"], turn.session_id]
    other = await daemon.get("/api/repositories/elsewhere/agent/status")
    assert (other.status, other.code) == (404, "resource_not_found")
