"""MCP servers as clients see them: which are configured, how they stand, what they offer, what waits for approval.

Values only. May import: protocol.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from agi.protocol.commands import Command, Name

ServerSource = Literal["user", "project"]
Transport = Literal["stdio", "http"]
ServerState = Literal["off", "refused", "idle", "starting", "ready", "failed"]
"""`off`: disabled; `refused`: it may not run, a problem says why; `idle`: not started, since nothing needed it."""
McpPermission = Literal["agent-draft", "projects-list", "projects-create", "sessions", "approve"]
"""What clients of the harness's own server can be permitted; the first three are a role's permissions too."""
MCP_PERMISSIONS: tuple[McpPermission, ...] = (
    "agent-draft",
    "projects-list",
    "projects-create",
    "sessions",
    "approve",
)


class McpProblem(Struct, frozen=True, kw_only=True):
    """Why a server, or one of its tools, cannot be used."""

    server: str
    code: str
    message: str
    hint: str = ""
    tool: str = ""
    """The tool it is about, as the server calls it; empty if it is about the server."""


class McpTool(Struct, frozen=True, kw_only=True):
    """A tool of a server that agents can use."""

    name: str
    """What agents call it by."""
    tool: str
    """What the server calls it."""
    description: str
    kind: str


class McpChange(Struct, frozen=True, kw_only=True):
    """Something that is not what was approved; it cannot be used until it is approved as it is now."""

    tool: str
    """The tool; empty if it is the server's own command, address or environment."""
    change: Literal["added", "changed", "removed", "command"]
    diff: str
    """From what was approved to what is there now."""


class McpServer(Struct, frozen=True, kw_only=True):
    """One configured server."""

    name: str
    source: ServerSource
    file: str
    """The file that names it."""
    transport: Transport
    runs: str
    """The command or the address, without environment and headers."""
    state: ServerState
    sandboxed: bool = False
    tools: tuple[McpTool, ...] = ()
    has_resources: bool = False
    has_prompts: bool = False
    changes: tuple[McpChange, ...] = ()
    """What waits for approval."""
    seen: str = ""
    """A hash of how it was last seen, by which exactly that can be approved."""
    problems: tuple[McpProblem, ...] = ()
    pid: int | None = None
    start_ms: int | None = None
    """How long its last start took."""
    said: str = ""
    """The last lines it wrote to stderr, or printed where only messages belong."""


class McpList(Struct, frozen=True, kw_only=True):
    """Every configured server, and what is wrong with what else stands in the files."""

    servers: tuple[McpServer, ...] = ()
    problems: tuple[McpProblem, ...] = ()
    enabled: bool = True


class ApproveMcp(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Approve a server as it is now: all of it, or one tool."""

    tool: Annotated[Name, Meta(description="One tool, as the server calls it; absent: all that waits.")] | None = None
    seen: Annotated[Name, Meta(description="The `seen` that was looked at; another one is not approved.")] | None = None


class TestMcp(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing needs to be said."""
