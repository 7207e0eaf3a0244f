"""What one session's greedy command costs the others: how long their turns take meanwhile, beside the same alone."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path

from agi.models.base import ModelRequest
from agi.models.scripted import Call, Say, ScriptedModel, Step
from agi.protocol.parts import plain_text
from agi.testing.box import Daemon, daemon_in_a_box, eventually
from bench.measures import Row

TURNS = int(os.environ.get("AGI_TURNS", "200"))
BAR = 3.0
"""How many times longer than alone a turn may take; a command may use every processor there is."""
FREE = {"approval": {"requireForKinds": []}, "verify": {"autoVerify": False}}
GREEDY = {
    "endless output": "yes",
    "busy processors": f"for i in $(seq {os.cpu_count()}); do (while :; do :; done) & done; wait",
    "endless processes": "while :; do for i in 1 2 3 4 5 6 7 8; do /bin/true & done; wait; done",
    "filling the disk": "while :; do head -c 100M /dev/zero > big; rm big; done",
}


def neighbours() -> list[Row]:
    """Each kind of greed, and the p99 of a turn of another session."""
    return asyncio.run(_measure())


async def _measure() -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory(prefix="agi-bench-") as folder:
        model = ScriptedModel.from_function(_decide)
        async with daemon_in_a_box(Path(folder), model=model, trusted=True, config=FREE, auth="token") as daemon:
            await _turns(daemon, 20)
            for name in GREEDY:
                alone = await _turns(daemon, TURNS)
                greedy = await daemon.ask(name)
                await eventually(lambda: _has_begun(daemon, greedy.session_id))  # noqa: B023 - it is waited for here
                beside = await _turns(daemon, TURNS)
                await daemon.post(f"/v1/sessions/{greedy.session_id}/cancel", {})
                await greedy.ended()
                rows.append(_row(name, beside, alone))
    return rows


def _has_begun(daemon: Daemon, session_id: str) -> bool:
    return any(event.type == "tool_call_started" for event in daemon.harness.log.read(session_id, 0, 100))


def _decide(request: ModelRequest) -> list[Step]:
    asked = plain_text(request.messages[0].parts)
    if asked in GREEDY and len(request.messages) == 1:
        return [Call("shell", {"command": GREEDY[asked], "timeout_s": 600})]
    return [Say("ok")]


async def _turns(daemon: Daemon, count: int) -> list[float]:
    """How long each of so many turns took, from the request to its answer, in milliseconds."""
    taken = []
    for _ in range(count):
        began = time.perf_counter()
        await (await daemon.ask("hello")).answer()
        taken.append((time.perf_counter() - began) * 1000)
    return sorted(taken)


def _row(name: str, beside: list[float], alone: list[float]) -> Row:
    p99 = [taken[int(len(taken) * 0.99) - 1] for taken in (beside, alone)]
    p50 = [taken[len(taken) // 2] for taken in (beside, alone)]
    bar = f"≤ {BAR:g}×, {'pass' if p99[0] <= BAR * p99[1] else 'MISS'}"
    note = f"p99 of {TURNS} turns of others; p50 {p50[0]:.1f} beside {p50[1]:.1f} ms alone"
    return Row(f"a turn beside {name}", p99[0], "ms", p99[1], bar, note)
