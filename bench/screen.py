"""The terminal interface as a process of its own at a terminal: ready, a key, a page, memory, doing nothing."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import termios
import time

from bench.measures import Ground, Row
from bench.processes import AGI, cpu_ms, daemon, rss_mb

MESSAGES = 10_000
ANSWER = """Message {n}: the total is computed in `cart.py`.

- goods are **summed**
- shipping is added

```python
def total(items, shipping=0):
    return sum(item.price for item in items) + shipping
```
"""


def tui() -> list[Row]:
    """A session of ten thousand messages in a daemon of its own; the interface joins it."""
    empty = Ground()
    with daemon(empty.project, empty.env):
        starts = [_start_only(empty) for _ in range(5)]
    ground = Ground()
    session = asyncio.run(long_session(ground))
    with daemon(ground.project, ground.env):
        return [
            Row("tui ready, wall", statistics.median(starts), "ms", None, "< 1500 ms", "no session, daemon running"),
            *_measured(ground, session),
        ]


class Screen:
    """`agi tui` at a terminal, and what it writes."""

    def __init__(self, ground: Ground, *options: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        command = (*AGI, "tui", "--project", str(ground.project), *options)
        env = {**ground.env, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.process = subprocess.Popen(
            command, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)

    def until(self, *texts: bytes, limit: float = 60.0) -> float:
        """Milliseconds until all of it was written."""
        began, seen = time.perf_counter(), b""
        while not all(text in seen for text in texts):
            if time.perf_counter() - began > limit:
                raise RuntimeError(f"{texts} were not shown: {seen[-2000:]!r}")
            if select.select((self.master,), (), (), 0.5)[0]:
                seen += os.read(self.master, 1 << 16)
        return (time.perf_counter() - began) * 1000

    def drain(self, quiet: float = 0.3) -> int:
        """Read until nothing comes for so long; gives how many bytes came."""
        count = 0
        while select.select((self.master,), (), (), quiet)[0]:
            count += len(os.read(self.master, 1 << 16))
        return count

    def press(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(10)
        os.close(self.master)


def _start_only(ground: Ground) -> float:
    screen = Screen(ground)
    took = screen.until(b"Connected", "╰".encode())
    screen.close()
    return took


def _measured(ground: Ground, session: str) -> list[Row]:
    screen = Screen(ground, "--session", session)
    opened = screen.until(f"Message {MESSAGES - 1}".encode(), "╰".encode())
    screen.drain()
    keys = []
    for letter in b"the quick brown fox jumps over the lazy dog and types on and on":
        began = time.perf_counter()
        screen.press(bytes([letter]))
        screen.until(b"\x1b[")
        keys.append((time.perf_counter() - began) * 1000)
        screen.drain(0.02)
    screen.press(b"\x03")
    screen.drain()
    memory = rss_mb(screen.process.pid)
    pages = []
    for _ in range(40):
        began = time.perf_counter()
        screen.press(b"\x1b[5~")
        screen.until(b"\x1b[")
        pages.append((time.perf_counter() - began) * 1000)
        screen.drain(0.02)
    for _ in range(MESSAGES // 100 + 5):
        screen.press(b"\x1b[H")
        screen.drain(0.15)
    screen.press(b"\x1b[6~")
    screen.drain()
    screen.press(b"\x1b[H")
    screen.until(b"Message 0:")
    whole = rss_mb(screen.process.pid)
    late = []
    for letter in b"the quick brown fox":
        began = time.perf_counter()
        screen.press(bytes([letter]))
        screen.until(b"\x1b[")
        late.append((time.perf_counter() - began) * 1000)
        screen.drain(0.02)
    before = cpu_ms(screen.process.pid)
    written = screen.drain(5.0)
    idle = (cpu_ms(screen.process.pid) - before) / 50
    screen.close()
    note = f"{MESSAGES:,} messages"
    return [
        Row("tui opens a long session, wall", opened, "ms", None, "< 1500 ms", note),
        Row("tui keypress, p95", _p95(keys), "ms", None, "< 50 ms", f"median {statistics.median(keys):.1f} ms"),
        Row("tui page up, p95", _p95(pages), "ms", None, "", f"median {statistics.median(pages):.1f} ms"),
        Row("tui memory", memory, "MB", None, "< 200 MB", f"{note}, the latest loaded"),
        Row("tui memory, all loaded", whole, "MB", None, "< 200 MB", f"keypress p95 then {_p95(late):.1f} ms"),
        Row("tui idle, CPU", idle, "% of a core", None, "< 1 %", f"{written} bytes written in 5 s"),
    ]


def _p95(found: list[float]) -> float:
    return sorted(found)[int(len(found) * 0.95)]


async def long_session(ground: Ground) -> str:
    """A session of ten thousand messages, written into the log of a project."""
    from agi.eventlog.log import EventLog
    from agi.protocol import events as ev
    from agi.protocol.ids import new_id
    from agi.protocol.messages import Message
    from agi.protocol.parts import Text
    from agi.protocol.times import to_rfc3339
    from agi.views.tables import Tables

    log = EventLog(ground.project / ".agi", Tables())
    session, now = new_id("sess"), to_rfc3339(time.time())
    place = str(ground.project)
    created = ev.SessionCreated(id=session, agent="build", workspace_path=place, project_path=place, created_at=now)
    await log.append(session, [(None, created)])

    def said(number: int) -> ev.EventData:
        role = "assistant" if number % 2 else "user"
        words = ANSWER.format(n=number) if number % 2 else f"Message {number}: and what about this?"
        part = Text(text=words, id=new_id("part"))
        one = Message(id=new_id("msg"), role=role, parts=(part,), created_at=now, status="complete")  # type: ignore[arg-type]
        return ev.ModelOutputCompleted(message=one) if number % 2 else ev.MessageAdded(message=one, run=False)

    for begun in range(0, MESSAGES, 500):
        await log.append(session, [(None, said(number)) for number in range(begun, begun + 500)])
    await log.close()
    return session
