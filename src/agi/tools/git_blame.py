"""git_blame: who last changed each line of a file, and in which commit. May import: protocol, tools, workspace."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct

from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult, failed
from agi.tools.base import ToolContext
from agi.tools.git_asking import ask, safe_path, safe_revision, told
from agi.tools.schema import input_schema, read_input


class GitBlameInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which lines of which file; both ends count."""

    path: Annotated[str, Meta(min_length=1, max_length=4096, description="File path relative to the workspace root.")]
    start_line: Annotated[int, Meta(ge=1, description="First line, from 1.")] | None = None
    end_line: Annotated[int, Meta(ge=1, description="Last line.")] | None = None
    revision: Annotated[str, Meta(max_length=500, description="As of this revision; the file as it is if absent.")] = ""


class GitBlameTool:
    """Tells where lines come from."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="git_blame",
            description="Show for each line of a file the commit that last changed it, its author and date.",
            input_schema=input_schema(GitBlameInput),
            kind=ToolKind.READ,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Ask git, in a way that runs nothing of the repository's."""
        asked = read_input(call, GitBlameInput)
        first, last = asked.start_line or 1, asked.end_line
        if last is not None and last < first:
            return failed(call, f"end_line {last} lies before start_line {first}.")
        path = safe_path(context.workspace, asked.path)
        if not asked.revision:
            context.workspace.open_file(path).close()  # refused as by every other reader
        options = ["--no-textconv", "--no-progress", "--date=short", f"-L{first},{last or ''}"]
        revision = [safe_revision(asked.revision)] if asked.revision else []
        answer = await ask(context, "blame", *options, *revision, "--", path)
        if answer.exit_code and b"object name" in answer.errors:
            # Git quotes a file it cannot make sense of, and the repository's settings say which file that is.
            return failed(call, "git failed: the file that blame.ignoreRevsFile names is not a list of commits.")
        return told(call, answer, "[the file is empty]", {"path": path})
