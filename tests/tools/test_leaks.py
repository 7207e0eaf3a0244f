"""Commands of every kind, many of them: not a process, a zombie or a descriptor is left.

AGI_COMMANDS sets how many the long run makes (default 500).
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import time

import pytest

from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.sandbox.ladder import Ladder
from agi.tools import shell
from agi.workspace.processes import CHILD_MARKER

COMMANDS = int(os.environ.get("AGI_COMMANDS", "500"))
AT_ONCE = 8
MOST_KEPT = 2 * (32 + AT_ONCE)
"""Folders of control groups: two a group, of those that wait for a command and those that end."""
MARK = f"{CHILD_MARKER}={os.getpid()}".encode()

KINDS = [
    {"command": "true"},
    {"command": "echo $RANDOM; exit 3"},
    {"command": "sleep 100 & echo a child that holds the pipe"},
    {"command": "nohup sleep 100 >/dev/null 2>&1 & disown"},
    {"command": "setsid sleep 100 & echo one that left the group"},
    {"command": "setsid sleep 100 >/dev/null 2>&1 </dev/null & exit 0"},
    {"command": "(setsid bash -c 'sleep 100 & setsid sleep 100 & sleep 100' &)"},
    {"command": "( (trap '' TERM HUP INT; while :; do sleep 1; done) & )"},
    {"command": "sleep 100 | sleep 100", "timeout_s": 0.05},
    {"command": "trap '' TERM; setsid sleep 100 & while :; do sleep 0.1; done", "timeout_s": 0.05},
    {"command": "seq 1 20000; kill -9 $$"},
    {"command": "setsid sleep 100 & sleep 100", "background": True},
    {"command": "canceled: sleep 100 & setsid sleep 100 & sleep 100"},
]


def marked() -> set[int]:
    """Every process that was started by this one, or by one that was; those that only wait to be collected too."""
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if MARK in file.read().split(b"\0"):
                        found.add(int(name))
            except OSError:
                continue
    return found


def children() -> int:
    """How many children this process has, running or not yet collected."""
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return len(file.read().split())


def descriptors() -> list[str]:
    """What every open descriptor of this process leads to."""
    gc.collect()
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the one that lists them
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    return sorted(found)


def is_kept(one: str) -> bool:
    """Whether it leads to a control group: those wait for the next command, as many as once ran side by side."""
    return one.startswith("/sys/fs/cgroup/")


async def one(desk, given: dict[str, object]) -> None:
    """Run one command as an agent would; a job is stopped again, and some calls are canceled."""
    if str(given["command"]).startswith("canceled: "):
        task = asyncio.create_task(desk.use("shell", command=str(given["command"])[10:]))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.wait({task})
        return
    result = await desk.use("shell", **given)
    if given.get("background"):
        assert result.ok, result.error
        await desk.use("job_stop", id=result.result["job_id"])


async def run(desk, count: int) -> None:
    """Run so many, some side by side."""
    waiting = iter(range(count))

    async def work() -> None:
        for number in waiting:
            await one(desk, KINDS[number % len(KINDS)])

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))


async def leaves_nothing(desk, count: int) -> None:
    await run(desk, len(KINDS))  # whatever is made once is made now
    await settled(1000)
    before = descriptors()

    await run(desk, count)

    await settled(len(before))
    assert marked() == set()
    assert children() == 0
    after = descriptors()
    assert [one for one in after if not is_kept(one)] == [one for one in before if not is_kept(one)]
    assert len({one for one in after if is_kept(one)} - set(before)) <= MOST_KEPT


async def settled(most: int) -> None:
    """Wait a moment for what was killed to be gone, and for the pipes to it to be closed."""
    until = time.monotonic() + 5
    while (marked() or children() or len(descriptors()) > most) and time.monotonic() < until:  # noqa: ASYNC110
        await asyncio.sleep(0.02)


@pytest.fixture(params=["auto", "off"])
def housed(request, busy, monkeypatch):
    """A workspace whose commands run in the best sandbox there is, or in none at all."""
    monkeypatch.setattr(shell, "FIRST_S", 0.01)
    monkeypatch.setattr("agi.jobs.table.MOST_IN_SESSION", 2 * AT_ONCE)
    ladder = Ladder(os.environ, request.param)
    busy.cell = Cell(ladder, Confinement(workspace=busy.root))
    yield busy
    ladder.close()


async def test_commands_leave_nothing_behind(housed):
    """Whatever they started, and wherever it went."""
    await leaves_nothing(housed, 5 * len(KINDS))


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_thousands_of_commands_leave_nothing_behind(housed):
    """Nothing adds up."""
    await leaves_nothing(housed, COMMANDS)
