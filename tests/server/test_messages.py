"""Saying something: at once or when it is answered, queued when busy, and never tied to the client who asked."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

from agi.errors import ModelError
from agi.models.scripted import Say, Wait
from agi.protocol import events as ev
from agi.protocol.commands import PostMessage
from agi.testing.box import Daemon, daemon_in_a_box, eventually

TEXT = [{"type": "text", "text": "hi"}]


async def say(daemon: Daemon, session_id: str, **body: Any) -> Any:
    return await daemon.post(f"/v1/sessions/{session_id}/messages", body)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"parts": TEXT}, 202),
        ({"parts": TEXT, "wait": True}, 200),
        ({"content": "hi"}, 200),
        ({"content": "hi", "wait": False}, 202),
    ],
)
async def test_parts_answer_at_once_content_waits_and_wait_overrides(
    daemon: Daemon, body: dict[str, Any], status: int
) -> None:
    """The two forms differ only in what they wait for."""
    daemon.model.says("Hello.")
    reply = await say(daemon, await daemon.begin(), **body)
    assert reply.status == status
    expected = {"message_id", "turn_id", "queued"} if status == 202 else {"message", "turn_status"}
    assert expected <= set(reply.json())


@pytest.mark.parametrize("body", [{"parts": TEXT}, {"content": "hi"}, {"content": "hi", "wait": True}])
async def test_a_message_can_be_only_appended(daemon: Daemon, body: dict[str, Any]) -> None:
    """`auto_run: false` adds it to the log and nothing answers."""
    session_id = await daemon.begin()

    reply = await say(daemon, session_id, **body, auto_run=False)

    assert reply.status == 202
    assert reply.json()["turn_id"] is None
    assert [event["type"] for event in await daemon.history(session_id)] == ["session_created", "message_added"]


async def test_a_session_can_be_quiet_by_itself(daemon: Daemon) -> None:
    """What the session was begun with counts, until a message says otherwise."""
    daemon.model.says("Now.")
    session_id = await daemon.begin(auto_run=False)
    assert (await say(daemon, session_id, content="one")).status == 202
    assert (await say(daemon, session_id, content="two", auto_run=True)).status == 200


async def test_a_message_to_a_busy_session_is_queued_and_says_so(daemon: Daemon) -> None:
    """It is answered when its turn comes."""
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate), Say("first")).then_says("second")
    first = await daemon.ask("one")

    reply = await say(daemon, first.session_id, parts=TEXT)
    waiting = asyncio.create_task(say(daemon, first.session_id, content="three"))
    daemon.model.then_says("third")
    gate.set()

    assert reply.json()["queued"] is True
    answered = (await waiting).json()
    assert answered["message"]["parts"][0]["text"] == "third"


async def test_a_canceled_wait_is_told_as_canceled(daemon: Daemon) -> None:
    """Canceling is an ordinary outcome: 200, with what was said so far."""
    gate = asyncio.Event()
    daemon.model.plays(Say("I was about"), Wait(gate))
    session_id = await daemon.begin()
    waiting = asyncio.create_task(say(daemon, session_id, content="hi"))
    await eventually(lambda: daemon.harness.log.hub.open.get(session_id))

    await daemon.post(f"/v1/sessions/{session_id}/cancel", {"reason": "enough"})

    reply = await waiting
    said = reply.json()
    assert reply.status == 200
    assert (said["turn_status"], said["stop_reason"]) == ("canceled", "canceled")
    assert said["message"]["parts"][0]["text"] == "I was about"


async def test_a_turn_canceled_before_a_word_has_no_message(daemon: Daemon) -> None:
    """`message` is null then."""
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate))
    session_id = await daemon.begin()
    waiting = asyncio.create_task(say(daemon, session_id, content="hi"))
    await eventually(lambda: daemon.model.requests)

    await daemon.post(f"/v1/sessions/{session_id}/cancel")

    assert (await waiting).json()["message"] is None


@pytest.mark.parametrize("accept", ["text/event-stream", "text/event-stream, application/json;q=0.5"])
async def test_who_prefers_a_stream_gets_one(daemon: Daemon, accept: str) -> None:
    """By the order of what is accepted."""
    daemon.model.says("Hello.")
    path = f"/v1/sessions/{await daemon.begin()}/messages"
    reply = await daemon.post(path, {"content": "hi"}, {"accept": accept})
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert reply.body.startswith(b"event: message.created\n")
    assert b"event: turn.completed\n" in reply.body.split(b"\n\n")[-2] + b"\n"


@pytest.mark.parametrize("accept", ["*/*", "application/json, text/event-stream", ""])
async def test_who_does_not_prefer_a_stream_gets_json(daemon: Daemon, accept: str) -> None:
    """JSON is what there is otherwise."""
    daemon.model.says("Hello.")
    path = f"/v1/sessions/{await daemon.begin()}/messages"
    reply = await daemon.post(path, {"content": "hi"}, {"accept": accept})
    assert reply.headers["content-type"] == "application/json"


async def test_a_streamed_turn_shows_only_itself(daemon: Daemon) -> None:
    """What else happens in the session is not in the reply, and the reply ends with the turn."""
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate), Say("first")).then_says("second")
    first = await daemon.ask("one")
    events: list[bytes] = []

    async def listen() -> None:
        path = f"/v1/sessions/{first.session_id}/messages"
        events.extend([event.data async for event in daemon.stream(path, body={"content": "two"})])

    listening = asyncio.create_task(listen())
    await eventually(lambda: daemon.harness.state(first.session_id).queue)
    gate.set()

    await listening
    assert not any(b"first" in data for data in events)
    assert any(b"second" in data for data in events)


async def test_a_client_that_leaves_does_not_stop_its_turn(daemon: Daemon) -> None:
    """A run belongs to the daemon, not to a connection, whichever way it was asked for."""
    for accept in ("application/json", "text/event-stream"):
        gate = asyncio.Event()
        daemon.model.plays(Wait(gate), Say("Finished."))
        session_id = await daemon.begin()
        daemon.model.requests.clear()
        path = f"/v1/sessions/{session_id}/messages"
        asking = asyncio.create_task(daemon.post(path, {"content": "hi"}, {"accept": accept}))
        await eventually(lambda: daemon.model.requests)
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
        await eventually(lambda: daemon.lines[-1].path.endswith("/messages"))

        gate.set()

        turn_id = daemon.harness.state(session_id).last_turn_id
        assert turn_id
        assert (await daemon.harness.wait_turn(session_id, turn_id)).status == "completed"


async def test_a_stopping_daemon_tells_those_who_wait(tmp_path: Path) -> None:
    """503 with the turn, which goes on at the next start."""
    gate = asyncio.Event()
    async with daemon_in_a_box(tmp_path) as daemon:
        daemon.model.plays(Wait(gate))
        session_id = await daemon.begin()
        waiting = asyncio.create_task(say(daemon, session_id, content="hi"))
        await eventually(lambda: daemon.model.requests)

        daemon.app.stop()

        reply = await waiting
        assert (reply.status, reply.code) == (503, "unavailable")
        assert reply.json()["error"]["turn_id"] == daemon.harness.state(session_id).last_turn_id


async def test_a_failed_turn_is_the_providers_fault(daemon: Daemon) -> None:
    """502 in the error shape, with the turn and the provider's own code."""
    daemon.model.fails(ModelError("no more quota", code="quota_exceeded", hint="Pay."))
    reply = await say(daemon, await daemon.begin(), content="hi")
    error = reply.json()["error"]
    assert reply.status == 502
    assert (error["code"], error["message"], error["hint"]) == ("quota_exceeded", "no more quota", "Pay.")
    assert error["turn_id"].startswith("turn_")


async def test_messages_come_in_pages(daemon: Daemon) -> None:
    """The latest page first; `before` the oldest of it gives the page before."""
    session_id = await daemon.begin()
    for n in range(5):
        await daemon.harness.post_message(session_id, PostMessage(content=str(n), auto_run=False))
    path = f"/v1/sessions/{session_id}/messages"

    last = (await daemon.get(f"{path}?limit=2")).json()
    middle = (await daemon.get(f"{path}?limit=2&before={last['messages'][0]['id']}")).json()
    first = (await daemon.get(f"{path}?limit=2&before={middle['messages'][0]['id']}")).json()
    foreign = await daemon.get(f"{path}?before=msg_{'0' * 32}")

    texts = [[message["parts"][0]["text"] for message in page["messages"]] for page in (last, middle, first)]
    assert texts == [["3", "4"], ["1", "2"], ["0"]]
    assert [page["has_more"] for page in (last, middle, first)] == [True, True, False]
    assert (foreign.status, foreign.code) == (404, "message_not_found")


async def test_a_page_tells_what_happened_between_its_messages(daemon: Daemon) -> None:
    """Each answer to a question behind the message that asked it, with how long calls took; nothing of other pages."""
    session_id = await daemon.begin()
    for number in (1, 2):
        daemon.model.calls("shell", command=f"echo {number}").then_says(f"Said {number}.")
        turn = await daemon.ask(f"say {number}", session_id=session_id)
        await (turn.approve() if number == 1 else turn.deny(reason="not twice"))
        await turn.answer()
    path = f"/v1/sessions/{session_id}/messages?render=html"

    whole = (await daemon.get(path)).json()
    asked = [one["id"] for one in whole["messages"] if one["role"] == "assistant" and len(one["parts"]) == 1][::2]
    answers = [one for one in whole["asides"] if one["type"].startswith("approval_")]
    assert [(one["type"], one["after"]) for one in answers] == [
        ("approval_granted", asked[0]),
        ("approval_denied", asked[1]),
    ]
    assert answers[1]["data"]["reason"] == "not twice"
    calls = list(whole["calls"].values())
    assert [one["blocked"] for one in calls] == [True, False]
    assert calls[1]["duration_ms"] >= 0

    later = (await daemon.get(f"{path}&limit=4")).json()
    earlier = (await daemon.get(f"{path}&before={later['messages'][0]['id']}")).json()
    for page, kind in ((later, "approval_denied"), (earlier, "approval_granted")):
        assert [one["type"] for one in page["asides"] if one["type"].startswith("approval_")] == [kind]
        assert len(page["calls"]) == 1
    assert "asides" not in (await daemon.get(f"/v1/sessions/{session_id}/messages")).json()


async def test_what_is_long_is_not_told_between_messages(daemon: Daemon) -> None:
    """The output of a check is in the log; a page of messages does without it."""
    session_id = await daemon.begin()
    said = "x" * 5000
    check = ev.VerificationCompleted(
        verification_id="ver_1", command="make test", attempt=1, status="passed", output=said, exit_code=0
    )
    await daemon.harness.log.append(session_id, [(None, check)])

    told = (await daemon.get(f"/v1/sessions/{session_id}/messages?render=html")).json()["asides"]

    assert [(one["type"], one["after"], one["data"]["command"]) for one in told] == [
        ("verification_completed", "", "make test")
    ]
    assert "output" not in told[0]["data"]
