"""apply_patch: change several files at once, all or nothing. May import: protocol, tools, workspace."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct

from agi.protocol.parts import Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools.base import ToolContext
from agi.tools.output import diff_artifact, printable
from agi.tools.patch_draft import Draft
from agi.tools.patch_envelope import parse_envelope
from agi.tools.schema import input_schema, read_input
from agi.workspace.handle import Workspace


class ApplyPatchInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A patch in the envelope form."""

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

    def preview(self, workspace: Workspace, call: ToolCall) -> str:
        """The change it would make, as a diff."""
        return _drafted(workspace, call).diff()

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Work everything out in memory, then change all files together."""
        draft = _drafted(context.workspace, call)
        # Nothing is awaited from the first read to the last rename: no other tool of this process comes between.
        context.workspace.replace_all(draft.changes())
        done = draft.described()
        return ToolResult(
            id=call.id,
            ok=True,
            parts=(Text(text=_report(done)),),
            result={"files": [{"path": printable(path), "change": _WORDS[letter]} for letter, path in done]},
            artifact=diff_artifact(context, draft.diff()),
            changed=True,
        )


def _drafted(workspace: Workspace, call: ToolCall) -> Draft:
    draft = Draft(workspace)
    for section in parse_envelope(read_input(call, ApplyPatchInput).patch):
        draft.take(section)
    return draft


def _report(done: list[tuple[str, str]]) -> str:
    if not done:
        return "Nothing to change: the files already are as the patch wants them."
    return printable("\n".join(["Changed:", *(f"{letter} {path}" for letter, path in done)]))


_WORDS = {"A": "added", "M": "modified", "D": "deleted", "R": "moved"}
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
header moves the file."""
