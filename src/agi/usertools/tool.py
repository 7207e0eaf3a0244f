"""A tool of the project's own, as one of the tools: it is code, so it is judged as a command, and run like one.

What runs is what was trusted: the text that was read then, if the workspace is still trusted now. May import: errors,
protocol, sandbox, tools, workspace, usertools.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import UNSET, Raw, Struct

from agi.protocol.parts import Artifact, Json, Text
from agi.protocol.tools import ToolCall, ToolDefinition, ToolKind, ToolResult, failed
from agi.tools.base import ToolContext
from agi.tools.fitting import Limits as Shown
from agi.tools.limiter import Limiter
from agi.usertools.base import FOLDER, DeclaredKind, Found
from agi.usertools.cells import cell_to_run
from agi.usertools.describing import Described
from agi.usertools.talking import Limits, Spoken, talk
from agi.workspace.children import Channel

LARGEST_INPUT = 4 << 20
LARGEST_ANSWER = 16 << 20
MOST_OUTPUT = 1 << 30
STREAMED = 1 << 20
"""How much of each channel is told as it comes; the log keeps all of that."""
_SHOWN = Shown(lines=1_000, size=32 * 1024)
_CHANGED = (
    "{name} was not run: the workspace is no longer trusted as it is. A file that trust is about has changed. "
    "The user can look at it and trust it again with `agi trust`."
)

_OFFLINE = " There is no network in the sandbox (sandbox.network, sandbox.hosts)."


class _Answer(Struct, frozen=True, kw_only=True):
    """What comes from inside."""

    ok: bool
    value: Raw = Raw(b"null")
    message: str = ""
    hint: str = ""


class UserTool:
    """One tool of `.agi/tools`."""

    limits = Shown(lines=2_100, size=68 * 1024, line=4_000)

    def __init__(self, found: Found, described: Described, root: Path, is_trusted: Callable[[], bool]) -> None:
        self._found = found
        self._described = described
        self._root = root
        self._is_trusted = is_trusted

    @property
    def declared(self) -> DeclaredKind:
        """What its author says it does."""
        return self._described.kind

    @cached_property
    def definition(self) -> ToolDefinition:
        """How the model and the policy see it: as something that runs a program, whatever its author says.

        One that declares `network` asks always: rules about network and about commands would both have to be free.
        """
        return ToolDefinition(
            name=self._found.name,
            description=self._found.prompt or self._described.doc,
            input_schema=self._described.schema,
            kind=ToolKind.EXEC,
            requires_approval=self.declared == "network",
        )

    async def invoke(self, context: ToolContext, call: ToolCall) -> ToolResult:
        """Run it in its cell; the model gets what it returns, or else what it printed."""
        msgspec.json.decode(call.input, type=dict[str, object])
        if len(call.input) > LARGEST_INPUT:
            return failed(call, f"The input of {call.name} is larger than {LARGEST_INPUT:,} bytes.")
        if not await asyncio.to_thread(self._is_trusted):
            return failed(call, _CHANGED.format(name=call.name))
        ears = _Ears(context)
        limits = Limits(seconds=self._described.timeout_seconds, output=MOST_OUTPUT, answer=LARGEST_ANSWER + 1024)
        cell = cell_to_run(context.cell, self.declared)
        with context.workspace.pinned() as folder:
            spoken = await talk(self._request(call), cwd=folder, cell=cell, limits=limits, on_bytes=ears.hear)
        confined = cell is not None and cell.rung.confines
        offline = confined and cell is not None and cell.confinement.network == "off"
        hint = _OFFLINE if self.declared == "network" and offline else ""
        return self._result(call, spoken, limits, ears, changed=self.declared != "read" or not confined, hint=hint)

    def _request(self, call: ToolCall) -> bytes:
        return msgspec.json.encode(
            {
                "do": "call",
                "name": self._found.name,
                "folder": f"{self._root}/{FOLDER}/{self._found.name}",
                "sources": self._found.sources,
                "input": call.input,
            }
        )

    def _result(
        self, call: ToolCall, spoken: Spoken, limits: Limits, ears: _Ears, *, changed: bool, hint: str
    ) -> ToolResult:
        answer = _read(spoken)
        error = "" if answer and answer.ok else _error(answer, spoken, limits, self._found.name) + hint
        returned = _text(answer.value) if answer and not error else ""
        printed, files = ears.shown()
        shows_printed = bool(error) or not returned
        texts = [returned, error, printed if shows_printed else ""]
        notes = [f"[{note}]" for note in spoken.notes if answer is not None]
        facts: Json = {"exit_code": spoken.exit_code, "timed_out": spoken.timed_out}
        if answer and not error and len(answer.value) <= LARGEST_ANSWER:
            facts = {"value": msgspec.json.decode(answer.value)}
        return ToolResult(
            id=call.id,
            ok=not error,
            parts=(Text(text="\n".join(text for text in (*texts, *notes) if text) or "Done; it returned nothing."),),
            error=error,
            result=facts,
            artifact=files[0] if files and shows_printed else UNSET,
            artifacts=tuple(file.path for file in files),
            changed=changed,
        )


def _read(spoken: Spoken) -> _Answer | None:
    """The answer, if one came that can be read; one that came too late or after too much printing counts."""
    try:
        return msgspec.json.decode(spoken.answer, type=_Answer) if spoken.answer else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _error(answer: _Answer | None, spoken: Spoken, limits: Limits, name: str) -> str:
    if answer is not None:
        return " ".join(text for text in (answer.message, answer.hint) if text)
    late = f" Its time is `timeout_seconds` of @tool in {FOLDER}/{name}/tool.py." if spoken.timed_out else ""
    return f"{name} failed: {spoken.ending(limits)}.{late}"


def _text(value: Raw) -> str:
    """What a tool returned, for a model: text as it is, everything else as JSON, nothing as nothing."""
    returned = msgspec.json.decode(value)
    if returned is None:
        return ""
    return returned if isinstance(returned, str) else msgspec.json.format(bytes(value), indent=2).decode()


class _Ears:
    """Passes on what is printed, until it is too much for a log, and keeps its two ends."""

    def __init__(self, context: ToolContext) -> None:
        self._output = context.output
        self._left: dict[Channel, int] = {"stdout": STREAMED, "stderr": STREAMED}
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {"stdout": decoder("replace"), "stderr": decoder("replace")}
        self._limiters: dict[Channel, Limiter] = {
            "stdout": Limiter(context, "stdout.log", _SHOWN),
            "stderr": Limiter(context, "stderr.log", _SHOWN),
        }

    def hear(self, channel: Channel, data: bytes) -> None:
        """Take the next bytes."""
        self._limiters[channel].add(data)
        left = self._left[channel]
        if left <= 0:
            return
        text = self._decoders[channel].decode(data)
        self._left[channel] = left - len(text)
        if text:
            self._output(channel, text[:left])
        if len(text) >= left:
            self._output(channel, "\n[what follows is not shown as it comes]\n")

    def shown(self) -> tuple[str, tuple[Artifact, ...]]:
        """Both channels as text, and the files that hold what is left out."""
        out, err = self._limiters["stdout"].finish(), self._limiters["stderr"].finish()
        texts = [out.text, f"[stderr]\n{err.text}" if err.text else ""]
        files = tuple(one for one in (out.artifact, err.artifact) if one)
        return "\n".join(text.removesuffix("\n") for text in texts if text), files
