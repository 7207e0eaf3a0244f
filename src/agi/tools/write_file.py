"""write_file: create a file or replace it whole. May import: protocol, tools, workspace."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct

from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools.base import Preview, ToolContext
from agi.tools.schema import input_schema, read_input
from agi.workspace.handle import Workspace


class WriteFileInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which file, and all it shall hold."""

    path: Annotated[str, Meta(min_length=1, max_length=4096, description="File path relative to the workspace root.")]
    content: Annotated[str, Meta(max_length=8_000_000, description="The whole new content.")]


class WriteFileTool:
    """Writes a whole file."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="write_file",
            description="Create a file or replace its whole content; read one that is there first. "
            "To change parts of a file, use edit or apply_patch.",
            input_schema=input_schema(WriteFileInput),
            kind=ToolKind.WRITE,
            aliases=("fs.write",),
        )

    def propose(self, workspace: Workspace, call: ToolCall, after: Preview | None) -> Preview:
        """The change it would make."""
        from agi.tools.changes import proposed, writing  # late: the edit engine, which most one-shots do not need

        asked = read_input(call, WriteFileInput)
        return proposed(workspace, writing(asked.path, asked.content), after)

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Write the content, and show the change."""
        from agi.tools.changes import carried_out, writing  # late, as above

        asked = read_input(call, WriteFileInput)
        return await carried_out(context, call, lambda: writing(asked.path, asked.content))
