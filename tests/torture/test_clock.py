"""The wall clock jumps while a real daemon works: order, patience and ids do not go by it."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import sys
from pathlib import Path

import pytest
from tests.torture.killed import KilledDaemon

from agi.protocol.times import to_millis
from agi.testing.provider import ProviderServer
from agi.testing.replies import Reply, calls, says
from agi.testing.scripts import Asked

pytestmark = pytest.mark.slow
DAYS = 86_400.0
SHIFTED = """
import sys, time
real, real_ns, place = time.time, time.time_ns, sys.argv.pop(1)

def shift():
    with open(place) as file:
        return float(file.read() or 0)

time.time = lambda: real() + shift()
time.time_ns = lambda: real_ns() + int(shift() * 1e9)
from agi.cli.main import run
sys.argv[0] = "agi"
sys.exit(run())
"""


class Shifted(KilledDaemon):
    """A daemon whose wall clock is as far off as a file says; its monotonic clock is honest."""

    async def start(self) -> None:
        self.shift(0)
        options = ("serve", "--trust", "--port", "0", "--project", str(self.project))
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", SHIFTED, str(self.root / "shift"), *options),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=self.env,
        )
        await self.ready()

    def shift(self, seconds: float) -> None:
        beside = self.root / "shift.new"
        beside.write_text(str(seconds))
        beside.rename(self.root / "shift")

    def rows(self) -> list[tuple[int, str, str, str]]:
        db = sqlite3.connect(self.project / ".agi" / "agi.sqlite")
        try:
            return db.execute("SELECT seq, ts, type, data FROM events ORDER BY session_id, seq").fetchall()
        finally:
            db.close()


def script(asked: Asked) -> Reply:
    """One command that must be asked about, then text."""
    is_done = asked.json["messages"][-1]["role"] == "tool"
    return says("Done.") if is_done else calls(("shell", {"command": "echo made >> made.txt"}))


@pytest.mark.threat("T52")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("jump", [3 * DAYS, -3 * DAYS], ids=["ahead", "back"])
async def test_a_question_that_waits_outlasts_a_jump_of_the_clock(tmp_path: Path, jump: float) -> None:
    """It has sixty seconds, and the clock jumps by days: it does not expire, and runs once."""
    async with ProviderServer(script) as provider:
        settings = {"approval": {"timeoutSeconds": 60}, "verify": {"autoVerify": False}}
        daemon = Shifted(tmp_path, provider.base_url, settings)
        await daemon.start()
        session = (await daemon.call("POST", "/v1/sessions", {}))["id"]
        path = f"/v1/sessions/{session}"
        await daemon.call("POST", f"{path}/messages", {"parts": [{"type": "text", "text": "go"}]})
        pending = await daemon.pending(path)
        daemon.shift(jump)
        later = await daemon.call("POST", "/v1/sessions", {})  # a commit after the jump
        still = await daemon.pending(path)
        await daemon.call("POST", f"{path}/approve", {**pending, "action": "approve"})
        await daemon.idle(path)
        second = await daemon.call("POST", f"{path}/messages", {"content": "again", "on_ask": "deny"})
        await daemon.kill()

    ids = [one["id"] for one in (later, {"id": session})]
    log = daemon.rows()
    own = [row for row in log if row[2] != "session_created" or json.loads(row[3])["id"] == session]
    assert still == pending
    assert second["turn_status"] == "completed"
    assert len(set(ids)) == 2
    assert [row[0] for row in own] == list(range(1, len(own) + 1))
    messages = [one for row in own if row[2] == "message_added" for one in re.findall(r'"(msg_\w+)"', row[3])]
    assert len(set(messages)) == len(messages) > 1
    assert (tmp_path / "project" / "made.txt").read_text() == "made\n"
    assert "approval_denied" not in [row[2] for row in own][:-20]
    kinds = [row[2] for row in log]
    assert kinds.count("turn_completed") == 2
    ends = {row[1] for row in own if row[2] == "turn_completed"}
    assert all(abs(_days(end, own[0][1]) - jump / DAYS) < 1 for end in ends)


def _days(later: str, earlier: str) -> float:
    return (to_millis(later) - to_millis(earlier)) / 1000 / DAYS
