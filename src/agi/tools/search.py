"""search: find lines of the workspace's files. May import: errors, protocol, tools, workspace."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct

from agi.errors import Invalid, NotFound, WorkspaceError
from agi.protocol.parts import Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools import plain_search, ripgrep
from agi.tools.base import ToolContext
from agi.tools.matches import MOST_MATCHES, Found, Query
from agi.tools.output import printable
from agi.tools.schema import input_schema, read_input
from agi.tools.threads import in_thread


class SearchInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to look for, and where."""

    query: Annotated[str, Meta(min_length=1, max_length=10_000, description="Text to find, within one line.")]
    path: Annotated[str, Meta(min_length=1, max_length=4096, description="File or folder to search in.")] = "."
    glob: Annotated[str, Meta(max_length=1000, description="Only files that fit, such as *.py or !test_*.")] = ""
    regex: Annotated[bool, Meta(description="Take the query as a regular expression.")] = False


class SearchTool:
    """Finds lines, with ripgrep where it is installed."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="search",
            description="Find lines in files; answers `path:line: text`, at most 200. Case matters.",
            input_schema=input_schema(SearchInput),
            kind=ToolKind.READ,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Search with the better engine that is there."""
        asked = read_input(call, SearchInput)
        query = _query(context, asked)
        program = ripgrep.find_ripgrep(context.workspace)
        if program is not None:
            found = await ripgrep.search(context.workspace, program, query)
        elif query.regex:
            raise Invalid("Regular expressions need ripgrep, which is not installed.", hint="Search for a plain text.")
        else:
            found = await in_thread(lambda stop: plain_search.search(context.workspace, query, stop))
        return ToolResult(
            id=call.id,
            ok=True,
            parts=(Text(text=printable(_shown(found))),),
            result={"matches": len(found.matches), "truncated": found.truncated or bool(found.partial)},
        )


def _query(context: ToolContext, asked: SearchInput) -> Query:
    if "\n" in asked.query or "\0" in asked.query + asked.glob:
        raise Invalid("A query is one line without NUL characters.", hint="Search for one line of it.")
    workspace = context.workspace
    path = workspace.relative(asked.path)
    if not workspace.exists(path):
        raise NotFound(f"{asked.path!r} does not exist.", hint="List the folder above it.", code="file_not_found")
    is_folder = workspace.is_dir(path)
    if is_folder and path != "." and workspace.locate(path).casefold().split("/")[-1] == ".agi":
        raise WorkspaceError("The folder .agi is not searched as a whole.", hint="Name a folder or file in it.")
    return Query(text=asked.query, path=path, is_folder=is_folder, glob=asked.glob, regex=asked.regex)


def _shown(found: Found) -> str:
    lines = [str(match) for match in found.matches] or ["No matches."]
    if found.truncated:
        lines.append(f"[only the first {MOST_MATCHES} matches are shown; narrow the search]")
    if found.partial:
        lines.append(f"[not everything was searched: {found.partial}]")
    return "\n".join(lines)
