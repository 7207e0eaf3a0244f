"""Canceling and retrying over HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agi.errors import ModelError
from agi.models.scripted import Wait
from agi.server.request import AppSettings
from agi.testing.box import Daemon, daemon_in_a_box


class Stubborn:
    """A gate that does not let itself be canceled at once."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.lets_go = asyncio.Event()

    async def wait(self) -> None:
        self.entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            await self.lets_go.wait()


async def test_cancel_stops_the_running_turn_and_the_queue(daemon: Daemon) -> None:
    """All of them end, and the answer comes when they have."""
    daemon.model.plays(Wait(asyncio.Event()))
    running = await daemon.ask("one")
    queued = await daemon.ask("two", session_id=running.session_id)

    reply = await daemon.post(f"/v1/sessions/{running.session_id}/cancel", {"reason": "stop"})

    assert reply.json() == {"turn_ids": [running.id, queued.id], "status": "canceled"}
    session = (await daemon.get(f"/v1/sessions/{running.session_id}")).json()
    assert (session["status"], session["activity"], session["queue"]) == ("canceled", "idle", [])


async def test_one_turn_can_be_canceled_alone(daemon: Daemon) -> None:
    """The others stay."""
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate)).then_says("two")
    running = await daemon.ask("one")
    queued = await daemon.ask("two", session_id=running.session_id)

    reply = await daemon.post(f"/v1/sessions/{running.session_id}/cancel", {"turn_id": running.id})

    assert reply.json()["turn_ids"] == [running.id]
    assert await queued.answer() == "two"


async def test_what_does_not_stop_in_time_is_being_canceled(tmp_path: Path) -> None:
    """The answer does not wait for ever; the turn ends when it can."""
    gate = Stubborn()
    async with daemon_in_a_box(tmp_path, settings=AppSettings(cancel_wait_s=0.01)) as daemon:
        daemon.model.plays(Wait(gate))
        turn = await daemon.ask("one")
        await gate.entered.wait()

        reply = await daemon.post(f"/v1/sessions/{turn.session_id}/cancel")

        assert reply.json() == {"turn_ids": [turn.id], "status": "canceling"}
        gate.lets_go.set()
        assert (await turn.ended())["type"] == "turn_canceled"


async def test_a_failed_turn_is_retried_with_the_same_message(daemon: Daemon) -> None:
    """`202` with the new turn and what it repeats."""
    daemon.model.fails(ModelError("down")).then_says("Up again.")
    turn = await daemon.ask("hello")
    assert (await turn.ended())["type"] == "turn_failed"

    reply = await daemon.post(f"/v1/sessions/{turn.session_id}/turns/{turn.id}/retry")

    retried = reply.json()
    assert reply.status == 202
    assert (retried["retry_of"], retried["queued"]) == (turn.id, False)
    ended = await daemon.harness.wait_turn(turn.session_id, retried["turn_id"])
    assert (ended.status, ended.message_id) == ("completed", retried["message_id"])
    first, second = daemon.model.requests
    assert first.messages == second.messages
