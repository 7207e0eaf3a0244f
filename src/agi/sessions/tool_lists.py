"""All tools there are in a workspace: for a turn to use, and for clients to look at.

May import: protocol, tools, usertools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from agi.protocol.tools import ToolDefinition
from agi.usertools.base import ToolProblem

if TYPE_CHECKING:
    from agi.protocol.mcp import McpProblem
    from agi.tools.base import Registry


class ToolList(Struct, frozen=True, kw_only=True):
    """Every tool, sorted by name; which are the project's own, which those of MCP servers; why some are not there."""

    tools: tuple[ToolDefinition, ...]
    project: tuple[str, ...]
    problems: tuple[ToolProblem, ...]
    mcp: tuple[str, ...] = ()
    held_back: tuple[str, ...] = ()
    """Those of MCP servers that a model has to look for, since there is no room to offer them all."""


class Joined(Struct, frozen=True, kw_only=True):
    """All tools a turn can use, and what a person should know about servers that are not as they should be."""

    registry: Registry
    problems: tuple[McpProblem, ...] = ()
