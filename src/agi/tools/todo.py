"""todo: the agent's own list of what is to be done. May import: protocol, tools.

The list is kept nowhere but in the result, which is in the log: the last one is the list, also after a restart.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

from msgspec import Meta, Struct

from agi.protocol.parts import Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools.base import ToolContext
from agi.tools.schema import input_schema, read_input

Status = Literal["pending", "in_progress", "done"]

_SIGNS: dict[Status, str] = {"pending": " ", "in_progress": ">", "done": "x"}


class TodoItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something to do."""

    text: Annotated[str, Meta(min_length=1, max_length=500, description="What is to be done, in one line.")]
    status: Annotated[Status, Meta(description="How it stands.")] = "pending"


class TodoInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole list."""

    items: Annotated[
        tuple[TodoItem, ...],
        Meta(max_length=100, description="The whole list in order; it takes the place of the one before."),
    ]


class TodoTool:
    """Writes the list down."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="todo",
            description="Write down the steps of a longer task and how each stands; give the whole list every time. "
            "Keep one step in progress, and mark a step done as soon as it is.",
            input_schema=input_schema(TodoInput),
            kind=ToolKind.READ,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Show the list as it is now."""
        items = read_input(call, TodoInput).items
        done = sum(item.status == "done" for item in items)
        lines = [f"[{_SIGNS[item.status]}] {' '.join(item.text.split())}" for item in items]
        lines.append(f"{done} of {len(items)} done." if items else "The list is empty.")
        return ToolResult(
            id=call.id,
            ok=True,
            parts=(Text(text="\n".join(lines)),),
            result={"items": [{"text": item.text, "status": item.status} for item in items], "done": done},
        )
