"""The tools of a project as a client sees them: those that are always there, its own, and what is wrong with others.

Values only. May import: nothing of ours.
"""

from __future__ import annotations

from msgspec import Struct


class ToolOffer(Struct, frozen=True, kw_only=True):
    """A tool an agent can be given."""

    name: str
    description: str
    kind: str
    """What approvals go by: `read`, `write`, `exec`, `network`."""
    requires_approval: bool = False
    aliases: tuple[str, ...] = ()
    input_schema: dict[str, object] = {}


class ToolProblem(Struct, frozen=True, kw_only=True):
    """Why a tool of the project is not there."""

    name: str
    message: str
    hint: str = ""


class ToolList(Struct, frozen=True, kw_only=True):
    """The tools there are, by name; `project` names those that are the project's own."""

    tools: tuple[ToolOffer, ...]
    project: tuple[str, ...] = ()
    problems: tuple[ToolProblem, ...] = ()
    mcp: tuple[str, ...] = ()
    """Those of MCP servers."""
    held_back: tuple[str, ...] = ()
    """Those of MCP servers that a model has to look for."""
