"""A hundred thousand turns: what they cost at the end beside what they cost at the beginning, in memory, time and disk.

`python -m bench soak` runs AGI_TURNS turns (default 3,000) against a daemon process whose model is a scripted provider
on loopback. Sessions have fifty turns each. A tenth of the run stands for a day: at its end what is over the limits of
retention is removed, as a daemon does once a day for a user who sets them.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import time
from pathlib import Path

from bench.load import Http
from bench.measures import Ground, Row
from bench.processes import Daemon, daemon, provider, rss_mb

TURNS = int(os.environ.get("AGI_TURNS", "3000"))
AT_ONCE = 4
A_SESSION = 50
KEPT = 20
TENTH = 10


class Probe:
    """What was seen in one tenth of the run."""

    def __init__(self) -> None:
        self.took: list[float] = []
        self.rss = 0.0
        self.disk = 0.0


async def _turns(http: Http, due: asyncio.Queue[int], probes: list[Probe], turns: int) -> None:
    session_id, used = "", A_SESSION
    while not due.empty():
        number = due.get_nowait()
        if used == A_SESSION:
            session_id, used = str((await http.call("POST", "/v1/sessions", {}))["id"]), 0
        used += 1
        began = time.perf_counter()
        told = await http.call("POST", f"/v1/sessions/{session_id}/messages", {"content": f"question {number}"})
        if told["turn_status"] != "completed":
            raise RuntimeError(f"turn {number} was not answered: {told}")
        probes[number * TENTH // turns].took.append(time.perf_counter() - began)


async def _watch(running: Daemon, folder: Path, due: asyncio.Queue[int], probes: list[Probe], turns: int) -> None:
    """Look at memory and disk now and then, and clear up once a day; each tenth keeps what was seen last in it."""
    http, day = Http(running), 0
    while True:
        today = min(TENTH - 1, (turns - due.qsize()) * TENTH // turns)
        if today > day:
            await http.call("POST", "/v1/gc", {})
            day = today
        probes[today].rss, probes[today].disk = rss_mb(running.pid), _disk_mb(folder)
        await asyncio.sleep(1)


def _disk_mb(folder: Path) -> float:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(place, name)).st_blocks * 512
            except OSError:
                continue
    return total / 1e6


async def _run(running: Daemon, folder: Path, turns: int) -> list[Probe]:
    http, probes = Http(running), [Probe() for _ in range(TENTH)]
    due: asyncio.Queue[int] = asyncio.Queue()
    for number in range(turns):
        due.put_nowait(number)
    watch = asyncio.create_task(_watch(running, folder, due, probes, turns))
    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(_turns(http, due, probes, turns))
    watch.cancel()
    probes[-1].rss, probes[-1].disk = rss_mb(running.pid), _disk_mb(folder)
    return probes


def soak() -> list[Row]:
    """Turn after turn: the second tenth, when all that is kept is there, beside the last."""
    with provider("says:An answer of some words, as answers are.") as url:
        ground = Ground(url)
        config = ground.home / ".config" / "agi" / "config.json"
        settings = json.loads(config.read_text()) | {"retention": {"maxBytes": 20_000_000, "keepSessions": KEPT}}
        config.write_text(json.dumps(settings))
        with daemon(ground.project, ground.env) as running:
            began = time.monotonic()
            probes = asyncio.run(_run(running, ground.project / ".agi", TURNS))
            seconds = time.monotonic() - began
    early, late = probes[1], probes[-1]
    took = [statistics.median(probe.took) * 1000 for probe in (early, late)]
    note = f"{TURNS} turns in {seconds:.0f} s, {AT_ONCE} at once"
    by_tenth = " ".join(f"{probe.rss:.0f}" for probe in probes)
    return [
        Row("soak: a turn at the end beside the beginning", took[1], "ms", took[0], "≤ 1.2×", note),
        Row("soak: memory at the end", late.rss, "MB", early.rss, "≤ 1.1×", f"MB by tenth: {by_tenth}"),
        Row(
            "soak: disk at the end",
            late.disk,
            "MB",
            early.disk,
            "bounded",
            "MB by tenth: " + " ".join(f"{p.disk:.0f}" for p in probes),
        ),
    ]
