"""read_file: show lines of a text file, a picture, or what a file is that is neither.

Text is decoded as the edit tools decode it, so that what is shown is what they find. May import: editing, errors,
media, protocol, tools, workspace.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import Annotated, BinaryIO

from msgspec import Meta, Struct

from agi.editing.editorconfig import charset
from agi.editing.encodings import decode
from agi.editing.seen import Shown
from agi.errors import Invalid
from agi.media.pictures import MOST_PIXELS
from agi.protocol.parts import Image, Json, Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult, failed
from agi.tools.base import ToolContext
from agi.tools.fitting import Limits
from agi.tools.kinds import HEAD, Picture, hexdump, is_binary, kind_name, picture
from agi.tools.lines import MOST_BYTES, MOST_LINES, MOST_SCANNED, find_lines
from agi.tools.notebooks import notebook_text
from agi.tools.output import ArtifactFile
from agi.tools.pages import Page, fitting, page_of, split_lines
from agi.tools.places import Place, placed
from agi.tools.schema import input_schema, read_input
from agi.tools.threads import in_thread
from agi.workspace.digests import digest

WHOLE = 8 * 1024 * 1024
"""Up to this size a file is read whole: it may then be in any encoding, and its lines are counted."""
_QUICK = 1 << 20
_LAST = 1 << 62


class ReadFileInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which file, and which of its lines; both ends count."""

    path: Annotated[str, Meta(min_length=1, max_length=4096, description="File path relative to the workspace root.")]
    start_line: Annotated[int, Meta(ge=1, description="First line to show, from 1.")] | None = None
    end_line: Annotated[int, Meta(ge=1, description="Last line to show.")] | None = None


class ReadFileTool:
    """Shows a file, or a part of it."""

    limits = Limits(lines=MOST_LINES + 10, size=MOST_BYTES + 4096, line=MOST_BYTES + 200)
    """More than it shows: it has its own way of saying how to ask for the rest."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it."""
        return ToolDefinition(
            name="read_file",
            description="Read a file: text by lines (at most 2000 or 64 KiB at once; ask for more by line range), a "
            "notebook as text, a PNG, JPEG, GIF or WebP as a picture; also artifacts/… that a result named.",
            input_schema=input_schema(ReadFileInput),
            kind=ToolKind.READ,
            aliases=("fs.read",),
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Read what was asked for."""
        asked = read_input(call, ReadFileInput)
        if asked.end_line and asked.end_line < (asked.start_line or 1):
            return failed(call, f"end_line {asked.end_line} lies before start_line {asked.start_line}.")
        with placed(context, asked.path) as place, place.workspace.open_file(place.path) as file:
            reading = _Reading(context, call, asked, place, file)
            return await in_thread(lambda _: reading.answer()) if reading.size > _QUICK else reading.answer()


class _Reading:
    """One call: an open file, and what was asked about it."""

    def __init__(
        self, context: ToolContext, call: ToolCall, asked: ReadFileInput, place: Place, file: BinaryIO
    ) -> None:
        self._context = context
        self._call = call
        self._asked = asked
        self._place = place
        self._file = file
        self._first, self._last = asked.start_line or 1, asked.end_line or _LAST
        self.size = os.fstat(file.fileno()).st_size

    def answer(self) -> ToolResult:
        """Show it as what it is."""
        is_whole = self.size <= WHOLE
        data = self._file.read(WHOLE + 1 if is_whole else HEAD)
        if is_whole:
            self._note(data, Shown())
        if found := picture(data):
            return self._picture(found, data)
        if is_binary(data[:HEAD]):
            return self._binary(data)
        if not is_whole:
            return self._large()
        asked_for_lines = self._asked.start_line or self._asked.end_line
        if self._place.path.endswith(".ipynb") and not asked_for_lines and (text := notebook_text(data)):
            return self._result(f"[this notebook as text; its raw lines are shown if asked for by number]\n{text}", {})
        return self._lines(data)

    def _lines(self, data: bytes) -> ToolResult:
        text, encoding, note = self._decoded(data)
        page = page_of(text, self._first, self._last)
        if page is None:
            return failed(self._call, f"{self._asked.path!r} has no line {self._first}; it has {_count(text)}.")
        self._note(data, _shown(page, text))
        return self._page(page, note, encoding)

    def _note(self, data: bytes, shown: Shown) -> None:
        """Remember what the session knows of the file now."""
        if not self._place.above and self._context.seen is not None:
            self._context.seen.note(self._context.workspace.locate(self._place.path), digest(data), shown=shown)

    def _decoded(self, data: bytes) -> tuple[str, str, str]:
        """A text, its encoding, and what is to be said if it could not be read without loss."""
        path, configured = self._asked.path, ""
        try:
            text, encoding = decode(path, data)
        except Invalid as problem:
            if not self._place.above:
                configured = charset(self._place.workspace, self._place.workspace.locate(self._place.path))
            try:
                if not configured:
                    raise
                text, encoding = decode(path, data, configured)
            except Invalid:
                return _escaped(data), "", f"[{problem.message} Bytes that are no text are shown as \\xNN.]"
        return text, encoding.codec, ""

    def _large(self) -> ToolResult:
        """Some lines of a file that is not read whole; its encoding must be UTF-8."""
        self._file.seek(0)
        window = find_lines(self._file, self._first, self._last)
        if window is None:
            reach = f"is not within its first {MOST_SCANNED:,} bytes" if self.size > MOST_SCANNED else "is not there"
            return failed(self._call, f"Line {self._first} of {self._asked.path!r} {reach}; it has {self.size} bytes.")
        try:
            text, note = window.data.decode().replace("\0", "\\x00"), ""
        except UnicodeDecodeError:
            text, note = _escaped(window.data), "[Bytes that are not UTF-8 are shown as \\xNN.]"
        page = fitting(split_lines(text), window.first, window.total, alone=window.first == window.last)
        return self._page(page, note or ("[this line goes on]" if window.cut else ""), "")

    def _page(self, page: Page, note: str, encoding: str) -> ToolResult:
        facts: Json = {"start_line": page.first, "end_line": page.last}
        if page.total is not None:
            facts["total_lines"] = page.total
        if encoding not in ("", "utf-8"):
            facts["encoding"] = encoding
        notes = "\n".join(filter(None, (note, *self._remarks(page))))
        end = "\n" if notes and page.text and not page.text.endswith("\n") else ""
        return self._result(page.text + end + notes, facts)

    def _remarks(self, page: Page) -> tuple[str, str]:
        """Say what is missing, if not all that was asked for is shown."""
        alone = self._first == self._last
        cut = "[ask for a long line alone, by its number, to see more of it]" if page.cut and not alone else ""
        if page.last >= (self._last if page.total is None else min(self._last, page.total)):
            return cut, ""
        whole = f"{page.total}" if page.total is not None else f"a file of {self.size} bytes"
        return cut, f"[lines {page.first}-{page.last} of {whole}; ask for start_line={page.last + 1}]"

    def _picture(self, found: Picture, data: bytes) -> ToolResult:
        size = f"{found.width} × {found.height} pixels, " if found.width else ""
        told = f"{self._asked.path}: {found.name} picture, {size}{self._bytes}."
        if self.size > WHOLE or found.width * found.height > MOST_PIXELS:
            return self._result(f"{told} It is too large to be shown.", {"mime": found.mime})
        file = ArtifactFile(self._context, f"picture.{found.name.lower()}", mime=found.mime)
        file.write(data)
        file.close()
        return ToolResult(
            id=self._call.id,
            ok=True,
            parts=(Text(text=told), Image(ref=file.ref, mime_type=found.mime)),
            result={"path": self._asked.path, "size": self.size, "mime": found.mime},
            artifact=file.artifact(),
            artifacts=(file.ref,),
        )

    def _binary(self, data: bytes) -> ToolResult:
        kind = kind_name(data)
        text = f"{self._asked.path}: {kind}, {self._bytes}. It is no text; it begins:\n{hexdump(data)}"
        return self._result(text, {"kind": kind})

    @property
    def _bytes(self) -> str:
        return f"{self.size:,} bytes"

    def _result(self, text: str, facts: Json) -> ToolResult:
        facts = {"path": self._asked.path, "size": self.size, **facts}
        return ToolResult(id=self._call.id, ok=True, parts=(Text(text=text),), result=facts)


def _escaped(data: bytes) -> str:
    return data.decode(errors="backslashreplace").replace("\0", "\\x00")


def _shown(page: Page, text: str) -> Shown:
    """Which lines of a text a page shows whole."""
    if not page.cut:
        return Shown([range(page.first - 1, page.last)], page.total)
    pairs = zip(split_lines(page.text), split_lines(text)[page.first - 1 :], strict=False)
    whole = [range(at, at + 1) for at, (line, own) in enumerate(pairs, page.first - 1) if line == own]
    return Shown(whole, page.total)


def _count(text: str) -> str:
    lines = len(split_lines(text))
    return f"{lines:,} line{'s' * (lines != 1)}"
