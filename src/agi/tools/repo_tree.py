"""repo_tree: show the files of a folder and those below it as a tree, without what git ignores.

Only as much is walked as is shown. What a rule ignores is shown all the same if git tracks it, as git itself would; git
is asked about that only where something is ignored. May import: errors, protocol, tools, workspace.
"""

from __future__ import annotations

import os
from collections import Counter
from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct

from agi.errors import AgiError
from agi.protocol.parts import Json, Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools.base import ToolContext
from agi.tools.output import printable
from agi.tools.schema import input_schema, read_input
from agi.tools.threads import in_thread
from agi.workspace.git import git
from agi.workspace.handle import Entry, Listing, Workspace
from agi.workspace.repository import repository_root, tracked_files
from agi.workspace.walking import walk_visible

MOST_ENTRIES = 1_000
_MOST_ASKED = 200
_MOST_NAMES = 64 << 20
"""Bytes of names that are taken from git."""

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
            description="List files and folders as a tree, without what .gitignore names, dependencies and caches.",
            input_schema=input_schema(RepoTreeInput),
            kind=ToolKind.READ,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Walk the folder, nearest first, and draw what was found."""
        asked = read_input(call, RepoTreeInput)
        path = context.workspace.relative(asked.path)
        listing = await _look(context.workspace, path, asked.depth)
        facts: Json = {"path": path, "entries": len(listing.entries), "truncated": listing.truncated}
        tracked = tracked_files(context.workspace.root) if path == "." else None
        if tracked is not None:
            facts["tracked_files"] = tracked
        text = printable(draw(path, listing, asked.depth, tracked))
        return ToolResult(id=call.id, ok=True, parts=(Text(text=text),), result=facts)


async def _look(workspace: Workspace, path: str, depth: int) -> Listing:
    ignored: list[str] = []

    def note(path: str, is_folder: bool) -> bool:
        ignored.append(path)
        return False

    listing = await in_thread(lambda _: walk_visible(workspace, path, depth=depth, limit=MOST_ENTRIES, kept=note))
    tracked = await _tracked(workspace, path, ignored) if ignored else None
    if tracked is None:
        return listing
    kept = tracked.has
    return await in_thread(lambda _: walk_visible(workspace, path, depth=depth, limit=MOST_ENTRIES, kept=kept))


class _Tracked:
    """Files that git tracks, as it names them: from the root, each between two NULs."""

    def __init__(self, names: bytes, above: str) -> None:
        self._names = b"\0" + names
        self._above = above

    def has(self, path: str, is_folder: bool) -> bool:
        """Whether a file is tracked, or one in a folder; `path` is named from the folder that is shown."""
        name = os.fsencode(f"{self._above}{path}")
        return b"\0" + name + (b"/" if is_folder else b"\0") in self._names


async def _tracked(workspace: Workspace, path: str, ignored: list[str]) -> _Tracked | None:
    """Ask git which of the ignored files it tracks; None if there are none, or it cannot be asked."""
    if repository_root(workspace.root) is None:
        return None
    try:
        above = "" if path == "." else f"{workspace.locate(path)}/"
        asked = [above + name for name in ignored] if len(ignored) <= _MOST_ASKED else [above or "."]
        answer = await git(workspace, "ls-files", "-z", "--", *asked, limit=_MOST_NAMES, reads_files=False)
    except (AgiError, OSError):
        return None
    return _Tracked(answer.output, above) if answer.exit_code == 0 and answer.output else None


def draw(path: str, listing: Listing, depth: int, tracked: int | None = None) -> str:
    """Draw a listing: folders end in `/`, links in `@`, each level is set in by two blanks; then what it adds up to."""
    lines = [f"{path}/"]
    for entry in sorted(listing.entries, key=lambda entry: entry.name.split("/")):
        lines.append(_line(entry))
    if listing.truncated:
        known = "" if tracked is None else f"; git tracks {_plural(tracked, 'file')} here"
        lines.append(f"[only {len(listing.entries)} entries are shown{known}; ask for a folder further down]")
    elif not listing.entries:
        lines.append("[nothing here]")
    else:
        lines.append(_total(listing, depth, tracked))
    return "\n".join(lines)


def _line(entry: Entry) -> str:
    parts = entry.name.split("/")
    return "  " * len(parts) + parts[-1] + _SIGNS[entry.kind]


def _total(listing: Listing, deepest: int, tracked: int | None) -> str:
    """How many files of which kind: what readers ask for most, and miscount."""
    files = [entry.name.rpartition("/")[2] for entry in listing.entries if entry.kind == "file"]
    folders = [entry.name for entry in listing.entries if entry.kind == "directory"]
    kinds = Counter(_kind(name) for name in files)
    named = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), key=lambda one: (-one[1], one[0])))
    told = f"Total: {_plural(len(files), 'file')}{f' ({named})' if named else ''}, {_plural(len(folders), 'folder')}"
    closed = any(name.count("/") + 1 == deepest for name in folders)
    known = "" if tracked is None else f" (git tracks {_plural(tracked, 'file')} in all)"
    return told + (f", not counting what lies deeper{known}" if closed else "")


def _kind(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    return f".{ending}" if dot and stem and ending else "other"


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"
