"""apply_patch: change several files at once, all or nothing. May import: protocol, tools, workspace."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct

from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools.base import Preview, ToolContext
from agi.tools.schema import input_schema, read_input
from agi.workspace.handle import Workspace


class ApplyPatchInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A patch in the envelope form, or a unified diff."""

    patch: Annotated[str, Meta(min_length=1, max_length=8_000_000, description="The whole patch.")]


class ApplyPatchTool:
    """Applies a patch to the workspace's files."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="apply_patch",
            description=_DESCRIPTION,
            input_schema=input_schema(ApplyPatchInput),
            kind=ToolKind.WRITE,
        )

    def propose(self, workspace: Workspace, call: ToolCall, after: Preview | None) -> Preview:
        """The change it would make."""
        from agi.tools.changes import patching, proposed  # late: the edit engine, which most one-shots do not need

        return proposed(workspace, patching(workspace, read_input(call, ApplyPatchInput).patch), after)

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Work everything out in memory, then change all files together."""
        from agi.tools.changes import carried_out, patching  # late, as above

        patch = read_input(call, ApplyPatchInput).patch
        return await carried_out(context, call, lambda: patching(context.workspace, patch))


_DESCRIPTION = """Change files with a patch; all files change or none does. Form:
*** Begin Patch
*** Update File: src/a.py
@@ def f():
 a kept line
-a removed line
+an added line
*** Add File: src/b.py
+its content
*** Delete File: src/c.py
*** End Patch
Give about three kept lines around a change; '@@ <line>' names a line above it. '*** Move to: <path>' after an Update \
header moves the file. A unified diff is taken as well."""
