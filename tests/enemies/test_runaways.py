"""Commands that take all they can get: whoever else works with the daemon hardly notices."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

import pytest

from agi.models.base import ModelRequest
from agi.models.scripted import Call, Say, ScriptedModel, Step
from agi.protocol.parts import plain_text
from agi.sandbox.ladder import Ladder
from agi.testing.box import Daemon, daemon_in_a_box, eventually

from .conftest import FREE, needs_a_sandbox

HOG = """
held = []
while len(held) < 128:
    held.append(b"x" * (8 << 20))
    if len(held) == 16:
        open("much", "w").close()
"""
"""A gigabyte at most, were it not stopped before."""
BOMB = """
import os, time
for _ in range(500):
    try:
        if os.fork() == 0:
            break
    except OSError:
        open("full", "w").close()
time.sleep(3600)
"""
LIMITS = {"memoryMb": 256, "processes": 64}
GREEDY = {
    "a flood": "yes greedy-7351",
    "busy loops": "for i in 1 2 3 4; do (while :; do :; done) & done; wait # greedy-7351",
    "a daemon": "setsid sh -c 'trap \"\" TERM; while :; do sleep 0.01; done' greedy-7351 & wait",
    "a memory hog": f"while :; do python3 -c '{HOG}' greedy-7351 || ! test -e much || touch full; done",
    "a process bomb": f"python3 -c '{BOMB}' greedy-7351",
}
BOUNDED = ("a memory hog", "a process bomb")
"""They leave a file `full` where they met their limit, and go on."""


def decide(request: ModelRequest) -> list[Step]:
    """The greedy session runs its command; any other is answered at once."""
    asked = plain_text(request.messages[0].parts)
    return (
        [Say("ok")] if asked not in GREEDY or len(request.messages) > 1 else [Call("shell", {"command": GREEDY[asked]})]
    )


def kinds(daemon: Daemon, session_id: str) -> list[str]:
    """What has happened in a session so far."""
    return [event.type for event in daemon.harness.log.read(session_id, 0, 1000)]


def left() -> list[int]:
    """Processes of the greedy that are still there."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if b"greedy-7351" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def memory_of(pid: int) -> int:
    """How many bytes of its own a process has in memory; none, if it has ended."""
    with suppress(OSError):
        found = re.search(r"^RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
        return int(found[1]) << 10 if found else 0
    return 0


def processes_are_limited() -> bool:
    """Whether anything limits how many there are: root has only control groups for that."""
    ladder = Ladder(os.environ)
    try:
        return os.getuid() != 0 or (ladder.rung.confines and ladder._groups is not None)
    finally:
        ladder.close()


@pytest.mark.threat("T35")
@needs_a_sandbox
@pytest.mark.parametrize("what", GREEDY)
async def test_another_session_is_answered_meanwhile_and_nobody_survives(tmp_path: Path, what: str) -> None:
    """The greedy command runs on while others are served; when it is canceled, nothing of it is left.

    What takes memory or processes without end has met its limit by then, and has no more than that.
    """
    if what == "a process bomb" and not processes_are_limited():
        pytest.skip("as root, only control groups limit the number of processes, and none can be made here")
    model = ScriptedModel.from_function(decide)
    async with daemon_in_a_box(tmp_path, model=model, trusted=True, config={**FREE, "sandbox": LIMITS}) as daemon:
        greedy = await daemon.ask(what)
        await eventually(lambda: "tool_call_started" in kinds(daemon, greedy.session_id))
        if what in BOUNDED:
            await eventually((daemon.workspace.path / "full").exists)
        answers = [await (await daemon.ask("hello")).answer() for _ in range(5)]
        running = left()
        taken = sum(map(memory_of, running))
        meanwhile = kinds(daemon, greedy.session_id)
        await daemon.post(f"/v1/sessions/{greedy.session_id}/cancel", {})
        ended = await greedy.ended()

    assert answers == ["ok"] * 5
    assert "tool_call_completed" not in meanwhile
    assert len(running) <= LIMITS["processes"]
    assert taken <= LIMITS["memoryMb"] << 20 or what == "a process bomb"  # whose pages are one another's
    assert ended["type"] == "turn_canceled"
    assert left() == []
