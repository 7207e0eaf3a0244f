"""`/v1/sessions/{id}/queue` and `mode: "steer"` over real sockets; the model plays a script."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agi.models.scripted import Call, Say, Wait
from agi.testing.box import AskedTurn, Daemon, Reply, eventually

NOBODY = "msg_" + "0" * 32
READ = Call("read_file", {"path": "notes.txt"})


class Busy:
    """A session whose model waits at `gate`, then calls a tool."""

    def __init__(self, daemon: Daemon, turn: AskedTurn, gate: asyncio.Event) -> None:
        self.daemon, self.turn, self.gate = daemon, turn, gate
        self.at = f"/v1/sessions/{turn.session_id}"

    async def say(self, text: str, **fields: object) -> dict[str, Any]:
        reply = await self.daemon.post(f"{self.at}/messages", {"parts": [{"type": "text", "text": text}], **fields})
        assert reply.status == 202
        return dict(reply.json())

    async def queue(self) -> list[dict[str, Any]]:
        return list((await self.daemon.get(f"{self.at}/queue")).json()["queue"])

    async def change(self, method: str, message_id: str, body: object = None, tail: str = "") -> Reply:
        return await self.daemon.call(method, f"{self.at}/queue/{message_id}{tail}", body)


@pytest.fixture
async def busy(daemon: Daemon) -> Busy:
    gate = asyncio.Event()
    daemon.workspace.write("notes.txt", "note\n")
    daemon.model.plays(Wait(gate), READ)
    turn = await daemon.ask("begin")
    await eventually(lambda: daemon.model.requests)
    return Busy(daemon, turn, gate)


async def test_what_waits_is_listed_edited_promoted_and_dropped(busy: Busy) -> None:
    """Rows have their text; the session's own queue says the same; the one that steers comes first."""
    busy.daemon.model.then_says("I see.")
    one, two, three = [await busy.say(text) for text in ("one", "tow", "three")]

    edited = await busy.change("PATCH", two["message_id"], {"content": "two"})
    promoted = await busy.change("POST", two["message_id"], tail="/steer")
    dropped = await busy.change("DELETE", three["message_id"])

    assert (edited.status, promoted.status, dropped.status, dropped.body) == (200, 200, 204, b"")
    assert (edited.json()["text"], edited.json()["mode"], promoted.json()["mode"]) == ("two", "queue", "steer")
    assert [(row["text"], row["mode"], row["turn_id"]) for row in await busy.queue()] == [
        ("two", "steer", two["turn_id"]),
        ("one", "queue", one["turn_id"]),
    ]
    session = (await busy.daemon.get(busy.at)).json()
    assert [row.get("mode", "queue") for row in session["queue"]] == ["steer", "queue"]


async def test_who_waits_for_a_message_that_steers_gets_the_running_turns_answer(busy: Busy) -> None:
    """Also as a stream: the turn that took it up is the one that answers it."""
    busy.daemon.model.then_says("I use tabs.")
    body = {"content": "use tabs", "mode": "steer"}
    waiting = asyncio.create_task(busy.daemon.post(f"{busy.at}/messages", body))
    streamed = busy.daemon.stream(f"{busy.at}/messages", body={"content": "please", "mode": "steer"})
    hearing = asyncio.create_task(_all(streamed))
    await eventually(lambda: len(busy.daemon.harness.queue.all(busy.turn.session_id)) == 2)
    busy.gate.set()

    reply, heard = (await waiting).json(), await hearing

    assert (reply["turn_id"], reply["turn_status"]) == (busy.turn.id, "completed")
    assert reply["message"]["parts"][0]["text"] == "I use tabs."
    assert "turn.canceled" in heard
    assert heard[-1] == "turn.completed"


async def _all(stream: Any) -> list[str]:
    return [event.event async for event in stream if event.event != "heartbeat"]


async def test_what_comes_too_late_is_told_and_changes_nothing(busy: Busy) -> None:
    """409 with a hint for a message that was taken up, 404 for one that was never there."""
    gate = asyncio.Event()
    busy.daemon.model.plays(Wait(gate), Say("I see."))
    posted = await busy.say("use tabs", mode="steer")
    busy.gate.set()
    await eventually(lambda: len(busy.daemon.model.requests) == 2)
    before = len(await busy.daemon.history(busy.turn.session_id))

    for message_id, status, code in (
        (posted["message_id"], 409, "message_not_waiting"),
        (NOBODY, 404, "message_not_found"),
    ):
        for reply in (
            await busy.change("PATCH", message_id, {"content": "x"}),
            await busy.change("DELETE", message_id),
            await busy.change("POST", message_id, {}, "/steer"),
        ):
            assert (reply.status, reply.code) == (status, code)
            assert reply.json()["error"]["hint"]
    assert len(await busy.daemon.history(busy.turn.session_id)) == before
    gate.set()
    assert await busy.turn.answer() == "I see."


@pytest.mark.parametrize(
    "body", [{}, {"content": "x", "parts": [{"type": "text", "text": "y"}]}, {"content": ""}, {"text": "x"}]
)
async def test_an_edit_that_says_nothing_or_two_things_is_refused(busy: Busy, body: object) -> None:
    """The message stays as it was."""
    posted = await busy.say("as it was")
    assert (await busy.change("PATCH", posted["message_id"], body)).status == 422
    assert [row["text"] for row in await busy.queue()] == ["as it was"]


async def test_a_mode_that_is_none_and_a_steer_with_a_model_are_refused(busy: Busy) -> None:
    """Before anything is written."""
    said = [{"type": "text", "text": "x"}]
    for fields in ({"mode": "shout"}, {"mode": "steer", "model": "other"}):
        assert (await busy.daemon.post(f"{busy.at}/messages", {"parts": said, **fields})).status == 422
    assert await busy.queue() == []


async def test_the_queue_of_no_session_is_not_found(daemon: Daemon) -> None:
    """Reading and changing alike."""
    nowhere = "/v1/sessions/sess_" + "0" * 32
    assert (await daemon.get(f"{nowhere}/queue")).code == "session_not_found"
    assert (await daemon.call("DELETE", f"{nowhere}/queue/{NOBODY}")).code == "session_not_found"
