"""edit: replace a piece of text in a file. May import: protocol, tools, workspace."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools.base import Preview, ToolContext
from agi.tools.schema import input_schema, read_input
from agi.workspace.handle import Workspace

if TYPE_CHECKING:
    from agi.tools.changes import Operation


class EditInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which file, which text of it, and what takes its place."""

    path: Annotated[str, Meta(min_length=1, max_length=4096, description="File path relative to the workspace root.")]
    old_text: Annotated[
        str, Meta(min_length=1, max_length=4_000_000, description="Text the file holds, exactly; it must be unique.")
    ]
    new_text: Annotated[str, Meta(max_length=4_000_000, description="The text to put in its place; may be empty.")]
    replace_all: Annotated[bool, Meta(description="Replace it everywhere in the file.")] = False


class EditTool:
    """Replaces text in one file."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="edit",
            description="Replace a piece of text in a file; it must stand there exactly once, or set replace_all.",
            input_schema=input_schema(EditInput),
            kind=ToolKind.WRITE,
        )

    def propose(self, workspace: Workspace, call: ToolCall, after: Preview | None) -> Preview:
        """The change it would make."""
        from agi.tools.changes import proposed  # late: the edit engine, which most one-shots do not need

        return proposed(workspace, _operation(read_input(call, EditInput)), after)

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Find the text and replace it."""
        from agi.tools.changes import carried_out  # late, as above

        asked = read_input(call, EditInput)
        return await carried_out(context, call, lambda: _operation(asked))


def _operation(asked: EditInput) -> Operation:
    from agi.tools.changes import editing  # late, as above

    return editing(asked.path, asked.old_text, asked.new_text, everywhere=asked.replace_all)
