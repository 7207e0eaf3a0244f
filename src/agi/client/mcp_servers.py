"""MCP servers as a face asks about them: of the daemon if there is one, else with the rooms behind, in this process.

Opens no log. May import: protocol, config, client; late, mcp and sessions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from agi.client.running import running_daemon
from agi.client.settings import ClientSettings
from agi.protocol.mcp import ApproveMcp, McpList, McpServer

if TYPE_CHECKING:
    from agi.client.daemon import DaemonClient
    from agi.sessions.sites import Site


class Servers(Protocol):
    """What can be asked about servers."""

    async def listed(self) -> McpList:
        """Every server; starts nothing."""

    async def test(self, name: str) -> McpServer:
        """Start one, or see that it is there."""

    async def approve(self, name: str, command: ApproveMcp) -> McpServer:
        """Approve one as it was last seen."""


@asynccontextmanager
async def servers_of(settings: ClientSettings) -> AsyncIterator[Servers]:
    """Ask the daemon that runs, or look by ourselves; what is started by that is ended at the end."""
    daemon = running_daemon(settings.project)
    if daemon is not None:
        from agi.client.daemon import DaemonClient  # late: without a daemon there is no HTTP

        client = DaemonClient(settings.project, daemon)
        try:
            if await client.is_well():
                yield _OfDaemon(client)
                return
        finally:
            await client.close()
    async with _here(settings) as here:
        yield here


class _OfDaemon:
    def __init__(self, client: DaemonClient) -> None:
        self._client = client

    async def listed(self) -> McpList:
        return await self._client.mcp_servers()

    async def test(self, name: str) -> McpServer:
        return await self._client.test_mcp_server(name)

    async def approve(self, name: str, command: ApproveMcp) -> McpServer:
        return await self._client.approve_mcp_server(name, command)


class _Here:
    def __init__(self, site: Site) -> None:
        self._site = site

    async def listed(self) -> McpList:
        return await self._site.own_servers.listed(self._site)

    async def test(self, name: str) -> McpServer:
        return await self._site.own_servers.test(self._site, name)

    async def approve(self, name: str, command: ApproveMcp) -> McpServer:
        return await self._site.own_servers.approve(self._site, name, command)


def forget(settings: ClientSettings, name: str) -> None:
    """Take a server of the user's own for one that was never seen: its command has just been said by hand."""
    from agi.mcp.pins import Pins  # late: only who changes a server needs it

    Pins(settings.home_config, settings.project).forget(name, "user")


@asynccontextmanager
async def _here(settings: ClientSettings) -> AsyncIterator[Servers]:
    from agi.config import Flags  # late: a daemon spares us the whole house
    from agi.redaction import Redactor
    from agi.sessions.sites import Sites

    sites = Sites(home_config=settings.home_config, env=settings.env, flags=Flags(), redactor=Redactor())
    try:
        yield _Here(sites.get(settings.project))
    finally:
        await sites.close()
