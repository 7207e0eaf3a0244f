"""What is measured of each peer, one function a measure: from a peer on its ground to figures by column."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import urlopen

import msgspec

from bench.peers import costs
from bench.peers.base import Ground, Peer
from bench.peers.installing import ROOT
from bench.peers.playing import Noted, Play, gaps_ms

STEPS = 60
CHUNKS = 10_000
TURNS = 3
SESSIONS = 200
CROWD, CROWD_STEPS = 20, 10
SETTLING_S = 1.0

Figures = dict[str, float]
"""By column."""


class Stand:
    """A peer on its ground, for a whole run: what it sets up once is set up before anything is measured."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.ground = Ground()
        with self.playing():
            self.ask()

    @contextmanager
    def playing(self, *, steps: int = 0, chunks: int = 1) -> Iterator[str]:
        """A provider that plays, which the peer is set up to ask; yields its URL."""
        play = Play(steps=steps, chunks=chunks, tool=self.peer.tool.name, arguments=self.peer.tool.arguments)
        command = (sys.executable, "-m", "bench.peers.playing", msgspec.json.encode(play).decode())
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        costs.OWN.add(process.pid)
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            self.peer.settle(self.ground, url)
            yield url
        finally:
            process.kill()
            process.communicate()
            costs.OWN.discard(process.pid)

    def ask(self) -> costs.Cost:
        """The whole command, to its answer."""
        return costs.run(self.peer.one_shot(self.ground), self.ground.env, self.ground.project, expect="word0")


def _times(url: str) -> list[Noted]:
    with urlopen(f"{url}/bench/times") as answer:
        return msgspec.json.decode(answer.read(), type=list[Noted])


def start(stand: Stand) -> Figures:
    """The version is printed."""
    cost = costs.run(stand.peer.start(), stand.ground.env, stand.ground.project)
    return {"start_cpu": cost.cpu_ms, "start_wall": cost.wall_ms}


def one_shot(stand: Stand) -> Figures:
    """One answer of one chunk, by the whole command."""
    with stand.playing() as url:
        before = stand.ground.bytes_on_disk()
        found = [stand.ask() for _ in range(TURNS)]
        kept = (stand.ground.bytes_on_disk() - before) / TURNS / 1024
        sizes = [noted.size / 1024 for noted in _times(url)]
    cpu, wall, peak = (statistics.median(column) for column in zip(*found, strict=True))
    request = statistics.median(sizes) if sizes else 0.0
    figures = {"shot_cpu": cpu, "shot_wall": wall, "shot_peak": peak, "request": request}
    return figures | ({"disk": kept} if stand.peer.keeps else {})


def steps(stand: Stand) -> Figures:
    """An answer after one call of `true`, and one after so many more: what is loaded for the first is paid once."""
    first, _ = _stepping(stand, 1)
    loop, gaps = _stepping(stand, 1 + STEPS)
    return {"first_cpu": first, "loop_cpu": loop, "step_gap": statistics.median(gaps)}


def _stepping(stand: Stand, steps: int) -> tuple[float, list[float]]:
    with stand.playing(steps=steps) as url:
        cost = stand.ask()
        gaps = gaps_ms(_times(url))
    if len(gaps) != steps:
        raise costs.Failed(f"made {len(gaps)} steps instead of {steps}")
    return cost.cpu_ms, gaps


def stream(stand: Stand) -> Figures:
    """An answer of many chunks."""
    if stand.peer.shows == "asks for no stream":
        return {}
    with stand.playing(chunks=CHUNKS):
        return {"stream_cpu": stand.ask().cpu_ms}


def server(stand: Stand) -> Figures:
    """Until it takes a session, idle, and so many sessions of one turn."""
    with stand.playing():
        return asyncio.run(_server(stand.peer, stand.ground))


async def _server(peer: Peer, ground: Ground) -> Figures:
    began = time.perf_counter()
    serving = peer.serve(ground)
    if serving is None:
        return {}
    async with serving as running:
        first = await running.session()
        ready = (time.perf_counter() - began) * 1000
        cpu = costs.cpu_ms(running.pid)
        await asyncio.sleep(SETTLING_S)
        idle = costs.rss_mb(running.pid)
        await running.turn(first)
        for _ in range(2):
            await running.turn(await running.session())
        before = costs.rss_mb(running.pid)
        for _ in range(SESSIONS):
            await running.turn(await running.session())
        each = (costs.rss_mb(running.pid) - before) * 1024 / SESSIONS
    return {"ready_wall": ready, "ready_cpu": cpu, "idle": idle, "session": each}


def crowd(stand: Stand) -> Figures:
    """So many sessions at once, of so many steps each."""
    with stand.playing(steps=CROWD_STEPS):
        if stand.peer.serve(stand.ground) is None:
            return _crowd_of_processes(stand)
        return asyncio.run(_crowd(stand.peer, stand.ground))


async def _crowd(peer: Peer, ground: Ground) -> Figures:
    serving = peer.serve(ground)
    assert serving is not None
    async with serving as running:
        await running.turn(await running.session())
        sessions = [await running.session() for _ in range(CROWD)]
        costs.collect()
        before, began = costs.cpu_ms(running.pid), time.perf_counter()
        await asyncio.gather(*(running.turn(session) for session in sessions))
        wall = time.perf_counter() - began
        used = costs.cpu_ms(running.pid) - before + costs.collect()
        return {"crowd_wall": wall, "crowd_cpu": used / 1000}


def _crowd_of_processes(stand: Stand) -> Figures:
    began = time.perf_counter()

    async def all_at_once() -> list[costs.Cost]:
        return await asyncio.gather(*(asyncio.to_thread(stand.ask) for _ in range(CROWD)))

    found = asyncio.run(all_at_once())
    return {"crowd_wall": time.perf_counter() - began, "crowd_cpu": sum(cost.cpu_ms for cost in found) / 1000}


MEASURES = {
    "start": (start, 5),
    "one_shot": (one_shot, 3),
    "steps": (steps, 5),
    "stream": (stream, 3),
    "server": (server, 3),
    "crowd": (crowd, 3),
}
"""Each with its rounds; in a round everyone has a turn."""
