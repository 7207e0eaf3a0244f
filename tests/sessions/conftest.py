"""For tests of workers: a project with roles, and a model of which each role plays a part."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agi.models.base import ModelRequest
from agi.models.scripted import Call, Say, ScriptedModel, Step
from agi.protocol import commands
from agi.protocol.events import Event
from agi.protocol.sessions import Session
from agi.sessions.harness import Harness, HarnessSettings
from agi.testing.box import eventually

LEAD = "---\nname: lead\ntools: [read_file]\npermissions: [agent-draft]\n---\nYou lead.\n"
READER = "---\nname: reader\ntools: [read_file]\n---\nYou read.\n"
WRITER = "---\nname: writer\ntools: [read_file, write_file, shell]\n---\nYou write.\n"
MIDDLE = "---\nname: middle\ntools: [read_file]\npermissions: [agent-draft]\n---\nYou are in the middle.\n"
PARTS = {"lead": "You lead.", "reader": "You read.", "writer": "You write.", "middle": "You are in the middle."}
FREE = {"approval": {"requireForKinds": []}, "verify": {"autoVerify": False}}

Part = Callable[[ModelRequest], Sequence[Step]]


def report(summary: str, status: str = "completed") -> list[Step]:
    """A worker's last answer."""
    return [Say(json.dumps({"status": status, "summary": summary}))]


def results(request: ModelRequest) -> list[Any]:
    """What the tools of this turn answered so far: JSON as values, all else as text."""
    found: list[Any] = []
    for message in request.messages:
        for part in message.parts:
            if message.role == "tool":
                text = part.content.parts[0].text
                try:
                    found.append(json.loads(text))
                except ValueError:
                    found.append(text)
    return found


def prompt(request: ModelRequest) -> str:
    """What was asked last by whoever asks."""
    texts = [part.text for message in request.messages if message.role == "user" for part in message.parts]
    return texts[-1] if texts else ""


class Crewed:
    """A project whose sessions are led by `lead`; each role plays the part it was given."""

    def __init__(self, folder: Path, config: Mapping[str, object] = FREE) -> None:
        self.project = folder / "project"
        self.home = folder / "home" / "agi"
        self.env = {"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"}
        roles = self.project / ".agi" / "roles"
        roles.mkdir(parents=True, exist_ok=True)
        self.home.mkdir(parents=True, exist_ok=True)
        for name, text in (("lead", LEAD), ("reader", READER), ("writer", WRITER), ("middle", MIDDLE)):
            (roles / f"{name}.md").write_text(text)
        (self.project / ".agi" / "config.json").write_text(json.dumps({"defaultProvider": "scripted", **config}))
        self.parts: dict[str, Part] = {}
        self.model = ScriptedModel.from_function(self._decide)
        self.harness: Harness

    def _decide(self, request: ModelRequest) -> Sequence[Step]:
        role = next(name for name, words in PARTS.items() if words in request.system)
        return self.parts[role](request)

    async def open(self) -> None:
        """Start, or start again."""
        settings = HarnessSettings(project=self.project, home_config=self.home, env=self.env, trust_once=True)
        self.harness = Harness(settings, stand_in=self.model)
        await self.harness.recover()

    async def begin(self, content: str = "go", **fields: Any) -> tuple[Session, str]:
        """Begin a session of the lead and ask it something; gives the session and its turn."""
        session = await self.harness.create_session(commands.CreateSession(agent="lead", **fields))
        posted = await self.harness.post_message(session.id, commands.PostMessage(content=content))
        return session, posted.turn_id or ""

    async def ask(self, content: str = "go", **fields: Any) -> Session:
        """The same, to its end."""
        session, turn_id = await self.begin(content, **fields)
        await self.harness.wait_turn(session.id, turn_id)
        return self.harness.session(session.id)

    def events(self, session_id: str, *types: str) -> list[Event]:
        """The session's events of these types."""
        found = self.harness.log.read(session_id, 0, 10_000)
        return [event for event in found if not types or event.type in types]

    def answer(self, session_id: str) -> str:
        """The last thing said there."""
        last = self.harness.messages(session_id, limit=1, before=None)[0][-1]
        return "".join(getattr(part, "text", "") for part in last.parts)

    async def heard(self, session_id: str, kind: str, times: int = 1) -> list[Event]:
        """Wait until the session's log has so many events of a type."""
        await eventually(lambda: len(self.events(session_id, kind)) >= times)
        return self.events(session_id, kind)

    def folders(self) -> list[Path]:
        """The folders of workers that there are."""
        return sorted(self.harness.apart.root.glob("sess_*")) if self.harness.apart.root.exists() else []


def delegates(*asked: Mapping[str, object], then: Callable[[list[Any]], Sequence[Step]] | None = None) -> Part:
    """A part that drafts these workers at once, awaits them all, and tells their results as JSON."""

    def part(request: ModelRequest) -> Sequence[Step]:
        found = results(request)
        if len(found) < len(asked):
            return [Call("draft_agent", dict(one)) for one in asked]
        if len(found) < 2 * len(asked):
            return [Call("await_agent", {"agent_id": one["agent_id"]}) for one in found]
        if then is not None:
            return then(found)
        return [Say(json.dumps(found[len(asked) : 2 * len(asked)]))]

    return part


@pytest.fixture
async def crewed(tmp_path: Path) -> AsyncIterator[Crewed]:
    """A project with roles; nothing is asked about there."""
    made = Crewed(tmp_path)
    await made.open()
    yield made
    await made.harness.close()
