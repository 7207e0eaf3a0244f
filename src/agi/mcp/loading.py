"""The tools of a workspace's servers, as they are now: approved definitions at once, servers started when needed.

A server that was seen before is not waited for: its tools are offered as they were approved, and it is started when
one is called. One that was never seen is started now, side by side with others, and waited for once. May import:
errors, protocol, config, tools, mcp.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from msgspec import Struct

from agi.config.values import McpSettings
from agi.errors import AgiError, NotFound
from agi.mcp.base import Offer, Server
from agi.mcp.configured import Configured, configured
from agi.mcp.connection import Place
from agi.mcp.expanding import secrets_of
from agi.mcp.offering import held_back
from agi.mcp.pins import Pins
from agi.mcp.pool import Pool
from agi.mcp.reaching import McpPromptTool, McpReadTool
from agi.mcp.running import Running
from agi.mcp.standing import Standing
from agi.mcp.tool import McpTool
from agi.protocol.mcp import McpList, McpProblem, McpServer
from agi.tools.base import Tool

LONGEST_S = 15.0
"""How long a turn waits for servers that were never seen; what is not there by then comes with a later turn."""


class Ground(Struct, frozen=True, kw_only=True):
    """A workspace, as far as servers go by it."""

    root: Path
    place: Place
    is_trusted: Callable[[], bool]
    must_confine: bool
    settings: McpSettings


class McpTools(Struct, frozen=True, kw_only=True):
    """The tools that can be used, those of them there is no room to offer, and what is wrong with others."""

    tools: tuple[Tool, ...] = ()
    held_back: tuple[str, ...] = ()
    problems: tuple[McpProblem, ...] = ()


class McpServers:
    """The servers of all workspaces; one for a process."""

    def __init__(self, home_config: Path, env: Mapping[str, str], learn: Callable[..., None]) -> None:
        self._home_config = home_config
        self._env = env
        self._learn = learn
        self._pool = Pool()

    async def tools(self, ground: Ground, *, taken: Collection[str], start: bool) -> McpTools:
        """What a workspace's servers offer; with `start`, those that were never seen are started."""
        if not ground.settings.enabled:
            return McpTools()
        found, each = await self._each(ground)
        if start:
            await self._introduce(each)
            each = await asyncio.to_thread(_read_again, each)
        tools, problems = _tools(ground, each, taken)
        back = held_back(tools, most=ground.settings.max_tools, most_tokens=ground.settings.max_tokens)
        more: list[Tool] = []
        if resources := {one.server.name: one.running for one in each if one.offers("resources")}:
            more.append(McpReadTool(resources))
        if prompts := {one.server.name: one.running for one in each if one.offers("prompts")}:
            more.append(McpPromptTool(prompts))
        problems += [problem for one in each for problem in one.problems()]
        problems += [problem for one in found.others for problem in one.problems]
        all_of_them = (*(one for one in more if one.definition.name not in taken), *tools)
        return McpTools(tools=all_of_them, held_back=back, problems=(*found.problems, *problems))

    async def listed(self, ground: Ground) -> McpList:
        """Every server and how it stands; starts nothing."""
        found, each = await self._each(ground)
        servers = sorted((*found.others, *(one.status() for one in each)), key=lambda one: one.name)
        return McpList(servers=tuple(servers), problems=found.problems, enabled=ground.settings.enabled)

    async def test(self, ground: Ground, name: str) -> McpServer:
        """Start a server, or see that it is there; what goes wrong is told in what comes back."""
        one = await self._one(ground, name)
        if isinstance(one, McpServer):
            return one
        one.running.try_now()
        try:
            await one.running.connected()
        except AgiError:
            pass  # it is among its problems
        return (await asyncio.to_thread(_read_again, [one]))[0].status()

    async def approve(self, ground: Ground, name: str, tool: str | None, *, seen: str | None = None) -> McpServer:
        """Approve a server as it was last seen, or one of its tools; with `seen`, only if that is still so."""
        one = await self._one(ground, name)
        if isinstance(one, McpServer):
            why = one.problems[0].message if one.problems else "It is switched off."
            raise NotFound(f"{name} cannot be approved: {why}", hint="`agi mcp list` says more.")
        await asyncio.to_thread(one.pins.approve, one.server, tool, seen)
        return (await asyncio.to_thread(_read_again, [one]))[0].status()

    async def close(self) -> None:
        """End every server."""
        await self._pool.close()

    async def _one(self, ground: Ground, name: str) -> Standing | McpServer:
        found, each = await self._each(ground)
        known: dict[str, Standing | McpServer] = {one.name: one for one in found.others}
        known |= {one.server.name: one for one in each}
        if name in known:
            return known[name]
        names = ", ".join(sorted(known))
        hint = f"There are: {names}." if names else "None is configured; `agi mcp add` does it."
        raise NotFound(f"There is no MCP server {name[:64]!r}.", hint=hint, code="mcp_not_found")

    async def _each(self, ground: Ground) -> tuple[Configured, list[Standing]]:
        found = await asyncio.to_thread(
            lambda: configured(
                ground.root,
                self._home_config,
                self._env,
                is_trusted=ground.is_trusted,
                must_confine=ground.must_confine,
            )
        )
        pins = Pins(self._home_config, ground.root)

        async def settle(seen: Server, offer: Offer) -> object:
            return await asyncio.to_thread(pins.settle, seen, offer)

        each = []
        for server in found.servers:
            self._learn(*secrets_of(server.env, server.headers))
            each.append(Standing(server, self._pool.get(ground.root, server, ground.place, settle), pins))
        self._pool.keep(ground.root, {server.key for server in found.servers})
        return found, await asyncio.to_thread(_read_again, each)

    async def _introduce(self, each: list[Standing]) -> None:
        """Start whoever was never seen; one that failed before is tried in the background, and nobody waits for it."""
        strangers = [one for one in each if one.is_strange]
        tasks = {asyncio.create_task(_met(one.running)): one.running.problem is None for one in strangers}
        waiting = [task for task, is_first in tasks.items() if is_first]
        if not tasks:
            return
        await asyncio.sleep(0)  # so that every start is under way, also those nobody waits for
        try:
            if waiting:
                await asyncio.wait(waiting, timeout=LONGEST_S)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _met(running: Running) -> None:
    try:
        await running.connected()
    except AgiError:
        pass  # kept as its problem


def _read_again(each: list[Standing]) -> list[Standing]:
    return [one.read() for one in each]


def _tools(ground: Ground, each: list[Standing], taken: Collection[str]) -> tuple[list[McpTool], list[McpProblem]]:
    tools: dict[str, McpTool] = {}
    problems: list[McpProblem] = []
    for one in each:
        is_trusted = ground.is_trusted if one.server.source == "project" else _always
        for definition in one.definitions():
            tool = McpTool(one.running, definition, is_trusted=is_trusted, is_approved=one.is_approved)
            name = tool.definition.name
            if name in taken or name in tools:
                said = f"There is a tool called {name} already."
                problems.append(
                    McpProblem(server=one.server.name, code="tool_name", tool=definition.name, message=said)
                )
            else:
                tools[name] = tool
    return list(tools.values()), problems


def _always() -> bool:
    return True
