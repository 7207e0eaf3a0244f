"""The tools workspaces have of their own, and those of MCP servers, beside those that are always there.

May import: tools, usertools, mcp, sessions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agi.protocol.mcp import McpProblem
    from agi.sessions.sites import Site
    from agi.sessions.tool_lists import Joined, ToolList
    from agi.tools.base import Registry
    from agi.usertools.base import ToolProblem, UserTools
    from agi.usertools.loading import UserToolLoader


class OwnTools:
    """The tools of all workspaces' own; one for a process, since what they take is remembered."""

    def __init__(self, is_trusted: Callable[[Path], bool]) -> None:
        self._is_trusted = is_trusted

    @cached_property
    def _loader(self) -> UserToolLoader:
        from agi.usertools.loading import UserToolLoader  # late: only a turn needs it

        return UserToolLoader()

    async def at(self, site: Site, registry: Registry) -> UserTools:
        """The tools a workspace has of its own, as they are now."""
        root = site.workspace.root
        return await self._loader.load(
            root,
            cell=site.cell,
            is_trusted=lambda: self._is_trusted(root),
            taken=registry.names(),
            no_commands=site.no_commands,
        )

    def may_be_at(self, site: Site) -> bool:
        """Whether a workspace may have some; tells at once."""
        from agi.usertools.loading import is_there  # late, as above

        return is_there(site.workspace.root) or site.own_servers.may_be_at(site)

    async def joined(self, site: Site, registry: Registry, *, start: bool = False) -> Joined:
        """All tools that can be used in a workspace; with `start`, servers that were never seen are started."""
        from agi.sessions.tool_lists import Joined  # late, as above

        own = await self.at(site, registry)
        registry = registry.joined(own.tools) if own.tools else registry
        servers = await site.own_servers.tools(site, registry.names(), start=start)
        if servers is None:
            return Joined(registry=registry)
        both = registry.joined(servers.tools, held_back=servers.held_back)
        if servers.held_back:
            from agi.mcp.offering import McpFindTool  # late: few workspaces have so many

            hidden = [tool for tool in both.definitions() if tool.name in servers.held_back]
            both.add(McpFindTool(hidden, both.offer))
        return Joined(registry=both, problems=servers.problems)

    async def listed(self, site: Site, registry: Registry) -> ToolList:
        """The same, for clients to look at."""
        from agi.sessions.tool_lists import ToolList  # late, as above

        own = await self.at(site, registry)
        names = tuple(sorted(tool.definition.name for tool in own.tools))
        registry = registry.joined(own.tools)
        servers = await site.own_servers.tools(site, registry.names(), start=False)
        if servers is None:
            return ToolList(tools=registry.definitions(), project=names, problems=own.problems)
        return ToolList(
            tools=registry.joined(servers.tools).definitions(),
            project=names,
            problems=(*own.problems, *map(_tool_problem, servers.problems)),
            mcp=tuple(sorted(tool.definition.name for tool in servers.tools)),
            held_back=servers.held_back,
        )


def _tool_problem(problem: McpProblem) -> ToolProblem:
    from agi.usertools.base import ToolProblem  # late, as above

    name = f"mcp {problem.server} {problem.tool}".rstrip()
    return ToolProblem(name=name, message=problem.message, hint=problem.hint)
