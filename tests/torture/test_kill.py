"""kill -9 a real daemon at random moments of a busy turn or of its start, again and again: nothing promised is lost.

The provider is a scripted one on loopback. AGI_KILLS sets how often (default 500), AGI_SEED the moments. Most starts
are forks of a process that has everything loaded; one in twenty, and the last of each session, is a whole one.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import statistics
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests.torture.forked import Stock
from tests.torture.killed import KilledDaemon

from agi.eventlog.base import ENDINGS
from agi.eventlog.rows import read_page
from agi.eventlog.schema import connect
from agi.net.http import NetError
from agi.net.sse import sse_events
from agi.testing.provider import ProviderServer
from agi.testing.replies import Reply, calls, says
from agi.testing.scripts import Asked

pytestmark = pytest.mark.slow
KILLS = int(os.environ.get("AGI_KILLS", "500"))
SEED = int(os.environ.get("AGI_SEED", "1"))
A_SESSION = 125
"""How often one session is killed before the next has its turn: it must not grow so long that starts take minutes."""
AT_ONCE = 4
"""Sessions with a daemon each, so that two processors have something to do while one of them waits for its moment."""
MOST_EVENTS = 12
"""How many events a daemon lives to show; a turn is some thirty."""
WHOLE = 20
"""One start in so many begins with the interpreter."""
IN_START = 5
"""One kill in so many does not wait for the start to be over."""


class Moment:
    """When a daemon dies: so many events on, and a little later. On a slow machine that is as far into its work."""

    def __init__(self, chance: random.Random) -> None:
        self.events = chance.randrange(MOST_EVENTS)
        self.seconds = chance.uniform(0.0, 0.03)


class Victim(KilledDaemon):
    """A daemon that is killed, and a ledger of everything it ever acknowledged."""

    def __init__(self, root: Path, base_url: str, stock: Stock) -> None:
        settings = {"approval": {"requireForKinds": []}, "verify": {"autoVerify": False}}
        super().__init__(root, base_url, settings)
        self.ledger: dict[int, bytes] = {}
        """Every durable event a client was shown, by number."""
        self.accepted: list[str] = []
        """Turns the daemon said it had taken."""
        self.session = ""
        self._ended: set[str] = set()
        self._heard = asyncio.Event()
        """Wakes whoever waits for an event to be shown."""
        self._stock = stock
        self._starts = 0
        self.took: list[float] = []
        """Seconds of each whole start, from the command to the first answer."""

    async def launch(self) -> None:
        """Begin to start it; seldom with the interpreter."""
        self._starts += 1
        if self._starts % WHOLE == 1:
            await super().launch()
        else:
            with self.told.open("ab") as told:
                self.process = await self._stock.fork(self.command, self.env, told.fileno())

    async def start_whole(self) -> None:
        """Start it as a person would, and note how long that takes."""
        began = time.perf_counter()
        await super().launch()
        await self.ready()
        await self.call("GET", f"/v1/sessions/{self.session}")
        self.took.append(time.perf_counter() - began)

    async def watch(self) -> None:
        """Keep the ledger: follow the session from the last number seen."""
        path = f"{self.url}/v1/sessions/{self.session}/events?after={max(self.ledger, default=0)}"
        async with await self.client.request("GET", path, headers=self.headers) as response:
            async for event in sse_events(response.chunks()):
                if event.id and ":" not in event.id:
                    self.ledger[int(event.id)] = event.data
                    if event.event in ENDINGS:
                        self._ended.add(json.loads(event.data)["turn_id"])
                    self._heard.set()
                    self._heard.clear()

    async def comes_to(self, moment: Moment) -> None:
        """Return at that moment."""
        wanted = len(self.ledger) + moment.events
        async with asyncio.timeout(60):
            while len(self.ledger) < wanted:
                await self._heard.wait()
        await asyncio.sleep(moment.seconds)

    async def work(self) -> None:
        """Send messages, one after the other, for ever."""
        while True:
            text = {"parts": [{"type": "text", "text": "go"}]}
            answer = await self.call("POST", f"/v1/sessions/{self.session}/messages", text)
            self.accepted.append(answer["turn_id"])
            while answer["turn_id"] not in self._ended:
                await self._heard.wait()

    async def caught_up(self) -> None:
        """Wait until the mirror has the whole log."""
        mirror = self.project / ".agi" / "sessions" / self.session / "events.ndjson"
        last = (await self.call("GET", f"/v1/sessions/{self.session}"))["last_seq"]
        async with asyncio.timeout(10):
            while json.loads(mirror.read_bytes().splitlines()[-1])["seq"] < last:  # noqa: ASYNC110 - a file
                await asyncio.sleep(0.01)


async def _alive_until(victim: Victim, moment: Moment) -> None:
    """Work and watch until the moment comes; then kill."""
    tasks = [asyncio.create_task(victim.watch()), asyncio.create_task(victim.work())]
    comes = asyncio.create_task(victim.comes_to(moment))
    done, _ = await asyncio.wait([comes, *tasks], return_when=asyncio.FIRST_COMPLETED)
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


def unanswered(messages: list[dict]) -> list[str]:
    """Calls that have not exactly one result, right behind them: a provider refuses a conversation with one."""
    asked, found = [], []
    for message in [*messages, {"role": "end"}]:
        if message["role"] != "tool":
            found += asked
            asked = [call["id"] for call in message.get("tool_calls") or ()]
        elif message["tool_call_id"] in asked:
            asked.remove(message["tool_call_id"])
        else:
            found.append(message["tool_call_id"])
    return found


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


@pytest.fixture
def stock() -> Iterator[Stock]:
    made = Stock()
    yield made
    made.close()


@pytest.mark.threat("T43", "T51")
@pytest.mark.timeout(300 + 10 * KILLS)
async def test_kill_9_at_random_moments_loses_nothing_and_runs_nothing_twice(tmp_path, stock):
    """No acknowledged event or message is lost, numbers are dense, every call ends once and runs at most once.

    In whatever the provider is asked afterwards, each call has exactly one result.
    """
    room = asyncio.Semaphore(AT_ONCE)
    victims: list[Victim] = []
    refusable: list[str] = []

    def script(asked: Asked) -> Reply:
        refusable.extend(unanswered(asked.json["messages"]))
        return ledger_script(asked)

    async with ProviderServer(script, record=False) as provider:

        async def one(begun: int) -> None:
            root = tmp_path / str(begun)
            root.mkdir()
            victim = Victim(root, provider.base_url, stock)
            kills = min(A_SESSION, KILLS - begun)
            async with room:
                try:
                    await _survives(victim, kills, random.Random(f"{SEED}/{begun}"))
                finally:
                    with suppress(OSError, AttributeError):  # it is dead already, or never began
                        victim.process.send_signal(signal.SIGKILL)
            victims.append(victim)
            print(f"{kills} kills, {len(victim.ledger)} acknowledged events there")

        await asyncio.gather(*(one(begun) for begun in range(0, KILLS, A_SESSION)))
    assert refusable == []
    took = [seconds for victim in victims for seconds in victim.took]
    print(f"{KILLS} kills; a whole start took {statistics.median(took):.2f} s, {max(took):.2f} s at most")


async def _survives(victim: Victim, kills: int, moments: random.Random) -> None:
    """One session, killed so often; what somebody had been shown is all there."""
    await victim.start()
    victim.session = (await victim.call("POST", "/v1/sessions", {}))["id"]
    await _alive_until(victim, Moment(moments))
    for kill in range(2, kills + 1):
        await victim.launch()
        if kill % IN_START == 0:
            await asyncio.sleep(moments.uniform(0.0, 0.06))
            await victim.die()
        else:
            await victim.ready()
            await _alive_until(victim, Moment(moments))
    await victim.start_whole()
    await victim.idle(f"/v1/sessions/{victim.session}", patience=120)
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
    assert _mirrored(mirror) == [event["seq"] for event in log]


def _mirrored(mirror: Path) -> list[int]:
    """The numbers in the mirror. A kill in the middle of a write leaves the beginning of a line, before all of it."""
    found: list[int] = []
    lines = mirror.read_bytes().splitlines()
    for line, after in zip(lines, (*lines[1:], b""), strict=True):
        try:
            found.append(json.loads(line)["seq"])
        except ValueError:
            assert after.startswith(line), "half a line that does not come again whole"
    return found


def _stored(victim: Victim) -> list[dict]:
    """The log as the database has it."""
    with closing(connect(victim.project / ".agi" / "agi.sqlite")) as db:
        return [json.loads(event.envelope()) for event in read_page(db, victim.session, 0, 1_000_000)]
