"""What is counted of a turn, as `/metrics` tells it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agi.models.scripted import Call, Wait
from agi.testing.box import Daemon, daemon_in_a_box


async def numbers(daemon: Daemon) -> dict[str, float]:
    reply = await daemon.get("/metrics")
    assert reply.status == 200
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = [line for line in reply.body.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


async def test_a_turn_is_counted_with_its_calls_and_questions(tmp_path: Path) -> None:
    """Turns, answers, tokens, tools and approvals, by how they ended."""
    async with daemon_in_a_box(tmp_path, trusted=True) as daemon:
        before = await numbers(daemon)
        daemon.model.calls("shell", command="true").then_says("Done.")
        turn = await daemon.ask("go")
        await turn.deny()
        await turn.answer()
        now = await numbers(daemon)

    assert 'agi_turns_total{outcome="completed",reason="end_turn"}' not in before
    assert now['agi_turns_total{outcome="completed",reason="end_turn"}'] == 1
    assert now['agi_tool_calls_total{tool="shell",outcome="blocked"}'] == 1
    assert now['agi_approvals_total{answer="denied",cause="user"}'] == 1
    assert sum(value for name, value in now.items() if name.startswith("agi_model_calls_total")) == 2
    assert now['agi_events_total{type="turn_started"}'] == 1
    assert now['agi_sessions{status="completed"}'] == 1
    assert now["agi_mirror_ok"] == 1
    assert now["agi_log_bytes"] > 0
    assert now["agi_resident_bytes"] > 0


async def test_a_message_that_steers_is_no_canceled_turn(tmp_path: Path) -> None:
    """The turn that would have answered it never began; the one that took it up is counted."""
    async with daemon_in_a_box(tmp_path, trusted=True) as daemon:
        gate = asyncio.Event()
        daemon.model.plays(Wait(gate), Call("list_directory", {"path": "."})).then_says("Tabs.")
        turn = await daemon.ask("go")
        await daemon.ask("use tabs", session_id=turn.session_id, mode="steer")
        gate.set()
        await turn.answer()
        now = await numbers(daemon)

    assert now['agi_events_total{type="message_steered"}'] == 1
    assert not [name for name in now if name.startswith("agi_turns_total") and "canceled" in name]
    assert now["agi_turn_seconds_count"] == 1


async def test_an_unknown_price_is_counted_as_unknown(tmp_path: Path) -> None:
    """Never as nothing spent."""
    async with daemon_in_a_box(tmp_path) as daemon:
        daemon.model.says("Hello.")
        await (await daemon.ask("hi")).answer()
        now = await numbers(daemon)

    assert sum(value for name, value in now.items() if name.startswith("agi_unpriced_calls_total")) == 1
    assert not any(name.startswith("agi_cost_usd_total") for name in now)


async def test_a_one_shot_is_one_of_the_sessions(tmp_path: Path) -> None:
    """The gauge is of the whole project, whatever lists show."""
    async with daemon_in_a_box(tmp_path) as daemon:
        daemon.model.says("Hello.")
        await daemon.post("/v1/one-shot", {"prompt": "hi"})
        now = await numbers(daemon)

    assert now['agi_sessions{status="completed"}'] == 1


async def test_a_session_that_rotted_is_not_counted_and_keeps_nobody_from_the_numbers(tmp_path: Path) -> None:
    """How it stands is no text any more; the others stand as they do."""
    async with daemon_in_a_box(tmp_path) as daemon:
        for _ in range(2):
            daemon.model.says("hi")
            turn = await daemon.ask("hello")
            await turn.answer()
        change = "UPDATE sessions SET status=CAST(status AS BLOB) WHERE id=?"
        daemon.harness.log.db.execute(change, (turn.session_id,))
        now = await numbers(daemon)

    assert now['agi_sessions{status="completed"}'] == 1


async def test_strangers_get_no_numbers(tmp_path: Path) -> None:
    """How much somebody works is theirs to tell: the guard asks for the token here too."""
    async with daemon_in_a_box(tmp_path, auth="token") as daemon:
        reply = await daemon.get("/metrics", {"authorization": "Bearer wrong-wrong-wrong-wrong"})

    assert reply.status == 401


async def test_an_observer_that_fails_keeps_nobody_from_hearing(tmp_path: Path) -> None:
    """A mistake in what watches is told to the loop, and the turn is answered all the same."""
    async with daemon_in_a_box(tmp_path) as daemon:
        told: list[str] = []

        def broken(events: object) -> None:
            raise RuntimeError("broken")

        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context["message"]))
        daemon.harness.log.observers.insert(0, broken)
        daemon.model.says("Hello.")

        assert await (await daemon.ask("hi")).answer() == "Hello."
        assert (await numbers(daemon))['agi_events_total{type="turn_completed"}'] == 1
    assert set(told) == {"An observer of the log failed."}
