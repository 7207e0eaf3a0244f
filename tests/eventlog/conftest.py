"""A log on a folder of its own, a session that is told to it event by event, and other processes on the same folder."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from agi.eventlog.base import Cursor
from agi.eventlog.follow import Delivery
from agi.eventlog.log import EventLog
from agi.eventlog.verify import LogFiles
from agi.protocol import events as ev
from agi.protocol.chains import LogCheck
from agi.protocol.ids import MESSAGE, PART, SESSION, TURN, new_id
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Text
from agi.views.tables import Tables, anchor

TS = "2026-01-01T00:00:00.000Z"


def created(session_id: str) -> ev.SessionCreated:
    return ev.SessionCreated(id=session_id, agent="build", workspace_path="/w", project_path="/w", created_at=TS)


def message(text: str, role: str = "user") -> Message:
    part = Text(text=text, id=new_id(PART))
    return Message(id=new_id(MESSAGE), role=role, parts=(part,), created_at=TS, status="complete")  # type: ignore[arg-type]


class Story:
    """One session, told to a log as a turn would tell it."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.id = new_id(SESSION)
        self.turn = new_id(TURN)
        self.answer = new_id(MESSAGE)
        self.seq = 0

    async def begin(self) -> None:
        """The session, a message and the turn that answers it: three events."""
        asked = message("hi")
        started = ev.TurnStarted(message_id=asked.id, agent="build", provider="p", model="m")
        await self.write(created(self.id), turn=None)
        await self.write(ev.MessageAdded(message=asked), started)

    async def write(self, *data: ev.EventData, turn: str | None = "", **kept: object) -> list[ev.Event]:
        """Append events of the turn; `turn` puts them elsewhere."""
        owner = self.turn if turn == "" else turn
        events = await self.log.append(self.id, [(owner, one) for one in data], **kept)  # type: ignore[arg-type]
        self.seq = events[-1].seq
        return events

    async def note(self, text: str = "by the way") -> ev.Event:
        """Something that has nothing to do with the turn."""
        return (await self.log.append(self.id, [(None, ev.Notice(code="note", message=text))]))[0]

    def piece(self, part: str, offset: int, text: str) -> ev.ModelOutputDelta:
        return ev.ModelOutputDelta(message_id=self.answer, part_id=part, kind="text", delta=text, offset=offset)

    def speak(self, part: str, offset: int, text: str) -> None:
        """Show open text."""
        self.log.say_live(self.id, self.turn, self.seq, self.piece(part, offset, text))

    async def log_piece(self, part: str, offset: int, text: str) -> None:
        """Make it durable."""
        await self.write(self.piece(part, offset, text))

    async def end(self) -> None:
        """The answer is whole and the turn is over."""
        whole = ev.ModelOutputCompleted(message=message("hello", "assistant"))
        over = ev.TurnCompleted(message_id=self.answer, stop_reason="end_turn", steps=1, usage=Usage())
        await self.write(whole, over, ev.SessionCompleted())


class Reader:
    """Somebody who follows a session: what was delivered, and where they stand."""

    def __init__(self, log: EventLog, session_id: str, cursor: Cursor | None = None) -> None:
        self.deliveries: list[Delivery] = []
        self.resyncs = 0
        self.caught_up = 0
        self.ended = False
        self._task = asyncio.create_task(self._follow(log, session_id, cursor))

    async def _follow(self, log: EventLog, session_id: str, cursor: Cursor | None) -> None:
        async with contextlib.aclosing(log.follow(session_id, cursor)) as batches:  # type: ignore[type-var]
            async for batch in batches:
                self.deliveries += batch.deliveries
                self.resyncs += batch.resync
                self.caught_up += batch.caught_up
        self.ended = True

    async def until(self, condition: Callable[[Reader], object]) -> Reader:
        """Wait until something is true of this reader."""
        async with asyncio.timeout(20):
            while not condition(self):
                if self._task.done():
                    self._task.result()
                await asyncio.sleep(0.001)
        return self

    async def leave(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    @property
    def cursors(self) -> list[str]:
        return [str(one.cursor) for one in self.deliveries]

    @property
    def seqs(self) -> list[int]:
        """The numbers of the events (not the live text) delivered."""
        return [one.item.seq for one in self.deliveries if isinstance(one.item, ev.Event)]

    def text(self, part: str) -> str:
        """What was delivered of one part, put together piece by piece."""
        text = ""
        for one in self.deliveries:
            data = one.item.data
            if isinstance(data, ev.ModelOutputDelta) and data.part_id == part:
                assert data.offset == len(text), f"{one.cursor}: expected offset {len(text)}, got {data.offset}"
                text += data.delta
        return text


class Logs:
    """Opens logs on one data folder, and closes them in the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: list[EventLog] = []

    def open(self, **kept: object) -> EventLog:
        log = EventLog(self.folder, Tables(), **kept)  # type: ignore[arg-type]
        self._open.append(log)
        return log

    async def close(self) -> None:
        while self._open:
            await self._open.pop().close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".agi"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.fixture
async def logs(folder: Path) -> AsyncIterator[Logs]:
    made = Logs(folder)
    yield made
    await made.close()


@pytest.fixture
async def log(logs: Logs) -> EventLog:
    return logs.open()


@pytest.fixture
async def story(log: EventLog) -> Story:
    """A session whose turn has begun: events 1 to 3."""
    made = Story(log)
    await made.begin()
    return made


@pytest.fixture
def tell() -> Callable[[EventLog], Story]:
    """Begins a story on any log."""
    return Story


@pytest.fixture
async def follow() -> AsyncIterator[Callable[..., Reader]]:
    """Begins to follow; whoever is left in the end leaves."""
    readers: list[Reader] = []

    def begin(log: EventLog, session_id: str, cursor: Cursor | None = None) -> Reader:
        readers.append(Reader(log, session_id, cursor))
        return readers[-1]

    yield begin
    for reader in readers:
        await reader.leave()


class Told:
    """A session of eight events on disk, and what a look at it finds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "agi.sqlite"
        self.id = new_id(SESSION)
        self.mirror = folder / "sessions" / self.id / "events.ndjson"
        asyncio.run(self._write())
        self.head = self.look().head

    async def _write(self) -> None:
        log = EventLog(self.folder, Tables())
        await log.append(self.id, [(None, created(self.id))])
        for n in range(2, 9):
            await log.append(self.id, [(new_id(TURN), ev.Notice(code="note", message=f"Nr. {n} ä"))])
        await log.close()

    def look(self, head: str = "") -> LogCheck:
        return LogFiles(self.folder, self.database).check(self.id, anchor, head)

    def first(self) -> tuple[str, str, int]:
        found = self.look().findings[0]
        return found.place, found.problem, found.seq

    def sql(self, *statements: str) -> None:
        db = sqlite3.connect(self.database)
        for statement in statements:
            db.execute(statement)
        db.commit()
        db.close()

    def patch(self, there: bytes, put: bytes) -> None:
        """Change bytes of the file itself, which no index hears of."""
        raw = self.database.read_bytes()
        assert raw.count(there) == 1
        self.database.write_bytes(raw.replace(there, put))

    def misplace(self, what: str) -> None:
        """Flip a bit in the number or the session that the row of event 4 says, so that the index still knows it."""
        own, ts = self.id.encode(), ev.parse_envelope(self.lines()[3]).ts.encode()
        digit = max(n for n, one in enumerate(own) if one in b"0123456789")
        other = own[:digit] + bytes([own[digit] ^ 1]) + own[digit + 1 :]
        self.patch(own + b"\x04" + ts, own + b"\x05" + ts if what == "seq" else other + b"\x04" + ts)

    def lines(self) -> list[bytes]:
        return self.mirror.read_bytes().splitlines(keepends=True)


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    """In memory where that is possible: some tests make hundreds of databases."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else tmp_path))
    yield Told(made / ".agi")
    shutil.rmtree(made)


PRELUDE = """
import asyncio, sys, os, time
from pathlib import Path
from agi.eventlog.log import EventLog
from agi.eventlog.verify import LogFiles
from agi.protocol import events as ev
from agi.views.tables import Tables, anchor

folder, session_id = Path(sys.argv[1]), sys.argv[2]
def note(text):
    return (None, ev.Notice(code="note", message=text))
"""


@pytest.fixture
def process(folder: Path) -> Iterator[Callable[[str, str], subprocess.Popen[str]]]:
    """Runs a piece of code in another process, with `folder` and `session_id` at hand."""
    started: list[subprocess.Popen[str]] = []

    def run(code: str, session_id: str) -> subprocess.Popen[str]:
        made = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + code, str(folder), session_id],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(made)
        return made

    yield run
    for one in started:
        one.kill()
        one.communicate()
