"""What the tools that ask git have in common: paths and revisions that are safe to pass on, and answers told plainly.

May import: errors, protocol, tools, workspace.
"""

from __future__ import annotations

import re

from agi.errors import Invalid, NotFound
from agi.protocol.parts import Json, Text
from agi.protocol.tools import ToolCall, ToolResult, failed
from agi.tools.base import ToolContext
from agi.tools.output import printable
from agi.workspace.git import GitResult, git
from agi.workspace.handle import Workspace
from agi.workspace.paths import refuse_reading
from agi.workspace.repository import repository_root

LIMIT = 8 << 20
"""Bytes of an answer that are taken."""
DIFF_OPTIONS = (
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--ignore-submodules=all",
    "--submodule=short",
    "--relative",
)
"""A change is shown in git's own plain form, by git itself, with paths from the workspace's root."""

_REVISION = re.compile(r"[^\s\-:\\?*\[\x00-\x1f\x7f][^\s:\\?*\[\x00-\x1f\x7f]*")


def safe_revision(name: str) -> str:
    """A revision as git may be told it; refuses what could be taken for an option, or names a file beside the path."""
    if not _REVISION.fullmatch(name):
        hint = "Name a commit, branch or tag, such as HEAD~2, main or v1.0; a file goes into `path`."
        raise Invalid(f"{name[:80]!r} is not a revision.", hint=hint, code="revision_invalid")
    return name


def safe_path(workspace: Workspace, path: str) -> str:
    """A path as git may be told it, whether or not something is there now; refused as by every other reader."""
    inside = workspace.relative(path)
    if inside != ".":
        refuse_reading(workspace.locate(path))
        refuse_reading(inside)
    return inside


async def ask(context: ToolContext, *args: str) -> GitResult:
    """Ask git; its complaints are the caller's to tell."""
    if repository_root(context.workspace.root) is None:
        raise NotFound("The workspace is not a git repository.", hint="There is no history.", code="not_a_repository")
    return await git(context.workspace, *args, limit=LIMIT)


def told(call: ToolCall, answer: GitResult, nothing: str, facts: Json, note: str = "") -> ToolResult:
    """Git's answer as a result; `nothing` is said where it says nothing."""
    if answer.timed_out:
        return failed(call, "git did not answer in time. Ask for less: one file, or fewer commits.")
    if answer.exit_code != 0 and not answer.truncated:
        return failed(call, f"git failed: {answer.stderr.strip()[:2000]}")
    text = printable(answer.stdout) or nothing
    if answer.truncated:
        note = f"[git says more than {LIMIT:,} bytes; ask for one file, or fewer commits]\n{note}"
    end = "\n" if note and not text.endswith("\n") else ""
    return ToolResult(id=call.id, ok=True, parts=(Text(text=f"{text}{end}{note}".removesuffix("\n")),), result=facts)
