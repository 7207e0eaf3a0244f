"""Pieces every suite uses: a harness in this process, with a scripted model, on a folder of its own."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from agi.models import nearby
from agi.models.scripted import ScriptedModel
from agi.protocol import commands
from agi.protocol.events import Event
from agi.protocol.messages import Message
from agi.protocol.parts import plain_text
from agi.sandbox import ladder, trying
from agi.sessions.asking import Posted
from agi.sessions.harness import Harness, HarnessSettings
from agi.views.queries import Turn

_ANY_SPEED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, database=None, **_ANY_SPEED)
settings.register_profile("new", max_examples=int(os.environ.get("AGI_EXAMPLES", "100")), print_blob=True, **_ANY_SPEED)
settings.load_profile("new" if "AGI_EXAMPLES" in os.environ else "same")
"""Every run tries the same examples, so that it says something of the change; `make examples` tries new ones."""

for _number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(_number) == signal.SIG_IGN:  # by `nohup`, or `&` in a script: tests interrupt what they start
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--threat T14`: only what is marked with this threat, or this advisory; see docs/threat-model.md."""
    parser.addoption("--threat", metavar="ID", help="only tests marked with this threat or advisory")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what has nothing to do with the threat that was asked for."""
    wanted = config.getoption("--threat")
    if not wanted:
        return
    marks = {
        item: {id for name in ("threat", "advisory") for mark in item.iter_markers(name) for id in mark.args}
        for item in items
    }
    config.hook.pytest_deselected(items=[item for item in items if wanted not in marks[item]])
    items[:] = [item for item in items if wanted in marks[item]]


class Place:
    """A project folder, a harness on it (opened and closed at will), and a session."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.project.mkdir(exist_ok=True)
        self.home = root / "home"
        self.model = ScriptedModel()
        self.trusted = True
        self.harness: Harness
        self.session_id = ""

    def settings(self) -> HarnessSettings:
        return HarnessSettings(
            project=self.project, home_config=self.home, env={"PATH": "/usr/bin:/bin"}, trust_once=self.trusted
        )

    async def open(self) -> Harness:
        self.harness = Harness(self.settings(), stand_in=self.model)
        return self.harness

    async def reopen(self) -> Harness:
        await self.harness.close()
        return await self.open()

    def configure(self, text: str) -> None:
        (self.project / ".agi").mkdir(exist_ok=True)
        (self.project / ".agi" / "config.json").write_text(text)

    async def start(self, **fields: object) -> str:
        session = await self.harness.create_session(commands.CreateSession(**fields))  # type: ignore[arg-type]
        self.session_id = session.id
        return session.id

    async def say(self, text: str, **fields: object) -> Posted:
        command = commands.PostMessage(content=text, **fields)  # type: ignore[arg-type]
        return await self.harness.post_message(self.session_id, command)

    async def ask(self, text: str, **fields: object) -> Turn:
        """Say something and wait for the turn to end."""
        posted = await self.say(text, **fields)
        return await self.ended(posted)

    async def ended(self, posted: Posted) -> Turn:
        assert posted.turn_id is not None
        return await self.harness.wait_turn(self.session_id, posted.turn_id)

    async def approve(self, call_id: str, action: str = "approve", **fields: object) -> None:
        command = commands.Approve(tool_call_id=call_id, action=action, **fields)  # type: ignore[arg-type]
        await self.harness.approve(self.session_id, command)

    async def cancel(self, **fields: object) -> tuple[str, ...]:
        return await self.harness.cancel(self.session_id, commands.Cancel(**fields))  # type: ignore[arg-type]

    def events(self, *types: str) -> list[Event]:
        found = self.harness.log.read(self.session_id, 0, 100_000)
        return [event for event in found if not types or event.type in types]

    def types(self) -> list[str]:
        return [event.type for event in self.events()]

    def messages(self) -> list[Message]:
        return self.harness.messages(self.session_id, limit=1000, before=None)[0]

    def answer(self) -> str:
        """The last thing the agent said."""
        return plain_text(self.messages()[-1].parts)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is true; what it looks at may be a file, so it is looked at again and again."""
        async with asyncio.timeout(20):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0.002)

    async def heard(self, type: str, count: int = 1) -> Event:
        """Wait for the n-th event of a type."""
        await self.until(lambda: len(self.events(type)) >= count)
        return self.events(type)[count - 1]


def processes_named(words: str) -> list[int]:
    """Processes whose command line has these words in it, wherever they run; those that have ended do not count."""
    wanted = words.replace(" ", "\0").encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if wanted in (entry / "cmdline").read_bytes() + b"\0":
                    found.append(int(entry.name))
    return found


@pytest.fixture
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no sandbox works."""
    monkeypatch.setattr(ladder, "find_namespaces", lambda helper: None)
    monkeypatch.setattr(ladder, "find_trusted", lambda name, path: None)
    monkeypatch.setattr(ladder, "landlock_version", lambda: 0)


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no sandbox can be tried: there is no room for it."""

    def fail(env: Mapping[str, str], **_: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(trying, "make_folder", fail)


@pytest.fixture(autouse=True)
def nobody_nearby(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test looks for model servers on the machine it runs on, unless it says where; and then it has time."""
    monkeypatch.setattr(nearby, "PORTS", {})
    monkeypatch.setattr(nearby, "FIND_S", 5.0)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """A project with a harness and a session; the workspace is trusted."""
    made = Place(tmp_path)
    await made.open()
    await made.start()
    yield made
    await made.harness.close()


@pytest.fixture(autouse=True)
def _no_parser_left() -> Iterator[None]:
    """The process that reads source for maps is shared and stays for a while; no other test may find it."""
    yield
    indexes = sys.modules.get("agi.index.shared")
    if indexes is not None and indexes.shared.cache_info().currsize:
        indexes.shared().close()
        indexes.shared.cache_clear()
