"""write_file: create a file or replace it whole. May import: errors, protocol, tools, workspace."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from msgspec import UNSET, Meta, Struct

from agi.errors import Invalid, NotFound
from agi.protocol.parts import Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools.base import ToolContext
from agi.tools.output import diff_artifact
from agi.tools.schema import input_schema, read_input
from agi.tools.text import decode
from agi.workspace.diffs import unified_diff
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
            description="Create a file or replace its whole content; to change parts of one, use apply_patch.",
            input_schema=input_schema(WriteFileInput),
            kind=ToolKind.WRITE,
            aliases=("fs.write",),
        )

    def preview(self, workspace: Workspace, call: ToolCall) -> str:
        """The change it would make, as a diff."""
        asked = read_input(call, WriteFileInput)
        existed, before = _text_before(workspace, asked.path)
        if existed and before is None:
            return ""
        return unified_diff(workspace.relative(asked.path), before, asked.content)

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Write the content, and show the change."""
        asked = read_input(call, WriteFileInput)
        data = asked.content.encode()
        existed, before = _text_before(context.workspace, asked.path)
        context.workspace.write_bytes(asked.path, data)
        path = context.workspace.relative(asked.path)
        comparable = before is not None or not existed
        verb = "Replaced" if existed else "Created"
        return ToolResult(
            id=call.id,
            ok=True,
            parts=(Text(text=f"{verb} {path} ({len(data)} bytes)."),),
            result={"path": path, "bytes": len(data)},
            artifact=diff_artifact(context, unified_diff(path, before, asked.content)) if comparable else UNSET,
            changed=True,
        )


def _text_before(workspace: Workspace, path: str) -> tuple[bool, str | None]:
    """Whether there was a file, and the text it held, if it was text of a size that can be compared."""
    try:
        read = workspace.read_bytes(path)
        return True, None if read.truncated else decode(path, read.data)
    except NotFound:
        return False, None
    except Invalid:
        return True, None
