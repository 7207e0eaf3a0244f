"""Commands that take all they can get: whoever else works with the daemon hardly notices."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from agi.models.base import ModelRequest
from agi.models.scripted import Call, Say, ScriptedModel, Step
from agi.protocol.parts import plain_text
from agi.testing.box import Daemon, daemon_in_a_box, eventually

from .conftest import FREE, needs_a_sandbox

GREEDY = {
    "a flood": "yes greedy-7351",
    "busy loops": "for i in 1 2 3 4; do (while :; do :; done) & done; wait # greedy-7351",
    "a daemon": "setsid sh -c 'trap \"\" TERM; while :; do sleep 0.01; done' greedy-7351 & wait",
}


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


@pytest.mark.threat("T35")
@needs_a_sandbox
@pytest.mark.parametrize("what", GREEDY)
async def test_another_session_is_answered_meanwhile_and_nobody_survives(tmp_path: Path, what: str) -> None:
    """The greedy command runs on while others are served; when it is canceled, nothing of it is left."""
    model = ScriptedModel.from_function(decide)
    async with daemon_in_a_box(tmp_path, model=model, trusted=True, config=FREE) as daemon:
        greedy = await daemon.ask(what)
        await eventually(lambda: "tool_call_started" in kinds(daemon, greedy.session_id))
        answers = [await (await daemon.ask("hello")).answer() for _ in range(5)]
        meanwhile = kinds(daemon, greedy.session_id)
        await daemon.post(f"/v1/sessions/{greedy.session_id}/cancel", {})
        ended = await greedy.ended()

    assert answers == ["ok"] * 5
    assert "tool_call_completed" not in meanwhile
    assert ended["type"] == "turn_canceled"
    assert left() == []
