"""A session in a process of its own, to be killed or traced: two turns of a scripted model, each writing three files.

Every durable event that somebody who listens is told of is told on stdout too, one write a line: `ack <seq> <type>`.
Run as `python -m tests.torture.session FOLDER`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from agi.models.base import ModelRequest
from agi.models.scripted import Call, Say, ScriptedModel, Step
from agi.protocol import commands
from agi.protocol.events import Event
from agi.sessions.harness import Harness, HarnessSettings

FILES = 3
TURNS = 2
CONFIG = '{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}}'


def decide(request: ModelRequest) -> Sequence[Step]:
    """Decided by the conversation alone, so that a turn that was cut off goes on as if nothing had happened."""
    results = 0
    for message in reversed(request.messages):
        if message.role == "user" and not message.origin:
            break
        results += message.role == "tool"
    if results >= FILES:
        return (Say("All of them are written. " * 20, size=40),)
    return (Call("write_file", {"path": f"made-{results}.txt", "content": f"number {results}\n"}),)


def open_harness(root: Path) -> Harness:
    """A harness on the project below `root`, which its user trusts."""
    project = root / "project"
    (project / ".agi").mkdir(parents=True, exist_ok=True)
    (project / ".agi" / "config.json").write_text(CONFIG)
    settings = HarnessSettings(project=project, home_config=root / "home", env={}, trust_once=True, probe_ports={})
    return Harness(settings, stand_in=ScriptedModel.from_function(decide))


def _acknowledge(event: Event) -> None:
    os.write(1, f"ack {event.seq} {event.type}\n".encode())


async def main(root: Path) -> None:
    """The whole life of one session."""
    harness = open_harness(root)
    await harness.recover()
    session = await harness.create_session(commands.CreateSession())
    os.write(1, f"session {session.id}\n".encode())
    harness.log.listen(session.id, _acknowledge)
    for number in range(TURNS):
        posted = await harness.post_message(session.id, commands.PostMessage(content=f"question {number}"))
        assert posted.turn_id is not None
        os.write(1, f"turn {posted.turn_id}\n".encode())
        await harness.wait_turn(session.id, posted.turn_id)
    await harness.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
