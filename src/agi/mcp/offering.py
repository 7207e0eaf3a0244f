"""Which of many tools a model is offered, and how it finds the others: `mcp_find_tool`. Within a cap, none forgotten.

May import: protocol, skills, tools, mcp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from agi.mcp.tool import McpTool
from agi.protocol.parts import Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools.base import ToolContext
from agi.tools.schema import input_schema, read_input

BYTES_A_TOKEN = 3
"""English takes about four; the cap is to hold for everything."""
MOST_FOUND = 8


class FindInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the tool should do."""

    query: Annotated[str, Meta(min_length=1, max_length=1_000, description="What the tool should do, in a few words.")]


def held_back(tools: Sequence[McpTool], *, most: int, most_tokens: int) -> tuple[str, ...]:
    """The tools there is no room for, by name. Each server gets its first tool before one gets its second."""
    left, room = most, most_tokens * BYTES_A_TOKEN
    back: list[str] = []
    for tool in _in_turns(tools):
        size = len(msgspec.json.encode(tool.definition))
        if left >= 1 and size <= room:
            left, room = left - 1, room - size
        else:
            back.append(tool.definition.name)
    return tuple(back)


def _in_turns(tools: Sequence[McpTool]) -> list[McpTool]:
    seen: dict[str, int] = {}
    order = []
    for tool in tools:
        seen[tool.server.name] = seen.get(tool.server.name, 0) + 1
        order.append((seen[tool.server.name], tool.server.name, tool))
    return [tool for *_, tool in sorted(order, key=lambda one: one[:2])]


class McpFindTool:
    """Finds tools that were held back, and has them offered from then on."""

    def __init__(self, tools: Sequence[ToolDefinition], offer: Callable[[Iterable[str]], None]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._offer = offer

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="mcp_find_tool",
            description=f"Find tools by what they do, among {len(self._tools):,} tools of MCP servers that are not "
            "listed here for want of room. What is found can be called by its name afterwards.",
            input_schema=input_schema(FindInput),
            kind=ToolKind.READ,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Rank them, show the best with their arguments, and offer those."""
        from agi.protocol.skills import Skill  # late: only a search needs it
        from agi.skills.ranking import ranked

        asked = read_input(call, FindInput)
        told = [
            Skill(name=one.name, description=one.description, source="user", path="") for one in self._tools.values()
        ]
        fitting = [one.name for one, score in ranked(told, asked.query) if score > 0][:MOST_FOUND]
        self._offer(fitting)
        lines = [_line(self._tools[name]) for name in fitting]
        text = "\n\n".join(lines) or f"None of {len(self._tools):,} tools fits. Try other words."
        return ToolResult(id=call.id, ok=True, parts=(Text(text=text),), result={"names": list(fitting)})


def _line(tool: ToolDefinition) -> str:
    return f"{tool.name}: {tool.description}\narguments: {msgspec.json.encode(tool.input_schema).decode()}"
