"""Compaction over HTTP: at once, with the running turn, undone, and refused with what to do."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agi.models.scripted import Say, Wait
from agi.testing.box import Daemon, daemon_in_a_box, eventually


@pytest.fixture
async def daemon(tmp_path: Path):
    async with daemon_in_a_box(tmp_path) as box:
        yield box


async def talked(daemon: Daemon) -> str:
    session_id = await daemon.begin()
    for number in range(4):
        daemon.model.says(f"Answer {number}. " * 100)
        await (await daemon.ask(f"question {number} " + "words " * 100, session_id=session_id)).answer()
    return session_id


async def test_a_compaction_is_answered_with_its_figures_and_told_on_both_streams(daemon: Daemon) -> None:
    """`context_compacted` on /events, `context.compacted` on /stream, with the same data."""
    session_id = await talked(daemon)
    daemon.model.says("Goal: talk.")
    stream = daemon.stream(f"/v1/sessions/{session_id}/stream?after=0")

    reply = await daemon.post(f"/v1/sessions/{session_id}/compact", {"focus": "the talk"})

    assert reply.status == 200
    told = reply.json()
    assert told["status"] == "compacted"
    assert 0 < told["post_tokens"] < told["pre_tokens"]
    made = next(one for one in await daemon.history(session_id) if one["type"] == "context_compacted")
    assert made["data"]["compaction_id"] == told["compaction_id"]
    assert made["data"]["dropped"]["messages"] == told["dropped"]["messages"] > 0
    async for event in stream:
        if event.event == "context.compacted":
            break
    await stream.aclose()


async def test_while_a_turn_runs_it_is_queued(daemon: Daemon) -> None:
    """202, and the running turn does it."""
    session_id = await talked(daemon)
    gate = asyncio.Event()
    daemon.model.plays(Wait(gate), Say("Done. " * 100)).says("Goal: talk.")
    turn = await daemon.ask("go on", session_id=session_id)
    await eventually(lambda: len(daemon.model.requests) == 5)

    reply = await daemon.post(f"/v1/sessions/{session_id}/compact")
    gate.set()

    assert (reply.status, reply.json()["status"]) == (202, "queued")
    await turn.answer()


async def test_undoing_and_what_cannot_be_done(daemon: Daemon) -> None:
    """Each refusal has its code, and nothing has changed."""
    session_id = await daemon.begin()
    path = f"/v1/sessions/{session_id}/compact"
    before = await daemon.history(session_id)

    assert [(await daemon.post(path, body)).code for body in ({}, {"undo": True})] == [
        "nothing_to_compact",
        "nothing_to_undo",
    ]
    assert (await daemon.post(path, {"undo": True, "focus": "x"})).status == 422
    assert (await daemon.post(path, {"focus": "x" * 2001})).status == 422
    assert (await daemon.post(path, {"fokus": "x"})).status == 422
    assert (await daemon.post("/v1/sessions/sess_nobody/compact")).status == 404
    assert await daemon.history(session_id) == before


async def test_a_compaction_can_be_canceled_over_http(daemon: Daemon) -> None:
    """The cancel is answered at once, and so is whoever waited for the compaction."""
    session_id = await talked(daemon)
    daemon.model.plays(Wait(asyncio.Event()))
    asked = asyncio.ensure_future(daemon.post(f"/v1/sessions/{session_id}/compact"))
    await eventually(lambda: daemon.harness.session(session_id).activity == "compacting")

    canceled = await daemon.post(f"/v1/sessions/{session_id}/cancel")

    assert canceled.json() == {"turn_ids": [], "status": "canceled"}
    assert (await asyncio.wait_for(asked, 1)).code == "canceled"
