"""What the tests of user tools share: a project with tools of its own, loaded and called as a session would."""

from __future__ import annotations

import asyncio
import json
import os
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from agi.sandbox.base import Confinement
from agi.sandbox.cell import Cell
from agi.sandbox.ladder import CONFINING, Ladder
from agi.tools.base import Registry, Tool, ToolCall, ToolContext, ToolResult
from agi.tools.builtin import builtin_tools
from agi.usertools.base import UserTools
from agi.usertools.loading import UserToolLoader
from agi.workspace.handle import Workspace
from agi.workspace.processes import child_environment

ENV = child_environment(os.environ, os.getpid())
LADDERS = {**{rung: Ladder(ENV, tried=[rung]) for rung in CONFINING}, "none": Ladder(ENV, "off")}
"""A ladder on which no rung is tried but the one named."""
BUILTIN = frozenset(name for tool in builtin_tools() for name in (tool.definition.name, *tool.definition.aliases))
SIZE = """
    from typing import Annotated
    from agi_tool import tool

    @tool(kind="read")
    def size(path: Annotated[str, "A file."]) -> dict[str, int]:
        return {"size": len(open(path, "rb").read())}
"""


async def until(condition: Callable[[], object]) -> None:
    """Wait until something is true."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


class Project:
    """A workspace with tools of its own."""

    def __init__(self, folder: Path, rung: str = CONFINING[0]) -> None:
        self.root = folder / "proj"
        self.root.mkdir()
        self.folder = folder
        self.trusted = True
        self.heard: list[tuple[str, str]] = []
        self.loader = UserToolLoader()
        self.rung = rung
        self.reach: dict[str, Any] = {}
        self.loaded = UserTools()
        self.no_commands = ""

    until = staticmethod(until)

    def tool(self, name: str, code: str = SIZE, prompt: str | bytes | None = "Says something.") -> Path:
        """Write a tool."""
        folder = self.root / ".agi" / "tools" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tool.py").write_text(textwrap.dedent(code))
        if prompt is not None:
            (folder / "prompt.txt").write_bytes(prompt if isinstance(prompt, bytes) else prompt.encode())
        return folder

    def cell(self) -> Cell:
        """Where commands run."""
        ladder = LADDERS[self.rung]
        if ladder.rung.name != self.rung:
            pytest.skip(f"{self.rung} does not work here: {'; '.join(ladder.rung.why)}")
        return Cell(ladder, Confinement(workspace=self.root.resolve(), **self.reach))

    async def load(self) -> UserTools:
        """Load what is there."""
        self.loaded = await self.loader.load(
            self.root.resolve(),
            cell=self.cell,
            is_trusted=lambda: self.trusted,
            taken=BUILTIN,
            no_commands=lambda: self.no_commands,
        )
        return self.loaded

    async def only(self) -> Tool:
        """Load the only tool there is."""
        loaded = await self.load()
        assert loaded.problems == ()
        (tool,) = loaded.tools
        return tool

    async def problem(self, name: str) -> str:
        """Load, and give what is said of one tool."""
        loaded = await self.load()
        found = [one for one in loaded.problems if one.name == name]
        assert len(found) == 1, loaded
        assert found[0].hint
        return found[0].message

    async def use(self, name: str, **given: Any) -> ToolResult:
        """Load and call, as a model would."""
        loaded = await self.load()
        assert loaded.problems == ()
        registry = Registry((*builtin_tools(), *loaded.tools))
        workspace = Workspace.open(self.root)
        context = ToolContext(
            workspace=workspace,
            artifacts=self.folder / "artifacts" / "turn",
            artifact_ref="artifacts/turn",
            output=lambda *said: self.heard.append(said),
            cell=self.cell(),
        )
        try:
            return await registry.invoke(context, ToolCall("call_1", name, Raw(json.dumps(given).encode())))
        finally:
            workspace.close()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A fresh project."""
    return Project(tmp_path)
