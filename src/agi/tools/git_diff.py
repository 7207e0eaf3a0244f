"""git_diff: what changed, in the working tree or between two revisions. May import: protocol, tools, workspace."""

from __future__ import annotations

import os
import re
from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct

from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools.base import ToolContext
from agi.tools.git_asking import DIFF_OPTIONS, ask, safe_path, safe_revision, told
from agi.tools.schema import input_schema, read_input
from agi.workspace.git import GitResult

_MOST_NEW = 20
_UNBORN = re.compile("(bad revision|ambiguous argument) 'HEAD'")


class GitDiffInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to compare."""

    path: Annotated[str, Meta(min_length=1, max_length=4096, description="Only this file or folder.")] = "."
    revision: Annotated[str, Meta(max_length=500, description="Compare with this; the last commit if absent.")] = ""
    to: Annotated[str, Meta(max_length=500, description="Compare the revision with this one, not with the files.")] = ""
    staged: Annotated[bool, Meta(description="Only what is staged for the next commit.")] = False
    stat: Annotated[bool, Meta(description="Only how many lines changed in each file.")] = False
    context: Annotated[int, Meta(ge=0, le=100, description="How many lines to show around each change.")] = 3


class GitDiffTool:
    """Shows changes."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="git_diff",
            description="Show what changed as a unified diff: the files against the last commit, or against a "
            "revision, or two revisions against each other.",
            input_schema=input_schema(GitDiffInput),
            kind=ToolKind.READ,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Ask git, in a way that runs nothing of the repository's."""
        asked = read_input(call, GitDiffInput)
        path = safe_path(context.workspace, asked.path)
        answer = await _diff(context, asked, path)
        note = "" if asked.to or asked.staged else await _new_files(context, path)
        return told(call, answer, "Nothing changed.", {"path": path, "changed": bool(answer.output)}, note)


async def _diff(context: ToolContext, asked: GitDiffInput, path: str) -> GitResult:
    options = [*DIFF_OPTIONS, f"--unified={asked.context}", *(["--stat=120"] if asked.stat else [])]
    options += ["--cached"] if asked.staged else []
    base = safe_revision(asked.revision) if asked.revision else "HEAD"
    revisions = [base, *([safe_revision(asked.to)] if asked.to else [])]
    answer = await ask(context, "diff", *options, "--end-of-options", *revisions, "--", path)
    if answer.exit_code and not asked.revision and _UNBORN.search(answer.stderr):
        return await ask(context, "diff", *options, "--", path)  # there is no commit yet
    return answer


async def _new_files(context: ToolContext, path: str) -> str:
    """Say which files git does not know yet: they are in no diff."""
    answer = await ask(context, "ls-files", "--others", "--exclude-standard", "-z", "--", path)
    names = [os.fsdecode(name) for name in answer.output.split(b"\0") if name]
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NEW:,} more" if len(names) > _MOST_NEW else ""
    return f"[not in the diff, since git does not track them: {', '.join(names[:_MOST_NEW])}{more}]"
