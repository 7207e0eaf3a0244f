"""What search over sessions costs: 5,000 sessions in one log, the index beside it, searches of every kind."""

from __future__ import annotations

import asyncio
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import msgspec
from msgspec import Raw

from agi.eventlog.log import EventLog
from agi.eventlog.schema import connect
from agi.protocol import events as ev
from agi.protocol.ids import CALL, MESSAGE, PART, SESSION, TURN, new_id
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Text, ToolCallContent, ToolCallPart
from agi.protocol.search import Search
from agi.protocol.tools import ToolResult
from agi.sessions.memory import Memory
from agi.views.search import search
from agi.views.tables import Tables
from bench.measures import Row

SESSIONS = 5_000
STEPS = 4
ROUNDS = 15
TS = "2026-01-01T00:00:00.000Z"


class Talk:
    """Makes up sessions: a vocabulary of 20,000 words, some of them far more common than others."""

    def __init__(self) -> None:
        self._chance = random.Random(7)
        self._words = [self._word() for _ in range(20_000)]
        self._weights = list(accumulate(1 / (rank + 2) for rank in range(len(self._words))))

    def _word(self) -> str:
        letters = "".join(self._chance.choices("etaoinshrdlucmfwypvbgk", k=self._chance.randint(3, 10)))
        verb = self._chance.choice(("get", "set", "is", "make", "read", "parse", "find", "to", "on", "handle"))
        return self._chance.choice((letters, letters, f"{letters}_id", f"{verb}{letters.title()}"))

    def text(self, count: int) -> str:
        return " ".join(self._chance.choices(self._words, cum_weights=self._weights, k=count))

    def session(self, number: int) -> list[ev.EventData]:
        title = f"{self.text(5)} session{number}"
        session: list[ev.EventData] = [
            ev.SessionCreated(id="", agent="build", workspace_path="/p", project_path="/p", created_at=TS, title=title),
            ev.MessageAdded(message=self._said("user", self.text(40)), run=False),
        ]
        for step in range(STEPS):
            path, call = f"src/pkg{number % 50}/mod{step}.py", new_id(CALL)
            content = ToolCallContent(id=call, name="read_file", args=Raw(msgspec.json.encode({"path": path})))
            spoken = self._said("assistant", self.text(60), ToolCallPart(content=content, id=new_id(PART)))
            output = "\n".join(self.text(8) for _ in range(60))
            result = ToolResult(id=call, ok=True, parts=(Text(text=output),))
            session.append(ev.ModelOutputCompleted(message=spoken))
            session.append(
                ev.ToolCallCompleted(
                    tool_call_id=call, name="read_file", tool_result=result, message_id=new_id(MESSAGE)
                )
            )
        session.append(ev.ModelOutputCompleted(message=self._said("assistant", self.text(120))))
        session.append(ev.TurnCompleted(message_id=None, stop_reason="end_turn", steps=STEPS, usage=Usage()))
        return session

    def _said(self, role: str, text: str, *more: ToolCallPart) -> Message:
        part = Text(text=text, id=new_id(PART))
        return Message(id=new_id(MESSAGE), role=role, parts=(part, *more), created_at=TS, status="complete")  # type: ignore[arg-type]

    def word(self, rank: int) -> str:
        return self._words[rank]


def session_search() -> list[Row]:
    """Fill a log, then its index, then search."""
    folder = Path(tempfile.mkdtemp(prefix="agi-bench-"))
    try:
        return asyncio.run(_measure(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _measure(folder: Path) -> list[Row]:
    talk = Talk()
    log = EventLog(folder / ".agi", Tables())
    for number in range(SESSIONS):
        session, turn = new_id(SESSION), new_id(TURN)
        events = talk.session(number)
        events[0] = msgspec.structs.replace(events[0], id=session)  # type: ignore[arg-type]
        log.append_nowait(session, [(None if at == 0 else turn, data) for at, data in enumerate(events)])
        if number % 200 == 0:
            await log.mirrored()
    await log.mirrored()
    plain = _size(log)
    memory = Memory(log)
    began, cpu = time.perf_counter(), time.process_time()
    await memory.catch_up(3600)
    filled, cpu = time.perf_counter() - began, time.process_time() - cpu
    share = 100 * (_size(log) - plain) / plain
    events = log.db.execute("SELECT count(*) FROM events").fetchone()[0]
    entries = log.db.execute("SELECT count(*) FROM search_entries").fetchone()[0]
    rows = [
        Row("search index, CPU", 1e6 * cpu / events, "µs an event", None, "", f"{events:,} events in {filled:.1f} s"),
        Row("search index, size", share, "% of the log", None, "≤ 50 %", f"{entries:,} entries"),
    ]
    db = connect(log.path)
    for what, asked in _searches(talk, new_id(SESSION)).items():
        rows.append(
            Row(f"search {SESSIONS:,} sessions, {what}", _ms(lambda one=asked: search(db, one)), "ms", None, "< 300 ms")
        )
    one = next(iter(log.db.execute("SELECT id FROM sessions LIMIT 1")))[0]
    began = time.perf_counter()
    await log.delete(one)
    rows.append(Row("delete a session, index and all", (time.perf_counter() - began) * 1000, "ms", None, ""))
    db.close()
    await log.close()
    return rows


def _searches(talk: Talk, absent: str) -> dict[str, Search]:
    common, rare = talk.word(0), talk.word(15_000)
    return {
        "a rare word": Search(q=rare),
        "the commonest word": Search(q=common),
        "three common words": Search(q=f"{common} {talk.word(1)} {talk.word(2)}"),
        "a phrase": Search(q=f'"{common} {talk.word(1)}"'),
        "a beginning": Search(q="get*"),
        "a common word, another role": Search(q=common, role="system"),
        "a common word near a file": Search(q=common, path="src/pkg7/mod2.py"),
        "a common word, one workspace": Search(q=common, workspace_path="/elsewhere"),
        "a file": Search(path="mod3.py", kind="file"),
        "no such session": Search(q=common, session_id=absent),
    }


def _size(log: EventLog) -> int:
    log.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    pages, unused = (log.db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count"))
    return (pages - unused) * log.db.execute("PRAGMA page_size").fetchone()[0]


def _ms(run: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        run()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)
