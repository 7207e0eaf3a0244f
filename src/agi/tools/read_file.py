"""read_file: show lines of a text file, strictly decoded. May import: errors, protocol, tools, workspace."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Annotated, BinaryIO

from msgspec import Meta, Struct

from agi.errors import NotFound
from agi.protocol import ids
from agi.protocol.parts import Json, Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult, failed
from agi.tools.base import ToolContext
from agi.tools.lines import MOST_SCANNED, Window, find_lines
from agi.tools.schema import input_schema, read_input
from agi.tools.text import decode
from agi.tools.threads import in_thread
from agi.workspace.digests import digest
from agi.workspace.handle import READ_LIMIT, Workspace

_QUICK = 1 << 20
_LAST = 1 << 62


class ReadFileInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which file, and which of its lines; both ends count."""

    path: Annotated[str, Meta(min_length=1, max_length=4096, description="File path relative to the workspace root.")]
    start_line: Annotated[int, Meta(ge=1, description="First line to show, from 1.")] | None = None
    end_line: Annotated[int, Meta(ge=1, description="Last line to show.")] | None = None


class ReadFileTool:
    """Shows a file, or a part of it."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="read_file",
            description="Read a UTF-8 text file: at most 2000 lines or 64 KiB at once; ask for more by line range.",
            input_schema=input_schema(ReadFileInput),
            kind=ToolKind.READ,
            aliases=("fs.read",),
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Read the lines asked for."""
        asked = read_input(call, ReadFileInput)
        first, last = asked.start_line or 1, asked.end_line or _LAST
        if last < first:
            return failed(call, f"end_line {last} lies before start_line {first}.")
        with _open(context, asked.path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > _QUICK:
                window = await in_thread(lambda _: find_lines(file, first, last))
            else:
                window = find_lines(file, first, last)
        if window is None:
            return failed(call, _out_of_reach(asked.path, first, size))
        self._remember(context, asked.path, size)
        return ToolResult(
            id=call.id,
            ok=True,
            parts=(Text(text=decode(asked.path, window.data, offset=window.offset) + _note(window, last)),),
            result=_facts(asked.path, window),
        )

    def _remember(self, context: ToolContext, path: str, size: int) -> None:
        """Note what the session has been shown, so that a change based on something older is noticed."""
        if context.seen is None or size > READ_LIMIT or not context.workspace.exists(path):
            return
        context.seen.note(context.workspace.locate(path), digest(context.workspace.read_bytes(path).data))


def _open(context: ToolContext, path: str) -> BinaryIO:
    """Open a file of the workspace, or one that an earlier result of this session named by its ref."""
    folder = context.artifact_ref.rpartition("/")[0]
    parts = path.split("/")
    if len(parts) == 3 and parts[0] == folder and ids.is_id(parts[1], ids.TURN):
        if not context.artifacts.parent.is_dir():
            raise NotFound(f"{path!r} does not exist.", hint="No output was kept in this session.")
        with Workspace.open(context.artifacts.parent) as artifacts:
            return artifacts.open_file(f"{parts[1]}/{parts[2]}")
    return context.workspace.open_file(path)


def _out_of_reach(path: str, first: int, size: int) -> str:
    if size > MOST_SCANNED:
        return f"Line {first} of {path!r} is not within its first {MOST_SCANNED} bytes; the file has {size} bytes."
    return f"{path!r} has no line {first}; it has {size} bytes."


def _note(window: Window, last: int) -> str:
    """Say what is missing, if not all that was asked for is shown."""
    if window.cut:
        return f"\n[line {window.first} is cut after {len(window.data)} bytes; the file has {window.size} bytes]"
    if window.last >= (last if window.total is None else min(last, window.total)):
        return ""
    whole = f"{window.total}" if window.total is not None else f"a file of {window.size} bytes"
    return f"[lines {window.first}-{window.last} of {whole}; ask for start_line={window.last + 1}]"


def _facts(path: str, window: Window) -> Json:
    facts: Json = {"path": path, "size": window.size, "start_line": window.first, "end_line": window.last}
    if window.total is not None:
        facts["total_lines"] = window.total
    return facts
