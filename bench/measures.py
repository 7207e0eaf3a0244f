"""The measurements, one function a line of the table."""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2

from agi.net.http import HttpClient
from bench.peers import costs
from bench.processes import AGI, ROOT, Daemon, cpu_ms, cpu_of_runs, daemon, environment, provider, rss_mb, settle

_BAR = re.compile(r"(?P<sign>[<≤≥]) (?P<most>[\d.,]*\d)(?P<times>×)?(?!.*\bover\b)(?P<said>.*\b(pass|MISS)\b)?")


class Row:
    """One line: what was measured, ours, the floor, the bar the ratio or the figure is held against.

    A bar that begins with a comparison says whether it was met; any other, or its note, says so itself.
    """

    def __init__(self, name: str, ours: float, unit: str, floor: float | None, bar: str, note: str = "") -> None:
        self.name, self.ours, self.unit, self.floor, self.bar, self.note = name, ours, unit, floor, bar, note

    def cells(self) -> tuple[str, ...]:
        floor = "" if self.floor is None else f"{self.floor:.4g}"
        ratio = "" if not self.floor else f"{self.ours / self.floor:.2f}×"
        return self.name, f"{self.ours:.4g} {self.unit}", floor, ratio, self._judged(), self.note

    def _judged(self) -> str:
        found = _BAR.match(self.bar)
        if found is None or found["said"] or self.note.startswith(("pass", "MISS")):
            return self.bar
        value = self.ours / self.floor if found["times"] and self.floor else self.ours
        most = float(found["most"].replace(",", ""))
        met = value >= most if found["sign"] == "≥" else value < most or (found["sign"] == "≤" and value == most)
        return f"{self.bar}, {'pass' if met else 'MISS'}"


class Ground:
    """A folder for one measurement: a project and a home."""

    def __init__(self, base_url: str = "") -> None:
        self.root = Path(tempfile.mkdtemp(prefix="agi-bench-"))
        self.project = self.root / "project"
        self.home = self.root / "home"
        settle(self.project, self.home)
        self.env = environment(self.home, base_url)


def start() -> list[Row]:
    """`agi --version` beside a bare interpreter."""
    ground = Ground()
    python = (sys.executable, "-c", "pass")
    found = cpu_of_runs({"ours": (*AGI, "--version"), "floor": python}, ground.env, ROOT, rounds=15)
    return [Row("agi --version, CPU", found["ours"][0], "ms", found["floor"][0], "≤ 2.5×")]


def one_shot() -> list[Row]:
    """A whole one-shot on a fresh process, log and fsync included, beside a bare httpx one-shot."""
    with provider("says:Hello, this is the answer.") as url:
        ground = Ground(url)
        floor = (sys.executable, "-m", "bench.floors", "oneshot", url)
        ours = (*AGI, "--project", str(ground.project), "say hello")
        found = cpu_of_runs({"ours": ours, "floor": floor}, ground.env, ROOT, rounds=11)
    wall = f"wall {found['ours'][1]:.0f} ms, floor {found['floor'][1]:.0f}"
    return [Row("one-shot, CPU", found["ours"][0], "ms", found["floor"][0], "≤ 1.2×", wall)]


def ready() -> list[Row]:
    """From the start of the daemon to its first answered request; then what it costs to do nothing."""
    code = "import starlette.applications, starlette.routing, uvicorn"
    imports = cpu_of_runs({"floor": (sys.executable, "-c", code)}, Ground().env, ROOT, rounds=9)["floor"][0]
    cpus, walls = [], []
    idle = memory = 0.0
    for n in range(5):
        ground = Ground()
        began = time.perf_counter()
        with daemon(ground.project, ground.env) as running:
            answer = httpx2.get(f"{running.url}/v1/sessions", headers={"Authorization": f"Bearer {running.token}"})
            answer.raise_for_status()
            walls.append((time.perf_counter() - began) * 1000)
            cpus.append(cpu_ms(running.pid))
            if n == 4:
                time.sleep(1)
                before = cpu_ms(running.pid)
                time.sleep(4)
                idle = (cpu_ms(running.pid) - before) / 40
                memory = rss_mb(running.pid)
    wall = f"wall {statistics.median(walls):.0f} ms"
    return [
        Row("daemon ready, CPU", statistics.median(cpus), "ms", imports, "≤ 2×", wall + "; floor: the imports alone"),
        Row("idle memory", memory, "MB", None, "< 60 MB"),
        Row("idle CPU", idle, "% of a core", None, "< 1 %"),
    ]


async def _turn(client: httpx2.AsyncClient, session: str, content: str = "go") -> dict[str, object]:
    answer = await client.post(f"/v1/sessions/{session}/messages", json={"content": content})
    answer.raise_for_status()
    reply = answer.json()
    if reply["stop_reason"] != "end_turn":
        raise RuntimeError(f"the turn was not played to its end: {reply['stop_reason']}")
    return reply


def _client(running: Daemon) -> httpx2.AsyncClient:
    headers = {"Authorization": f"Bearer {running.token}"}
    return httpx2.AsyncClient(base_url=running.url, headers=headers, timeout=120)


async def _session(client: httpx2.AsyncClient) -> str:
    answer = await client.post("/v1/sessions", json={})
    answer.raise_for_status()
    return str(answer.json()["id"])


def _floor(*arguments: str) -> dict[str, float]:
    done = subprocess.run(
        (sys.executable, "-m", "bench.floors", *arguments), capture_output=True, text=True, check=True, cwd=ROOT
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def steps() -> list[Row]:
    """A tool-loop step: model call, `true` in a shell, log and fsync; and twenty sessions of ten steps at once."""
    costs.adopt_orphans()
    with provider("loop:50") as url:
        floor = _floor("loop", url, "4")
        ground = Ground(url)
        with daemon(ground.project, ground.env) as running:
            ours, wall = asyncio.run(_steps(running, 4))
    with provider("loop:10") as url:
        ground = Ground(url)
        with daemon(ground.project, ground.env) as running:
            crowd = asyncio.run(_crowd(running))
    per_floor = floor["cpu_ms"] / floor["steps"]
    return [
        Row("tool-loop step, CPU", ours, "ms", per_floor, "≤ 2×", f"wall {wall:.1f} ms a step"),
        Row("20 sessions × 10 steps, CPU", crowd[0], "s", None, "< 2 s", f"wall {crowd[1]:.2f} s"),
    ]


async def _steps(running: Daemon, turns: int) -> tuple[float, float]:
    async with _client(running) as client:
        session = await _session(client)
        await _turn(client, session)
        total = 0
        costs.collect()
        before, began = costs.cpu_ms(running.pid), time.perf_counter()
        for _ in range(turns):
            session = await _session(client)
            await _turn(client, session)
            total += 51
        wall = (time.perf_counter() - began) * 1000
        return (costs.cpu_ms(running.pid) - before + costs.collect()) / total, wall / total


async def _crowd(running: Daemon) -> tuple[float, float]:
    async with _client(running) as client:
        await _turn(client, await _session(client))
        sessions = [await _session(client) for _ in range(20)]
        costs.collect()
        before, began = costs.cpu_ms(running.pid), time.perf_counter()
        await asyncio.gather(*(_turn(client, session) for session in sessions))
        wall = time.perf_counter() - began
        return (costs.cpu_ms(running.pid) - before + costs.collect()) / 1000, wall


def first_delta() -> list[Row]:
    """Submit to first delta over HTTP, warm: POST, then the first text on an SSE link that is open already."""
    with provider("says:Hello there.") as url:
        ground = Ground(url)
        with daemon(ground.project, ground.env) as running:
            times = asyncio.run(_first_deltas(running, 20))
    best = f"best {min(times):.2f} ms"
    return [Row("submit to first delta", statistics.median(times), "ms", None, "< 4 ms quiet", best)]


async def _first_deltas(running: Daemon, count: int) -> list[float]:
    """With our own small client, so that what is measured is the daemon."""
    times = []
    headers = {"authorization": f"Bearer {running.token}", "content-type": "application/json"}
    async with HttpClient() as client:

        async def post(path: str, body: bytes) -> bytes:
            async with await client.request("POST", running.url + path, headers=headers, body=body) as response:
                return await response.read()

        session = json.loads(await post("/v1/sessions", b"{}"))["id"]
        heard: asyncio.Queue[float] = asyncio.Queue()
        over = asyncio.Event()

        async def listen() -> None:
            url = f"{running.url}/v1/sessions/{session}/events"
            async with await client.request("GET", url, headers=headers) as response:
                async for chunk in response.chunks():
                    if b"event: model_output_delta" in chunk:
                        heard.put_nowait(time.perf_counter())
                    if b"event: session_completed" in chunk:
                        over.set()

        task = asyncio.create_task(listen())
        await asyncio.sleep(0.2)
        for _ in range(count + 5):
            began = time.perf_counter()
            await post(f"/v1/sessions/{session}/messages", b'{"parts": [{"type": "text", "text": "go"}]}')
            times.append((await heard.get() - began) * 1000)
            await over.wait()
            over.clear()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return times[5:]


def stream() -> list[Row]:
    """A streamed chunk from the provider's socket through the log to an SSE client, beside a bare adapter."""
    chunks, turns = 2000, 6
    with provider("stream", "--chunks", str(chunks)) as url:
        floor = _floor("stream", url, str(turns))["cpu_ms"] * 1000 / chunks / turns
        ground = Ground(url)
        with daemon(ground.project, ground.env) as running:
            ours = asyncio.run(_stream(running, turns)) * 1000 / chunks / turns
    return [Row("streamed chunk, CPU", ours, "µs", floor, "≤ 4×", "daemon's CPU; its SSE client is another process")]


async def _stream(running: Daemon, turns: int) -> float:
    headers = {"Accept": "text/event-stream"}
    async with _client(running) as client:
        session = await _session(client)
        before = 0.0
        for n in range(turns + 1):
            if n == 1:
                before = cpu_ms(running.pid)
            path = f"/v1/sessions/{session}/messages"
            async with client.stream("POST", path, json={"content": "go"}, headers=headers) as response:
                async for _ in response.aiter_raw():
                    pass
        return cpu_ms(running.pid) - before


def long_session() -> list[Row]:
    """A session of 100,000 events: opening it, its last page, and replaying it all."""
    return asyncio.run(_long_session(100_000))


async def _long_session(count: int) -> list[Row]:
    from agi.eventlog.log import EventLog
    from agi.protocol import events as ev
    from agi.protocol.ids import new_id
    from agi.protocol.messages import Message
    from agi.protocol.parts import Text
    from agi.protocol.times import to_rfc3339
    from agi.views import queries
    from agi.views.tables import Tables

    folder = Path(tempfile.mkdtemp(prefix="agi-bench-")) / ".agi"
    log = EventLog(folder, Tables())
    session, now = new_id("sess"), to_rfc3339(time.time())
    created = ev.SessionCreated(id=session, agent="build", workspace_path="/", project_path="/", created_at=now)
    await log.append(session, [(None, created)])

    def message() -> ev.MessageAdded:
        text = Text(text="x" * 200, id=new_id("part"))
        one = Message(id=new_id("msg"), role="user", parts=(text,), created_at=now, status="complete")
        return ev.MessageAdded(message=one, run=False)

    for _ in range(count // 1000):
        await log.append(session, [(None, message()) for _ in range(1000)])
    await log.close()
    began = time.perf_counter()
    log = EventLog(folder, Tables())
    queries.session_state(log.db, session)
    queries.list_messages(log.db, session, limit=100)
    opened = (time.perf_counter() - began) * 1000
    began, seen = time.perf_counter(), 0
    while page := log.read(session, seen, 1000):
        for event in page:
            event.envelope()
        seen = page[-1].seq
    rate = seen / (time.perf_counter() - began)
    await log.close()
    return [
        Row(f"open a session of {count:,} events, last page", opened, "ms", None, "does not read it all"),
        Row("replay", rate, "events/s", None, "≥ 50,000"),
    ]
