"""kill -9 a real daemon at random moments of a busy turn, again and again: nothing acknowledged is lost.

The provider is a scripted one on loopback. AGI_KILLS sets how often (default 50), AGI_SEED
the moments.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sqlite3
from pathlib import Path

import pytest
from tests.torture.killed import KilledDaemon

from agi.net.http import NetError
from agi.net.sse import sse_events
from agi.testing.provider import ProviderServer
from agi.testing.replies import Reply, calls, says
from agi.testing.scripts import Asked

pytestmark = pytest.mark.slow
KILLS = int(os.environ.get("AGI_KILLS", "50"))
SEED = int(os.environ.get("AGI_SEED", "1"))
A_SESSION = 200
"""How often one session is killed before the next has its turn: it must not grow so long that starts take minutes."""


class Victim(KilledDaemon):
    """A daemon that is killed, and a ledger of everything it ever acknowledged."""

    def __init__(self, root: Path, base_url: str) -> None:
        settings = {"approval": {"requireForKinds": []}, "verify": {"autoVerify": False}}
        super().__init__(root, base_url, settings)
        self.ledger: dict[int, bytes] = {}
        """Every durable event a client was shown, by number."""
        self.accepted: list[str] = []
        """Turns the daemon said it had taken."""
        self.session = ""

    async def watch(self) -> None:
        """Keep the ledger: follow the session from the last number seen."""
        path = f"{self.url}/v1/sessions/{self.session}/events?after={max(self.ledger, default=0)}"
        async with await self.client.request("GET", path, headers=self.headers) as response:
            async for event in sse_events(response.chunks()):
                if event.id and ":" not in event.id:
                    self.ledger[int(event.id)] = event.data

    async def work(self) -> None:
        """Send messages, one after the other, for ever."""
        while True:
            text = {"parts": [{"type": "text", "text": "go"}]}
            answer = await self.call("POST", f"/v1/sessions/{self.session}/messages", text)
            self.accepted.append(answer["turn_id"])
            await self.settled(answer["turn_id"])

    async def caught_up(self) -> None:
        """Wait until the mirror has the whole log."""
        mirror = self.project / ".agi" / "sessions" / self.session / "events.ndjson"
        last = (await self.call("GET", f"/v1/sessions/{self.session}"))["last_seq"]
        async with asyncio.timeout(10):
            while json.loads(mirror.read_bytes().splitlines()[-1])["seq"] < last:  # noqa: ASYNC110 - a file
                await asyncio.sleep(0.01)

    async def settled(self, turn_id: str) -> None:
        while True:
            session = await self.call("GET", f"/v1/sessions/{self.session}")
            if session["activity"] == "idle":
                return
            await asyncio.sleep(0.005)


async def _alive_for(victim: Victim, seconds: float) -> None:
    """Work and watch until the moment comes; then kill."""
    tasks = [asyncio.create_task(victim.watch()), asyncio.create_task(victim.work())]
    done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in done:
        task.result()
    await victim.kill()
    for task in tasks:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        assert isinstance(outcome, asyncio.CancelledError | NetError), outcome


def check(log: list[dict], victim: Victim) -> None:
    """What must hold of the log, whenever it is looked at."""
    assert [event["seq"] for event in log] == list(range(1, len(log) + 1))
    for seq, shown in victim.ledger.items():
        event = json.loads(shown)
        kept = log[seq - 1]
        assert (event["type"], event["turn_id"]) == (kept["type"], kept["turn_id"]), (
            f"event {seq} was shown and is gone"
        )
        assert event["type"] == "model_output_delta" or event["data"] == kept["data"]  # a delta may be clipped
    known = {event["turn_id"] for event in log if event["type"] == "message_added"}
    assert set(victim.accepted) <= known
    started = [event["data"]["tool_call"]["id"] for event in log if event["type"] == "tool_call_started"]
    completed = [event["data"]["tool_call_id"] for event in log if event["type"] == "tool_call_completed"]
    assert len(completed) == len(set(completed))
    assert set(started) <= set(completed)


def ledger_script(asked: Asked) -> Reply:
    """Four commands a turn, each leaving a line of its own behind; then text. Decided by the request alone."""
    messages = asked.json["messages"]
    results = 0
    for message in reversed(messages):
        if message["role"] == "user":
            break
        results += message["role"] == "tool"
    if results == 4:
        return says("All four are done.", chunks=3)
    return calls(("shell", {"command": f"echo {len(messages)} >> ledger.txt"}))


@pytest.mark.threat("T43")
@pytest.mark.timeout(300 + 10 * KILLS)
async def test_kill_9_at_random_moments_loses_nothing_and_runs_nothing_twice(tmp_path):
    """No acknowledged event or message is lost, numbers are dense, every call ends once and runs at most once."""
    moments = random.Random(SEED)
    survived = 0
    async with ProviderServer(ledger_script, record=False) as provider:
        for begun in range(0, KILLS, A_SESSION):
            root = tmp_path / str(begun)
            root.mkdir()
            kills = min(A_SESSION, KILLS - begun)
            survived += await _survives(Victim(root, provider.base_url), kills, moments)
            print(f"{begun + kills} kills, {survived} acknowledged events there")


async def _survives(victim: Victim, kills: int, moments: random.Random) -> int:
    """One session, killed so often; gives how many events somebody had been shown, all of which are there."""
    await victim.start()
    victim.session = (await victim.call("POST", "/v1/sessions", {}))["id"]
    for _ in range(kills):
        await _alive_for(victim, moments.uniform(0.0, 0.25))
        await victim.start()
    await victim.settled("")
    answer = await victim.call("POST", f"/v1/sessions/{victim.session}/messages", {"content": "still there?"})
    assert answer["turn_status"] == "completed"
    await victim.caught_up()
    await victim.kill()
    log = _stored(victim)
    check(log, victim)
    resumed = sum(event["type"] == "turn_resumed" for event in log)
    assert resumed > kills // 5, "too few kills hit a running turn to prove anything"
    ran = (victim.project / "ledger.txt").read_text().split()
    assert len(ran) == len(set(ran)), "a command ran twice"
    told = [event for event in log if event["type"] == "tool_call_completed" and not event["data"].get("interrupted")]
    assert len(told) <= len(ran)
    mirror = victim.project / ".agi" / "sessions" / victim.session / "events.ndjson"
    assert [json.loads(line)["seq"] for line in mirror.read_bytes().splitlines()] == [event["seq"] for event in log]
    return len(victim.ledger)


def _stored(victim: Victim) -> list[dict]:
    """The log as the database has it."""
    db = sqlite3.connect(victim.project / ".agi" / "agi.sqlite")
    try:
        rows = db.execute(
            "SELECT seq, turn_id, type, data FROM events WHERE session_id=? ORDER BY seq", (victim.session,)
        ).fetchall()
    finally:
        db.close()
    return [{"seq": seq, "turn_id": turn, "type": kind, "data": json.loads(data)} for seq, turn, kind, data in rows]
