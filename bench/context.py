"""What a long session costs: attaching to it, and building what its model is told next."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Raw

from agi.context.compact_view import told
from agi.eventlog.log import EventLog
from agi.loop.history import normalise
from agi.protocol import events as ev
from agi.protocol.ids import new_id
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Text, ToolCallContent, ToolCallPart
from agi.protocol.times import to_rfc3339
from agi.protocol.tools import ToolResult
from agi.views import queries
from agi.views.tables import Tables
from agi.views.told import compaction_of, told_messages
from bench.measures import Row

MESSAGES = 10_000
KEPT = 60
OUTPUT = "a line of some output\n" * 100


def context() -> list[Row]:
    """A session of 10,000 messages with calls and outputs: attach, and the next turn's context."""
    return asyncio.run(_context())


async def _context() -> list[Row]:
    folder = Path(tempfile.mkdtemp(prefix="agi-bench-")) / ".agi"
    session = await _written(folder)
    log = EventLog(folder, Tables())
    try:
        attached = _best(lambda: _attach(log, session))
        built = _best(lambda: _build(log, session))
        everything = _best(lambda: queries.history(log.db, session), rounds=3)
    finally:
        await log.close()
    return [
        Row(
            f"attach to {MESSAGES:,} messages",
            attached,
            "ms",
            None,
            "< 1,000 ms",
            "session, last page, last 1,000 events",
        ),
        Row("next turn's context", built, "ms", everything, "< 200 ms", "floor: reading every message"),
    ]


def _attach(log: EventLog, session: str) -> None:
    state = queries.session_state(log.db, session)
    queries.list_messages(log.db, session, limit=100, reverts=state.reverts)
    for event in log.read(session, state.last_seq - 1000, 1000):
        event.envelope()


def _build(log: EventLog, session: str) -> None:
    state = queries.session_state(log.db, session)
    messages = normalise(told(told_messages(log.db, state, "turn_of_somebody"), compaction_of(log.db, state)))
    if not KEPT // 2 < len(messages) < 3 * KEPT:
        raise AssertionError(f"{len(messages)} messages are told")


def _best(work: Callable[[], object], rounds: int = 9) -> float:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1000)
    return sorted(times)[len(times) // 2]


async def _written(folder: Path) -> str:
    log = EventLog(folder, Tables())
    session, now = new_id("sess"), to_rfc3339(time.time())
    created = ev.SessionCreated(id=session, agent="build", workspace_path="/", project_path="/", created_at=now)
    await log.append(session, [(None, created)])
    entries, ids = [], []
    for data, message_id in _said(now):
        entries.append((None, data))
        ids.append(message_id)
        if len(entries) == 1000:
            await log.append(session, entries)
            entries = []
    compacted = ev.ContextCompacted(
        compaction_id=new_id("comp"),
        trigger="threshold",
        pre_tokens=150_000,
        post_tokens=20_000,
        first_kept=ids[-KEPT],
        last_message=ids[-1],
        summary="What happened. " * 200,
        record="What the log says. " * 200,
    )
    await log.append(session, [*entries, (None, compacted)])
    await log.close()
    return session


def _said(now: str) -> Iterator[tuple[ev.EventData, str]]:
    """One question, one call, its output and one answer, over and over."""

    def message(role: str, *parts: object) -> Message:
        used = Usage(input_tokens=1000, output_tokens=100) if role == "assistant" else None
        return Message(id=new_id("msg"), role=role, parts=parts, created_at=now, status="complete", usage=used)

    for number in range(MESSAGES // 4):
        asked = message("user", Text(text=f"question {number}: " + "words " * 40, id=new_id("part")))
        yield ev.MessageAdded(message=asked, run=False), asked.id
        call = ToolCallContent(id=new_id("call"), name="read_file", args=Raw(b'{"path": "a.txt"}'))
        calling = message("assistant", ToolCallPart(content=call, id=new_id("part")))
        yield ev.ModelOutputCompleted(message=calling), calling.id
        result = ToolResult(id=call.id, ok=True, parts=(Text(text=OUTPUT),))
        output = new_id("msg")
        yield ev.ToolCallCompleted(tool_call_id=call.id, name=call.name, tool_result=result, message_id=output), output
        said = message("assistant", Text(text="An answer. " * 30, id=new_id("part")))
        yield ev.ModelOutputCompleted(message=said), said.id
