"""git_show: a commit with its change, or a file as it was. May import: protocol, tools, workspace."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from agi.protocol.parts import Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools.base import ToolContext
from agi.tools.git_asking import DIFF_OPTIONS, ask, safe_path, safe_revision, told
from agi.tools.kinds import HEAD, hexdump, is_binary, kind_name
from agi.tools.schema import input_schema, read_input

_FORMAT = "--format=commit %H%nAuthor: %an%nDate: %ad%n%n%w(0,4,4)%B"


class GitShowInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which commit, or which file of it."""

    revision: Annotated[str, Meta(min_length=1, max_length=500, description="A commit, branch or tag.")]
    path: Annotated[
        str, Meta(min_length=1, max_length=4096, description="Show this file as it was there, not the change.")
    ] = "."


class GitShowTool:
    """Shows a commit, or a file of one."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="git_show",
            description="Show a commit: its message and its change; or with a path, that file as it was then.",
            input_schema=input_schema(GitShowInput),
            kind=ToolKind.READ,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Ask git, in a way that runs nothing of the repository's."""
        asked = read_input(call, GitShowInput)
        path = safe_path(context.workspace, asked.path)
        revision = safe_revision(asked.revision)
        facts: dict[str, object] = {"revision": revision, "path": path}
        if path == ".":
            commit = f"{revision}^{{commit}}"
            options = (*DIFF_OPTIONS, "--no-show-signature", "--date=iso", _FORMAT)
            answer = await ask(context, "show", *options, "--end-of-options", commit, "--", ".")
            return told(call, answer, "Nothing.", facts)
        # As a bare object, past filters and converters; the dot keeps it within the workspace.
        answer = await ask(context, "cat-file", "blob", f"{revision}:./{path}")
        result = told(call, answer, "[the file is empty there]", facts)
        if result.ok and is_binary(answer.output[:HEAD]):
            about = f"{kind_name(answer.output)}, {len(answer.output):,} bytes. It is no text; it begins:"
            return replace(result, parts=(Text(text=f"{path}: {about}\n{hexdump(answer.output)}"),))
        return result
