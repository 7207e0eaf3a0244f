"""What the tests of MCP servers share: real servers in processes of their own, and a look at what is left of them."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from agi.config.values import McpSettings
from agi.mcp.connection import Place
from agi.mcp.loading import Ground, McpServers, McpTools
from agi.mcp.running import Running
from agi.mcp.sdk import load_sdk
from agi.protocol.mcp import McpServer
from agi.sandbox.base import Confinement, Limits
from agi.sandbox.cell import Cell
from agi.sandbox.ladder import Ladder
from agi.sandbox.survivors import CHILD_MARKER, descendants, marked
from agi.tools.base import Registry, ToolCall, ToolContext, ToolResult
from agi.tools.builtin import builtin_tools
from agi.workspace.handle import Workspace
from agi.workspace.processes import child_environment

HERE = Path(__file__).parent / "servers"
ENV = child_environment(os.environ, os.getpid())
OUTSIDE = Ladder(ENV, "off")
INSIDE = Ladder(ENV)
ENDLESS = Limits(memory=0, processes=None, file_size=None, cpu_seconds=None, open_files=None)


def raw(mode: str, *more: str) -> dict[str, Any]:
    """A server that misbehaves."""
    return {"command": sys.executable, "args": ["-S", str(HERE / "raw.py"), mode, *more]}


GOOD: dict[str, Any] = {"command": sys.executable, "args": [str(HERE / "good.py")], "startTimeoutMs": 60_000}


class World:
    """A user, a project, and the servers they name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "project"
        self.home = folder / "home"
        self.root.mkdir()
        self.home.mkdir()
        self.trusted = True
        self.must_confine = False
        self.env: dict[str, str] = {}
        self.settings = McpSettings()
        self.learned: list[str] = []
        self.heard: list[tuple[str, str]] = []
        self._watchers: set[int] = set()
        self.servers = McpServers(self.home, self.env, lambda *found: self.learned.extend(found))

    def name(self, **servers: Any) -> None:
        """Write the user's file."""
        (self.home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))

    def name_in_project(self, file: str = ".mcp.json", **servers: Any) -> None:
        """Write a project's file."""
        (self.root / file).parent.mkdir(exist_ok=True)
        (self.root / file).write_text(json.dumps({"mcpServers": servers}))

    @property
    def ground(self) -> Ground:
        """What servers go by here."""
        root = self.root.resolve()

        def cell(server: Any) -> Cell:
            ladder = INSIDE if server.sandbox else OUTSIDE
            network = "off" if server.sandbox else "on"
            return Cell(ladder, Confinement(workspace=root, network=network, limits=ENDLESS))

        return Ground(
            root=root,
            place=Place(cwd=root, cell=cell, env=ENV, proxies={}),
            is_trusted=lambda: self.trusted,
            must_confine=self.must_confine,
            settings=self.settings,
        )

    async def load(self, *, start: bool = True) -> McpTools:
        """What a turn would get."""
        taken = Registry(builtin_tools()).names()
        return await self.servers.tools(self.ground, taken=taken, start=start)

    async def status(self, name: str) -> McpServer:
        """How a server stands."""
        listed = await self.servers.listed(self.ground)
        return next(one for one in listed.servers if one.name == name)

    async def problem(self, code: str) -> str:
        """Load, and give what is said about the one problem of this code."""
        found = [one for one in (await self.load()).problems if one.code == code]
        assert len(found) == 1, found
        return found[0].message

    async def use(self, tool: str, /, **given: Any) -> ToolResult:
        """Load and call, as a model would."""
        loaded = await self.load()
        return await self.call(loaded, tool, **given)

    async def call(self, loaded: McpTools, tool: str, /, **given: Any) -> ToolResult:
        """Call one of the tools that were loaded."""
        registry = Registry(builtin_tools()).joined(loaded.tools)
        workspace = Workspace.open(self.root)
        context = ToolContext(
            workspace=workspace,
            artifacts=self.folder / "artifacts" / "turn",
            artifact_ref="artifacts/turn",
            output=lambda *said: self.heard.append(said),
        )
        try:
            return await registry.invoke(context, ToolCall("call_1", tool, Raw(json.dumps(given).encode())))
        finally:
            workspace.close()

    @property
    def running(self) -> Running:
        """The only server there is."""
        (one,) = self.servers._pool.all()
        return one

    def processes(self) -> set[int]:
        """Every server of these tests that was started by this process, and who watches over one, or ever did."""
        found = descendants(os.getpid()) | marked(CHILD_MARKER, [str(os.getpid())])
        servers = {pid for pid in found if _mentions(pid, str(HERE))}
        self._watchers = {pid for pid in self._watchers | set(map(_parent, servers)) if _mentions(pid, ".nursery")}
        return servers | self._watchers


def _mentions(pid: int, word: str) -> bool:
    try:
        return word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def text(result: ToolResult) -> str:
    """What a model is shown."""
    return "\n".join(part.text for part in result.parts if hasattr(part, "text"))


async def until(condition: Callable[[], object]) -> None:
    """Wait until something is true."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A fresh one; whatever was started is gone at the end, which every test proves."""
    await load_sdk()  # takes a second, once; start times are about servers
    made = World(tmp_path)
    yield made
    await made.servers.close()
    await until(lambda: not made.processes())


@asynccontextmanager
async def http_server(*arguments: str) -> AsyncIterator[str]:
    """The good server over HTTP; gives its address.

    It is given a socket that listens: a port that was free a moment ago may be another's by now.
    """
    with socket.create_server(("127.0.0.1", 0)) as listens:
        port = listens.getsockname()[1]
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(HERE / "good.py"),
            "--http",
            str(listens.fileno()),
            *arguments,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            pass_fds=(listens.fileno(),),
        )
    try:
        async with asyncio.timeout(60):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.0\r\n\r\n")
            assert await reader.read(1)
            writer.close()
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
