"""git_log: the commits, newest first. May import: protocol, tools, workspace."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct

from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools.base import ToolContext
from agi.tools.git_asking import DIFF_OPTIONS, ask, safe_path, safe_revision, told
from agi.tools.schema import input_schema, read_input


class GitLogInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which commits."""

    path: Annotated[str, Meta(min_length=1, max_length=4096, description="Only those that changed this.")] = "."
    revision: Annotated[
        str, Meta(max_length=500, description="From here back, or a range such as main..HEAD; HEAD if absent.")
    ] = ""
    query: Annotated[str, Meta(max_length=1000, description="Only those whose message has this text.")] = ""
    changed: Annotated[str, Meta(max_length=1000, description="Only those that added or removed this text.")] = ""
    limit: Annotated[int, Meta(ge=1, le=500, description="How many to show.")] = 20


class GitLogTool:
    """Shows the history."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="git_log",
            description="List commits, newest first: hash, date, author, first line of the message.",
            input_schema=input_schema(GitLogInput),
            kind=ToolKind.READ,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Ask git, in a way that runs nothing of the repository's."""
        asked = read_input(call, GitLogInput)
        path = safe_path(context.workspace, asked.path)
        options = [*DIFF_OPTIONS, "--no-show-signature", "--date=short", "--format=%h %ad %an: %s"]
        options.append(f"--max-count={asked.limit}")
        options += [f"--grep={asked.query}", "--fixed-strings", "--regexp-ignore-case"] if asked.query else []
        options += [f"-S{asked.changed}"] if asked.changed else []
        if path != "." and not context.workspace.is_dir(path):
            options.append("--follow")
        revision = safe_revision(asked.revision) if asked.revision else "HEAD"
        answer = await ask(context, "log", *options, "--no-patch", "--end-of-options", revision, "--", path)
        count = answer.output.count(b"\n")
        note = f"[the newest {count}; ask for a larger limit to see more]" if count == asked.limit else ""
        return told(call, answer, "No commits.", {"path": path, "commits": count}, note)
