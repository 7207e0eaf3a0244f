"""What must hold of a session's log after any crash, whatever was going on."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.torture.session import open_harness

from agi.protocol import commands
from agi.protocol import events as ev
from agi.protocol.events import Event


class Acknowledged:
    """What a process said before it died; a last line that was cut off says nothing."""

    def __init__(self, said: bytes) -> None:
        lines = [line.split() for line in said.decode().split("\n")[:-1]]
        self.session_id = next((words[1] for words in lines if words[0] == "session"), "")
        self.turns = [words[1] for words in lines if words[0] == "turn"]
        self.events = {int(words[1]): words[2] for words in lines if words[0] == "ack"}


def check_log(log: list[Event], told: Acknowledged) -> None:
    """Dense numbers, everything acknowledged still there, each call with at most one beginning and one result."""
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    kept = {event.seq: event.type for event in log}
    lost = {seq: kind for seq, kind in told.events.items() if kept.get(seq) != kind}
    assert not lost, f"acknowledged and gone: {lost}"
    asked = {event.turn_id for event in log if event.type == "message_added"}
    assert set(told.turns) <= asked
    started = [event.data.tool_call.id for event in log if isinstance(event.data, ev.ToolCallStarted)]
    completed = [event.data.tool_call_id for event in log if isinstance(event.data, ev.ToolCallCompleted)]
    assert len(started) == len(set(started))
    assert len(completed) == len(set(completed))


async def check_goes_on(root: Path, told: Acknowledged) -> None:
    """A new process finds all of it, finishes what was open, closes every call, and answers another question."""
    harness = open_harness(root)
    try:
        # One that was killed before it had marked its new database as its own finds it doubted, and makes it again.
        assert harness.rebuilt is None or not told.session_id, "a crash alone never damages the database"
        assert harness.rebuilt is None or not harness.rebuilt.lost
        await harness.recover()
        if not told.session_id:
            return  # it died before it had promised anything
        posted = await harness.post_message(told.session_id, commands.PostMessage(content="still there?"))
        assert posted.turn_id is not None
        turn = await asyncio.wait_for(harness.wait_turn(told.session_id, posted.turn_id), 60)
        assert turn.status == "completed"
        log = harness.log.read(told.session_id, 0, 10_000)
        check_log(log, told)
        started = {event.data.tool_call.id for event in log if isinstance(event.data, ev.ToolCallStarted)}
        completed = {event.data.tool_call_id for event in log if isinstance(event.data, ev.ToolCallCompleted)}
        assert started <= completed
        assert not [event for event in log if event.type == "turn_failed"]
    finally:
        await harness.close()
