"""search: find lines of the workspace's files. May import: errors, protocol, tools, workspace."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from agi.errors import Invalid, NotFound, WorkspaceError
from agi.protocol.parts import Json, Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult
from agi.tools import word_search
from agi.tools.base import ToolContext
from agi.tools.engines import find, narrowed
from agi.tools.matches import MOST_MATCHES, Found, Match, Query
from agi.tools.output import printable
from agi.tools.places import Place, placed
from agi.tools.schema import input_schema, read_input
from agi.tools.threads import in_thread
from agi.tools.word_search import Near, around

_AS_MUCH = 0.6
_FEW = 5


class SearchInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to look for, and where."""

    query: Annotated[str, Meta(min_length=1, max_length=10_000, description="Text to find, within one line.")]
    path: Annotated[str, Meta(min_length=1, max_length=4096, description="File or folder to search in.")] = "."
    glob: Annotated[str, Meta(max_length=1000, description="Only files that fit, such as *.py or !test_*.")] = ""
    regex: Annotated[bool, Meta(description="Take the query as a regular expression.")] = False
    context: Annotated[int, Meta(ge=0, le=20, description="How many lines to show around each match.")] = 0
    ignore_case: Annotated[bool, Meta(description="Take upper and lower case as equal.")] = False
    files_only: Annotated[bool, Meta(description="Name the files that have a match, not the lines.")] = False
    limit: Annotated[int, Meta(ge=1, le=2_000, description="How many matches to show.")] = MOST_MATCHES
    ignored: Annotated[bool, Meta(description="Also search files that .gitignore names.")] = False
    about: Annotated[
        str, Meta(max_length=2_000, description="What you want to know: lines with these words are shown as well.")
    ] = ""


class SearchTool:
    """Finds lines, with ripgrep where it is installed."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="search",
            description="Find lines in files; answers `path:line: text`. Case matters unless told. What .gitignore "
            "names is left out. Where nothing matches, lines with some of the words are shown and said to be no match.",
            input_schema=input_schema(SearchInput),
            kind=ToolKind.READ,
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Search with the better engine that is there."""
        asked = read_input(call, SearchInput)
        with placed(context, asked.path) as place:
            text, facts = await _answer(place, _query(place, asked), asked.about)
        return ToolResult(id=call.id, ok=True, parts=(Text(text=printable(text)),), result=facts)


async def _answer(place: Place, query: Query, about: str) -> tuple[str, Json]:
    """The lines that match, and where that helps those that come near."""
    workspace = place.workspace
    found = await find(workspace, query)
    near = Near()
    if about or not (found.matches or query.regex or query.files_only):
        # Beside true matches, only what is worth as much.
        enough = _AS_MUCH if found.matches else word_search.ENOUGH
        worth_it = await narrowed(workspace, query, about)
        near = await in_thread(lambda stop: word_search.search(workspace, worth_it, stop, about=about, enough=enough))
        found = _ranked(found, near)
    first = next(iter((*found.matches, *near.matches)), None) if about and not query.context else None
    beside = around(workspace, first)
    if place.above:
        found = replace(found, matches=_renamed(found.matches, place.above))
        near = replace(near, matches=_renamed(near.matches, place.above))
    return _shown(found, near, beside, query), _facts(found, near)


def _renamed(matches: Iterable[Match], above: str) -> tuple[Match, ...]:
    return tuple(replace(match, path=above + match.path) for match in matches)


def _query(place: Place, asked: SearchInput) -> Query:
    if "\n" in asked.query or "\0" in asked.query + asked.glob:
        raise Invalid("A query is one line without NUL characters.", hint="Search for one line of it.")
    workspace = place.workspace
    path = workspace.relative(place.path)
    if not workspace.exists(path):
        raise NotFound(f"{asked.path!r} does not exist.", hint="List the folder above it.", code="file_not_found")
    is_folder = workspace.is_dir(path)
    if is_folder and path != "." and workspace.locate(path).casefold().split("/")[-1] == ".agi":
        raise WorkspaceError("The folder .agi is not searched as a whole.", hint="Name a folder or file in it.")
    return Query(
        text=asked.query,
        path=path,
        is_folder=is_folder,
        glob=asked.glob,
        regex=asked.regex,
        ignore_case=asked.ignore_case,
        context=asked.context,
        files_only=asked.files_only,
        limit=asked.limit,
        ignored=asked.ignored,
    )


def _ranked(found: Found, near: Near) -> Found:
    """The matches with the best lines first, all others as they were; lines beside them keep them where they are."""
    if any(match.beside for match in found.matches):
        return found
    best = {(match.path, match.line): rank for rank, match in enumerate(near.matches)}
    order = sorted(found.matches, key=lambda match: best.get((match.path, match.line), len(best)))
    return replace(found, matches=tuple(order))


def _shown(found: Found, near: Near, beside: dict[int, str], query: Query) -> str:
    lines = _with_gaps(found) if query.context else [str(match) for match in found.matches]
    if found.truncated:
        what = "files" if query.files_only else "matches"
        lines.append(f"[only the first {query.limit} {what} are shown; narrow the search]")
    elif found.matches:
        lines.append(f"[{_count(found)}]")
    lines += _shown_near(found, near)
    if found.partial:
        lines.append(f"[not everything was searched: {found.partial}]")
    return "\n".join(_with_beside(lines, found, near, beside) if beside else lines or ["No matches."])


def _with_gaps(found: Found) -> list[str]:
    """Matches with the lines around them; a line of dashes stands where others lie between."""
    lines: list[str] = []
    last: Match | None = None
    for match in found.matches:
        if last is not None and (match.path, match.line) != (last.path, last.line + 1):
            lines.append("--")
        lines.append(str(match))
        last = match
    return lines


def _with_beside(lines: list[str], found: Found, near: Near, beside: dict[int, str]) -> list[str]:
    """Put the lines around the first match where they belong, set in and marked as no matches."""
    first = next(iter((*found.matches, *near.matches)))
    at = lines.index(str(first))
    before = [f"  {number}- {text}" for number, text in beside.items() if number < first.line]
    after = [f"  {number}- {text}" for number, text in beside.items() if number > first.line]
    return [*lines[:at], *before, lines[at], *after, *lines[at + 1 :]]


def _count(found: Found) -> str:
    lines = sum(not match.beside for match in found.matches)
    files = list(dict.fromkeys(match.path for match in found.matches))
    if not all(match.line for match in found.matches):
        return f"{len(files)} file{'s' * (len(files) != 1)}"
    named = f": {', '.join(files)}" if 1 < len(files) <= _FEW else ""
    return f"{lines} matching line{'s' * (lines != 1)} in {len(files)} file{'s' * (len(files) != 1)}{named}"


def _shown_near(found: Found, near: Near) -> list[str]:
    """What comes near, and that it is no match."""
    exact = {(match.path, match.line) for match in found.matches}
    others = [str(match) for match in near.matches if (match.path, match.line) not in exact]
    told = "other lines with such words" if exact else "no line has this text; lines with some of its words"
    lines = [f"[{told}, best first:]", *others] if others else []
    if near.paths and not exact:
        lines.append(f"[files with such a name: {', '.join(near.paths)}]")
    return lines


def _facts(found: Found, near: Near) -> Json:
    matches = sum(not match.beside for match in found.matches)
    facts: Json = {"matches": matches, "truncated": found.truncated or bool(found.partial)}
    if near.matches:
        facts["near"] = len(near.matches)
    return facts
