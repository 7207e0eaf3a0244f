"""The one limiter of results: what is too long for a model is shown by its two ends, counted, and kept whole as a file.

Every result goes through it, whoever made it: see `Registry.invoke`. For what comes in pieces there is `Limiter`, whose
memory stays bounded however much comes. May import: protocol, tools.fitting, tools.output, tools.threads, workspace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Struct

from agi.protocol.parts import Artifact, Json, Text
from agi.protocol.tools import ToolResult
from agi.tools.fitting import LIMITS, Fitted, Limits, fit
from agi.tools.output import ArtifactFile, printable
from agi.tools.threads import in_thread
from agi.workspace.captured import Capture, Kept

if TYPE_CHECKING:
    from agi.tools.base import ToolContext

MOST_FILES = 20
"""How many pictures and other files a result may show."""
LONGEST_ERROR = 4_000
LARGEST_FACTS = 256 * 1024
"""How many bytes of JSON a result may hold for programs."""

_ENDS = 1 << 20
"""How much of a long text is looked at: enough to find lines that fit among very long ones."""


class Limited(Struct, frozen=True, kw_only=True):
    """A text as it is shown, with its note; the file that holds all of it, if something is missing."""

    text: str
    artifact: Artifact | None = None


class Limiter:
    """Takes a text as it comes; most of it goes to a file, if it is long."""

    def __init__(self, context: ToolContext, name: str = "output.txt", limits: Limits = LIMITS) -> None:
        self._context = context
        self._name = name
        self._limits = limits
        self._file: ArtifactFile | None = None
        self._capture = Capture(_ENDS, self._open)

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self._capture.add(data)

    def finish(self) -> Limited:
        """Say what is to be shown; no more will come."""
        kept = self._capture.finish()
        fitted = fit(kept, self._limits)
        if fitted.size and self._file is None and not kept.omitted_bytes:
            self._keep(kept.head)
        text = noted(fitted, self._file)
        return Limited(text=text, artifact=self._file.artifact() if self._file else None)

    def _open(self) -> ArtifactFile:
        self._file = ArtifactFile(self._context, self._name)
        return self._file

    def _keep(self, text: str) -> None:
        try:
            file = self._open()
        except OSError:
            return  # a full disk must not fail the call; the two ends are still shown
        try:
            file.write(text.encode())
        finally:
            file.close()


def noted(fitted: Fitted, file: ArtifactFile | None) -> str:
    """What is shown of a text, and a note where something is missing: how much, and where it can be read."""
    if not fitted.size:
        return fitted.head
    if not fitted.lines:
        whole = fitted.head + fitted.tail
        return f"{_ended(whole)}[{_count(fitted.cut, 'long line')} cut: {fitted.size:,} bytes left out{_where(file)}]"
    note = f"[{_count(fitted.lines, 'line')}, {fitted.size:,} bytes left out{_where(file, fitted.first)}]"
    return f"{_ended(fitted.head)}{note}\n{fitted.tail}"


def _where(file: ArtifactFile | None, first: int = 0) -> str:
    if file is None:
        return ""
    line = f" from start_line={first}" if first else ""
    part = f", which holds the first {file.artifact().size:,} bytes," if file.truncated else ""
    return f"; read them with read_file on {file.ref}{part}{line}"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'s' * (number != 1)}"


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


async def limited(context: ToolContext, result: ToolResult, limits: Limits = LIMITS) -> ToolResult:
    """A result as it may go into the log and to a model."""
    texts = [part.text for part in result.parts if isinstance(part, Text)]
    if sum(map(len, texts)) > _ENDS:
        return await in_thread(lambda _: _limited(context, result, texts, limits))
    return _limited(context, result, texts, limits)


def _limited(context: ToolContext, result: ToolResult, texts: list[str], limits: Limits) -> ToolResult:
    text = printable(texts[0] if len(texts) == 1 else "\n".join(texts))
    fitted = fit(_ends_of(text), limits)
    files = [part for part in result.parts if not isinstance(part, Text)]
    changes: dict[str, object] = {}
    if fitted.size:
        # What a tool cut itself is whole in a file of its own already.
        file = None if result.artifacts else _stored(context, text)
        changes["parts"] = (Text(text=noted(fitted, file)), *files[:MOST_FILES])
        if file is not None:
            changes["artifacts"] = (file.ref,)
            changes["artifact"] = file.artifact() if result.artifact is UNSET else result.artifact
    elif len(files) > MOST_FILES or [text] != texts:
        changes["parts"] = (*([Text(text=text)] if texts else []), *files[:MOST_FILES])
    if len(result.error) > LONGEST_ERROR:
        changes["error"] = result.error[:LONGEST_ERROR] + " [cut]"
    if (facts := _limited_facts(result)) is not None:
        changes["result"] = facts
    return msgspec.structs.replace(result, **changes) if changes else result


def _ends_of(text: str) -> Kept:
    """The two ends of a very long text, so that its lines need not all be taken apart."""
    half = _ENDS // 2
    if len(text) <= _ENDS:
        return Kept(text)
    middle = text[half:-half]
    return Kept(text[:half], text[-half:], len(middle.encode()), middle.count("\n"))


def _stored(context: ToolContext, text: str) -> ArtifactFile | None:
    try:
        file = ArtifactFile(context, "output.txt")
    except OSError:
        return None
    try:
        for at in range(0, len(text), _ENDS):
            file.write(text[at : at + _ENDS].encode())
    finally:
        file.close()
    return file


def _limited_facts(result: ToolResult) -> Json | None:
    """Something small in the place of facts that are too large; None if they are not."""
    if result.result is UNSET or len(result.result) == 0:
        return None
    size = len(msgspec.json.encode(result.result))
    return {"left_out_bytes": size} if size > LARGEST_FACTS else None
