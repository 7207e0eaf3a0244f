"""A flood of output costs little memory, waited for or in the background."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

MEGABYTES = int(os.environ.get("AGI_MEGABYTES", "150"))
"""`make enemies` says 10,000 of them."""

SCRIPT = """
import asyncio, json, resource, sys, tempfile
from pathlib import Path
from msgspec import Raw
from agi.eventlog.log import EventLog
from agi.protocol.events import SessionCreated
from agi.sessions.jobs import SessionsJobs
from agi.sessions.turn_jobs import TurnJobs
from agi.tools.base import Registry, ToolCall, ToolContext
from agi.tools.builtin import builtin_tools
from agi.views.tables import Tables
from agi.workspace.handle import Workspace

SESSION, TURN = "sess_" + "0" * 32, "turn_" + "0" * 32

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

async def main(folder, size, background):
    (folder / "proj").mkdir()
    log = EventLog(folder / ".agi", Tables())
    now = "2026-01-01T00:00:00.000Z"
    made = SessionCreated(id=SESSION, agent="build", workspace_path="/", project_path="/", created_at=now)
    await log.append(SESSION, [(None, made)])
    await log.mirrored()
    jobs = SessionsJobs(log)
    place = log.folder / "sessions" / SESSION / "artifacts" / TURN
    context = ToolContext(
        workspace=Workspace.open(folder / "proj"),
        artifacts=place,
        artifact_ref=f"artifacts/{TURN}",
        output=lambda *_: None,
        jobs=TurnJobs(jobs, SESSION, TURN, lambda data: log.append(SESSION, [(TURN, data)])),
    )
    registry = Registry(builtin_tools())

    async def use(name, **given):
        return await registry.invoke(context, ToolCall("call_1", name, Raw(json.dumps(given).encode())))

    flood = f"yes 'a line of a flood, neither short nor long' | head -c {size}"
    before = peak()
    result = await use("shell", command=flood, background=background, timeout_s=3600)
    if background:
        result = await use("job_read", id=result.result["job_id"], timeout_s=600)
    kept = sum(file.stat().st_size for file in place.iterdir())
    print(json.dumps([result.ok, peak() - before, kept >> 20, result.result.get("total", size)]))
    await jobs.close()
    await log.close()

with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(Path(folder), int(sys.argv[1]), sys.argv[2] == "background"))
"""


@pytest.mark.threat("T35")
@pytest.mark.timeout(1000)
@pytest.mark.parametrize("how", ["waited for", "background"])
def test_a_flood_costs_little_memory(how):
    """Its ends are shown, so much of it is kept as a file, and the rest is only counted."""
    size = MEGABYTES << 20
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(size), how], capture_output=True, text=True, check=True, timeout=900
    )

    ok, grown, kept, total = eval(done.stdout.replace("true", "True"))  # numbers of our own making

    assert ok
    assert grown < 20
    assert 64 <= kept < 70
    assert total == size
