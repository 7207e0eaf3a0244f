"""The chat gateway: how old words are when they arrive at many sockets, and how long an answer takes to count."""

from __future__ import annotations

import asyncio
import json
import statistics
import time

from websockets.asyncio.client import ClientConnection, connect

from bench.measures import Ground, Row
from bench.processes import Daemon, cpu_ms, daemon, provider, stamped_provider

SESSIONS = 20
SOCKETS = 10
"""To each session."""


def _connect(running: Daemon) -> connect:
    url = running.url.replace("http://", "ws://") + "/v1/chat"
    return connect(url, additional_headers={"Authorization": f"Bearer {running.token}"}, proxy=None, max_size=None)


async def _begin(socket: ClientConnection, content: str) -> str:
    await socket.send(json.dumps({"type": "chat.send", "id": "1", "content": content}))
    while (message := json.loads(await socket.recv()))["type"] != "chat.stream.start":
        pass
    return str(message["sessionId"])


async def _hear(socket: ClientConnection, ages: list[float]) -> str:
    """Read to the end of the turn; each word is as old as it says."""
    said: list[str] = []
    while True:
        message = json.loads(await socket.recv())
        if message["type"] == "chat.stream.delta":
            now = time.monotonic_ns()
            ages += [(now - int(word)) / 1e6 for word in message["delta"].split()]
            said.append(message["delta"])
        elif message["type"] in ("chat.stream.end", "error"):
            return "".join(said)


async def _crowd(running: Daemon) -> tuple[list[float], int]:
    """Many sockets on some sessions; the ages of all words, and how many socket heard something else than the rest."""
    ages: list[float] = []
    wrong = 0
    async with asyncio.TaskGroup() as group:

        async def one_session() -> None:
            nonlocal wrong
            async with Together(_connect(running) for _ in range(SOCKETS)) as sockets:
                session_id = await _begin(sockets[0], "go")
                for socket in sockets[1:]:
                    attach = {"type": "session.attach", "id": "2", "sessionId": session_id, "after": "0"}
                    await socket.send(json.dumps(attach))
                texts = await asyncio.gather(*(_hear(socket, ages) for socket in sockets))
                wrong += sum(text != texts[0] for text in texts)

        for _ in range(SESSIONS):
            group.create_task(one_session())
    return ages, wrong


class Together:
    """Several connections, opened and closed together."""

    def __init__(self, opening) -> None:  # type: ignore[no-untyped-def]
        self._opening = list(opening)
        self._open: list[ClientConnection] = []

    async def __aenter__(self) -> list[ClientConnection]:
        self._open = list(await asyncio.gather(*self._opening))
        return self._open

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(socket.close() for socket in self._open))


def chat() -> list[Row]:
    """200 sockets on 20 sessions, each word told to ten of them; 2,000 deliveries a second."""
    words, pause = 40, 0.1
    with stamped_provider(words, pause) as url:
        ground = Ground(url)
        with daemon(ground.project, ground.env) as running:
            before = cpu_ms(running.pid)
            ages, wrong = asyncio.run(_crowd(running))
            spent = cpu_ms(running.pid) - before
    ages.sort()
    rate = SESSIONS * SOCKETS / pause
    note = f"{rate:.0f} deliveries/s, {len(ages)} words, {wrong} sockets heard otherwise"
    note += f"; p50 {statistics.median(ages):.1f} ms; daemon {spent / max(1, len(ages)) * 1000:.0f} µs CPU a delivery"
    return [Row("chat delta, p99 age at 200 sockets", ages[int(len(ages) * 0.99)], "ms", None, "< 50 ms", note)]


async def _round_trips(running: Daemon, rounds: int) -> list[float]:
    """From hearing the question, over the answer, to hearing that the tool has started."""
    found = []
    async with _connect(running) as socket:
        await socket.send(json.dumps({"type": "chat.send", "id": "1", "content": "go"}))
        while len(found) < rounds:
            message = json.loads(await socket.recv())
            if message["type"] == "tool.approval.request":
                began = time.perf_counter()
                answer = {
                    "type": "tool.approval.response",
                    "id": "2",
                    "toolCallId": message["toolCallId"],
                    "approved": True,
                }
                await socket.send(json.dumps(answer))
            elif message["type"] == "tool.call":
                found.append((time.perf_counter() - began) * 1000)
    return found


def approval() -> list[Row]:
    """An approval over the gateway."""
    with provider("loop:30") as url:
        ground = Ground(url)
        config = ground.home / ".config" / "agi" / "config.json"
        settings = json.loads(config.read_text())
        settings["approval"] = {"requireForKinds": ["exec"]}
        config.write_text(json.dumps(settings))
        with daemon(ground.project, ground.env) as running:
            found = asyncio.run(_round_trips(running, 25))
    note = f"best {min(found):.1f} ms, {len(found)} approvals"
    return [Row("approval round trip, median", statistics.median(found), "ms", None, "< 10 ms", note)]
