"""repo_tree: show the files of a folder and those below it as a tree. May import: protocol, tools, workspace."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct

from agi.protocol.parts import Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools.base import ToolContext
from agi.tools.output import printable
from agi.tools.schema import input_schema, read_input
from agi.tools.threads import in_thread
from agi.workspace.handle import Entry, Listing

MOST_ENTRIES = 1_000

_SIGNS = {"directory": "/", "symlink": "@", "file": "", "other": "|"}


class RepoTreeInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which folder, and how many levels of it."""

    path: Annotated[str, Meta(min_length=1, max_length=4096, description="Folder; the workspace root if absent.")] = "."
    depth: Annotated[int, Meta(ge=1, le=32, description="How many levels to show.")] = 3


class RepoTreeTool:
    """Shows what files there are."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="repo_tree",
            description="List files and folders as a tree, without dependencies, caches and version control data.",
            input_schema=input_schema(RepoTreeInput),
            kind=ToolKind.READ,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Walk the folder, nearest first, and draw what was found."""
        asked = read_input(call, RepoTreeInput)
        path = context.workspace.relative(asked.path)
        listing = await in_thread(lambda _: context.workspace.walk(path, depth=asked.depth, limit=MOST_ENTRIES))
        return ToolResult(
            id=call.id,
            ok=True,
            parts=(Text(text=printable(draw(path, listing))),),
            result={"path": path, "entries": len(listing.entries), "truncated": listing.truncated},
        )


def draw(path: str, listing: Listing) -> str:
    """Draw a listing: folders end in `/`, links in `@`, each level is set in by two blanks."""
    above = 0 if path == "." else path.count("/") + 1
    lines = [f"{path}/"]
    for entry in sorted(listing.entries, key=lambda entry: entry.name.split("/")):
        lines.append(_line(entry, above))
    if listing.truncated:
        lines.append(f"[only {len(listing.entries)} entries are shown; ask for a folder further down]")
    elif not listing.entries:
        lines.append("[nothing here]")
    return "\n".join(lines)


def _line(entry: Entry, above: int) -> str:
    parts = entry.name.split("/")
    return "  " * (len(parts) - above) + parts[-1] + _SIGNS[entry.kind]
