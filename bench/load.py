"""A thousand sessions and subscribers, five thousand deliveries a second: how old words are, and if one is lost.

Every word is the time at which it was sent. Each subscriber reads its event stream from the session's first event on:
offsets of text must follow each other without gap or repeat, and all other events are held against the database, where
each must stand once. The subscribers are in this process, on the
same processors as the daemon and the provider, so the ages include their own waiting.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from bench.measures import Ground, Row
from bench.processes import Daemon, cpu_ms, daemon, rss_mb, stamped_provider

SESSIONS = 1000
SPEAKING = 100
SUBSCRIBERS = 10
"""To each session that speaks: a thousand in all."""
WORDS = 100
PAUSE_S = 0.2
LATE_MS = 250
"""Five words a second, a hundred sessions, ten subscribers: five thousand deliveries a second for twenty seconds."""


class Http:
    """Just enough of a client: one connection a request, nothing between the socket and us."""

    def __init__(self, running: Daemon) -> None:
        where = urlsplit(running.url)
        self._host, self._port, self._token = where.hostname, where.port, running.token

    async def open(
        self, method: str, path: str, body: object = None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(self._host, self._port, limit=1 << 20)
        sent = b"" if body is None else json.dumps(body).encode()
        kind = "content-type: application/json\r\n" if sent else ""
        head = f"{method} {path} HTTP/1.1\r\nhost: {self._host}:{self._port}\r\nauthorization: Bearer {self._token}\r\n"
        writer.write(f"{head}{kind}content-length: {len(sent)}\r\n\r\n".encode() + sent)
        status = await reader.readline()
        if b" 20" not in status:
            raise RuntimeError(f"{method} {path}: {status!r}")
        return reader, writer

    async def call(self, method: str, path: str, body: object = None) -> dict[str, object]:
        reader, writer = await self.open(method, path, body)
        length = 0
        while (line := (await reader.readline()).lower()) != b"\r\n":
            if line.startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        told = await reader.readexactly(length)
        writer.close()
        return dict(json.loads(told))


class Subscriber:
    """Follows one session to the end of its turn."""

    def __init__(self) -> None:
        self.ages: list[int] = []
        self.events: list[tuple[int, str]] = []
        """All but text, which comes in other pieces than it is kept in."""
        self.text = 0
        self.wrong = 0

    async def follow(self, http: Http, session_id: str) -> None:
        reader, writer = await http.open("GET", f"/v1/sessions/{session_id}/events")
        while True:
            line = await reader.readline()
            if not line:
                self.wrong += 1  # the stream broke off
                break
            if line.startswith(b"data: ") and self._hear(json.loads(line[6:])):
                break
        writer.close()

    def _hear(self, event: dict[str, object]) -> bool:
        """Take one event in; True at the turn's end. A live delta has the number of the event before it."""
        now, seq, data = time.monotonic_ns(), event["seq"], event["data"]
        assert isinstance(seq, int)
        assert isinstance(data, dict)
        if event["type"] == "model_output_delta":
            self.wrong += data["offset"] != self.text
            self.text = data["offset"] + len(data["delta"])
            self.ages += [now - int(word) for word in data["delta"].split()]
        else:
            self.events.append((seq, str(event["type"])))
        return event["type"] == "turn_completed"


async def _crowd(running: Daemon) -> tuple[dict[str, list[Subscriber]], float, float]:
    """The subscribers by session, and the daemon's memory before and after."""
    http = Http(running)
    made: list[str] = []
    for start in range(0, SESSIONS, 50):
        group = [http.call("POST", "/v1/sessions", {"title": f"session {n}"}) for n in range(start, start + 50)]
        made += [str(one["id"]) for one in await asyncio.gather(*group)]
    alone = rss_mb(running.pid)
    crowd = {session: [Subscriber() for _ in range(SUBSCRIBERS)] for session in made[:: SESSIONS // SPEAKING]}
    followers = [asyncio.create_task(one.follow(http, session)) for session in crowd for one in crowd[session]]
    await asyncio.sleep(2)  # all of them are connected
    await asyncio.gather(*(http.call("POST", f"/v1/sessions/{session}/messages", _message()) for session in crowd))
    await asyncio.wait_for(asyncio.gather(*followers), 300)
    return crowd, alone, rss_mb(running.pid)


def _message() -> dict[str, object]:
    return {"parts": [{"type": "text", "text": "go"}]}


def _missed(project: Path, crowd: dict[str, list[Subscriber]]) -> int:
    """How many subscribers did not hear just what stands in the database, up to the end of the turn."""
    kept = "SELECT seq, type FROM events WHERE session_id=? AND type<>'model_output_delta' AND seq<=? ORDER BY seq"
    missed = 0
    with closing(sqlite3.connect(project / ".agi" / "agi.sqlite")) as db:
        for session, subscribers in crowd.items():
            for one in subscribers:
                last = one.events[-1][0] if one.events else 0
                missed += not last or one.events != db.execute(kept, (session, last)).fetchall()
    return missed


def load() -> list[Row]:
    """A thousand sessions and subscribers, five thousand deliveries a second for twenty seconds."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 8192)), hard))
    with stamped_provider(WORDS, PAUSE_S) as url:
        ground = Ground(url)
        with daemon(ground.project, ground.env) as running:
            before = cpu_ms(running.pid)
            crowd, alone, full = asyncio.run(_crowd(running))
            spent = cpu_ms(running.pid) - before
        missed = _missed(ground.project, crowd)
    everybody = [one for subscribers in crowd.values() for one in subscribers]
    ages = sorted(age / 1e6 for one in everybody for age in one.ages)
    expected = SPEAKING * SUBSCRIBERS * WORDS
    wrong = missed + sum(one.wrong for one in everybody)
    p99 = ages[int(len(ages) * 0.99)]
    is_met = p99 < LATE_MS and not wrong and len(ages) == expected
    note = (
        f"{SPEAKING * SUBSCRIBERS / PAUSE_S:.0f} deliveries/s for {WORDS * PAUSE_S:.0f} s; "
        f"{len(ages)} of {expected} words heard, "
        f"{wrong} gaps or repeats; p50 {ages[len(ages) // 2]:.1f} ms, worst {ages[-1]:.0f}; "
        f"daemon {spent / 1000:.1f} s CPU"
    )
    return [
        Row(
            "words to 1,000 subscribers, p99 age",
            p99,
            "ms",
            None,
            f"< {LATE_MS} ms, 0 gaps, {'pass' if is_met else 'MISS'}",
            note,
        ),
        Row(
            "daemon with 1,000 sessions and subscribers",
            full,
            "MB",
            None,
            "< 400 MB",
            f"{alone:.0f} MB before anybody listened",
        ),
    ]
