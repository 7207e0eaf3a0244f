"""A tool of a server, as one of the tools: judged as something that reaches out, run where its server is.

What is called is what was approved: the definition is compared again once the server is there. May import: errors,
protocol, tools, mcp.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cached_property
from typing import Any

import msgspec

from agi.errors import AgiError
from agi.mcp.base import Definition, Server
from agi.mcp.defining import clean
from agi.mcp.naming import tool_name
from agi.mcp.results import to_result
from agi.mcp.running import Running
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult, failed
from agi.tools.base import ToolContext

LARGEST_INPUT = 4 << 20
STREAMED = 64 * 1024
"""How much of what a server says about its progress is told."""
_UNTRUSTED = (
    "{name} was not called: the workspace is no longer trusted as it is. The user can look at what changed and trust "
    "it again with `agi trust`."
)
_CHANGED = (
    "{name} was not called: what {server} says of it is no longer what was approved. The user can look at the "
    "difference and approve it with `agi mcp approve {server}`."
)


def kind_of(server: Server, definition: Definition) -> ToolKind:
    """What approvals take a tool for: what its user says, else what it says of itself, if its user named the server.

    A tool that says it only reads, and only what the server holds, is believed; anything else reaches out.
    """
    said = server.kinds.get(definition.name) or server.kinds.get("*")
    if said is not None:
        return ToolKind.READ if said == "read" else ToolKind.NET
    closed = definition.read_only is True and definition.open_world is False
    return ToolKind.READ if closed and server.source == "user" else ToolKind.NET


class McpTool:
    """One tool of one server."""

    def __init__(
        self,
        running: Running,
        definition: Definition,
        *,
        is_trusted: Callable[[], bool],
        is_approved: Callable[[Definition], bool],
    ) -> None:
        self._running = running
        self._own = definition
        self._is_trusted = is_trusted
        self._is_approved = is_approved

    @property
    def server(self) -> Server:
        """Whose it is."""
        return self._running.server

    @property
    def own_name(self) -> str:
        """What its server calls it."""
        return self._own.name

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name=tool_name(self.server.name, self._own.name),
            description=f"[MCP server {clean(self.server.name, 64)}] {self._own.description}".strip(),
            input_schema=self._own.schema,
            kind=kind_of(self.server, self._own),
            requires_approval=self._own.destructive is True,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Call it; the server is started if it is not there."""
        arguments = msgspec.json.decode(call.input, type=dict[str, Any])
        if len(call.input) > LARGEST_INPUT:
            return failed(call, f"The input of {call.name} is larger than {LARGEST_INPUT:,} bytes.")
        if not await asyncio.to_thread(self._is_trusted):
            return failed(call, _UNTRUSTED.format(name=call.name))
        answer = await self._answer(context, call, arguments)
        if isinstance(answer, ToolResult):
            return answer
        changed = self.server.transport == "stdio" and self.definition.kind is not ToolKind.READ
        return await to_result(context, call, self.server, answer, changed=changed)

    async def _answer(self, context: ToolContext, call: ToolCall, arguments: dict[str, Any]) -> Any:
        for attempt in (1, 2):
            connection = await self._running.connected()
            if not await asyncio.to_thread(self._is_approved, self._own):
                return failed(call, _CHANGED.format(name=call.name, server=self.server.name))
            try:
                return await connection.call(self._own.name, arguments, _Progress(context))
            except AgiError as error:
                # A session the server does not know: nothing was done. After anything else something may have been.
                if error.code != "mcp_session_lost" or attempt == 2:
                    raise
                await connection.close()
        raise AssertionError("unreachable")


class _Progress:
    """Tells what a server says about its progress, until it is too much for a log."""

    def __init__(self, context: ToolContext) -> None:
        self._output = context.output
        self._left = STREAMED

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take one notification."""
        whole = f"/{total:g}" if total is not None else ""
        text = f"[{progress:g}{whole}] {clean(message or '', 500)}".rstrip() + "\n"
        if self._left > 0:
            self._left -= len(text)
            self._output("stdout", text)
