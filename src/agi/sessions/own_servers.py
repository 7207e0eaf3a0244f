"""The MCP servers of workspaces and of the user, beside the sites they belong to. May import: config, mcp, sessions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agi.protocol.events import Notice
from agi.redaction import Redactor

if TYPE_CHECKING:
    from agi.mcp.loading import Ground, McpServers, McpTools
    from agi.protocol.mcp import ApproveMcp, McpList, McpProblem, McpServer
    from agi.sessions.sites import Site

T = TypeVar("T")
QUIET = ("tool_invalid", "shadowed", "not_seen")
"""What is wrong with servers and is not told in every session; `agi mcp list` says it."""
_FILES = (".agi/mcp.json", ".mcp.json")


class OwnServers:
    """The servers of all workspaces; one for a process, since they are started once."""

    def __init__(
        self, home_config: Path, env: Mapping[str, str], redactor: Redactor, is_trusted: Callable[[Path], bool]
    ) -> None:
        self._home_config = home_config
        self._env = env
        self._redactor = redactor
        self._is_trusted = is_trusted
        self._servers: McpServers | None = None

    def may_be_at(self, site: Site) -> bool:
        """Whether a file names servers, or did: what no file names any more is ended. Tells at once."""
        root = site.workspace.root
        files = (self._home_config / "mcp.json", *(root / name for name in _FILES))
        return self._servers is not None or any(map(os.path.lexists, files))

    async def tools(self, site: Site, taken: Collection[str], *, start: bool) -> McpTools | None:
        """What the servers of a workspace offer; None if there are none, as in most."""
        if not self.may_be_at(site) or not site.config.mcp.enabled:
            return None
        return await self._all().tools(self._ground(site), taken=taken, start=start)

    async def listed(self, site: Site) -> McpList:
        """Every server, and how it stands; starts nothing."""
        from agi.protocol.mcp import McpList  # late: few ask

        if not self.may_be_at(site):
            return McpList(enabled=site.config.mcp.enabled)
        return await self._all().listed(self._ground(site))

    async def test(self, site: Site, name: str) -> McpServer:
        """Start a server and say what it offers."""
        return await self._all().test(self._ground(site), name)

    async def approve(self, site: Site, name: str, command: ApproveMcp) -> McpServer:
        """Approve a server as it is now, or one of its tools."""
        return await self._all().approve(self._ground(site), name, command.tool, seen=command.seen)

    async def close(self) -> None:
        """End them all."""
        if self._servers is not None:
            await self._servers.close()

    def _all(self) -> McpServers:
        if self._servers is None:
            from agi.mcp.loading import McpServers  # late: most workspaces have no servers

            self._servers = McpServers(self._home_config, self._env, self._redactor.learn)
        return self._servers

    def _ground(self, site: Site) -> Ground:
        from agi.mcp.connection import Place  # late, as above
        from agi.mcp.loading import Ground
        from agi.workspace.processes import child_environment

        root = site.workspace.root
        place = Place(
            cwd=root,
            cell=lambda server: site.cells.lasting(site) if server.sandbox else site.cells.outside(site),
            env=child_environment(self._env, os.getpid()),
            proxies=self._env,
        )
        return Ground(
            root=root,
            place=place,
            is_trusted=lambda: self._is_trusted(root),
            must_confine=site.config.sandbox.mode == "require",
            settings=site.config.mcp,
        )


def notices(problems: Sequence[McpProblem], was_noticed: Callable[[str], bool]) -> list[Notice]:
    """What a person should know about servers that are not as they should be, each once in a session."""
    found = {}
    for problem in problems:
        code = f"mcp_{problem.code.removeprefix('mcp_')}:{problem.server}"
        if problem.code not in QUIET and not was_noticed(code):
            message = f"MCP server {problem.server}: {problem.message} {problem.hint}".rstrip()
            found[code] = Notice(code=code, message=message)
    return list(found.values())


async def canceled_or(task: asyncio.Task[T]) -> T | None:
    """What a task gives; None if somebody canceled it. It ends with whoever waits for it."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():
            return None
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise
