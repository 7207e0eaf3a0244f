"""The tools workspaces have of their own, beside those that are always there.

May import: tools, usertools, sessions.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from agi.protocol.tools import ToolDefinition
from agi.tools.base import Registry
from agi.usertools.base import ToolProblem, UserTools
from agi.usertools.loading import UserToolLoader, is_there

if TYPE_CHECKING:
    from agi.sessions.sites import Site


class ToolList(Struct, frozen=True, kw_only=True):
    """Every tool, sorted by name; which of them are the project's own, and why some of those are not there."""

    tools: tuple[ToolDefinition, ...]
    project: tuple[str, ...]
    problems: tuple[ToolProblem, ...]


class OwnTools:
    """The tools of all workspaces' own; one for a process, since what they take is remembered."""

    def __init__(self, is_trusted: Callable[[Path], bool]) -> None:
        self._is_trusted = is_trusted
        self._loader = UserToolLoader()

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
        return is_there(site.workspace.root)

    async def joined(self, site: Site, registry: Registry) -> Registry:
        """All tools that can be used in a workspace."""
        own = await self.at(site, registry)
        return registry.joined(own.tools) if own.tools else registry

    async def listed(self, site: Site, registry: Registry) -> ToolList:
        """The same, for clients to look at."""
        own = await self.at(site, registry)
        names = tuple(sorted(tool.definition.name for tool in own.tools))
        return ToolList(tools=registry.joined(own.tools).definitions(), project=names, problems=own.problems)
