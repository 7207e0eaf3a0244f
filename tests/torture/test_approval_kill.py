"""kill -9 between a person's yes and the call it lets run, and right behind its start: it runs once, or not at all."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Place

from agi.models.scripted import ScriptedModel
from agi.protocol.parts import ToolCallPart, ToolResultPart

CHILD = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.conftest import Place
from agi.protocol import commands

async def main(root, moment):
    place = Place(root)
    await place.open()
    await place.start()
    place.configure('{"verify": {"autoVerify": false}}')
    place.model.calls("shell", command="echo ran >> ran.txt").then_says("never reached")
    await place.say("run")
    question = await place.heard("approval_requested")
    place.harness.log.listen(
        place.session_id, lambda event: event.type == moment and os.kill(os.getpid(), signal.SIGKILL)
    )
    print(place.session_id, flush=True)
    await place.approve(question.data.tool_call_id)
    await asyncio.sleep(60)

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


def kept(root: Path) -> list[str]:
    """The kinds of events that the database has."""
    db = sqlite3.connect(root / "project" / ".agi" / "agi.sqlite")
    try:
        return [kind for (kind,) in db.execute("SELECT type FROM events ORDER BY id")]
    finally:
        db.close()


@pytest.mark.threat("T30", "T51")
@pytest.mark.parametrize(("moment", "runs"), [("approval_granted", {"ran\n"}), ("tool_call_started", {"", "ran\n"})])
async def test_a_yes_outlives_a_kill_and_lets_the_call_run_at_most_once(
    tmp_path: Path, moment: str, runs: set[str]
) -> None:
    """Killed before it began, the call runs then, without being asked about again; behind that, it is not run again.

    Either way it has exactly one result in what the model is asked next, as providers demand.
    """
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", CHILD, str(tmp_path), moment]
    env = {"PYTHONPATH": f"{root}:{root / 'src'}"}
    done = await asyncio.to_thread(subprocess.run, command, cwd=root, env=env, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert kept(tmp_path)[-1] == moment

    place = Place(tmp_path)
    place.model = ScriptedModel().says("ok")
    place.session_id = done.stdout.decode().strip()
    await place.open()
    try:
        await place.harness.recover()
        async with asyncio.timeout(20):
            await place.heard("turn_completed")
        told = place.types()
        completed = place.events("tool_call_completed")[0].data
    finally:
        await place.harness.close()

    ran = place.project / "ran.txt"
    assert (ran.read_text() if ran.exists() else "") in runs
    assert [told.count(kind) for kind in ("approval_requested", "approval_granted", "tool_call_started")] == [1, 1, 1]
    assert getattr(completed, "interrupted", False) is (moment == "tool_call_started")
    (asked,) = place.model.requests
    parts = [part for message in asked.messages for part in message.parts]
    made = [part.content.id for part in parts if isinstance(part, ToolCallPart)]
    assert made == [completed.tool_call_id]
    assert [part.content.id for part in parts if isinstance(part, ToolResultPart)] == made
