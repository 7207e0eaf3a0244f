"""Run a command for a tool: stream what it says, keep its two ends for the model, and a long output whole as a file.

May import: protocol, tools, workspace.
"""

from __future__ import annotations

import os

from msgspec import Struct

from agi.protocol.parts import Artifact
from agi.tools.base import ToolContext
from agi.tools.output import ArtifactFile
from agi.workspace.captured import Kept
from agi.workspace.children import Channel
from agi.workspace.processes import CommandResult, child_environment, run_command

SHOWN_LIMIT = 32 * 1024
"""How much of each channel the model is shown."""
STREAM_LIMIT = 1024 * 1024
"""How much of each channel is told as it comes; the log keeps all of that."""


class Ran(Struct, frozen=True, kw_only=True):
    """A command that ended: its text for the model, how it ended, and the files its output was kept in."""

    text: str
    result: CommandResult
    artifacts: tuple[Artifact, ...]

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, and well."""
        return self.result.exit_code == 0 and not self.result.timed_out


async def run_for_tool(context: ToolContext, command: str, *, cwd: str = ".", timeout_s: float) -> Ran:
    """Run a command in a folder of the workspace."""
    files: dict[Channel, ArtifactFile] = {}

    def spill(channel: Channel) -> ArtifactFile:
        files[channel] = ArtifactFile(context, f"{channel}.log")
        return files[channel]

    with context.workspace.pinned(cwd) as folder:
        result = await run_command(
            command,
            cwd=folder,
            timeout_s=timeout_s,
            env=child_environment(os.environ, os.getpid()),
            on_output=_Stream(context).tell,
            capture_limit=SHOWN_LIMIT,
            spill=spill,
        )
    text = _text(result, files, timeout_s)
    return Ran(text=text, result=result, artifacts=tuple(file.artifact() for file in files.values()))


class _Stream:
    """Passes output on until it is too much to keep in a log."""

    def __init__(self, context: ToolContext) -> None:
        self._output = context.output
        self._left: dict[Channel, int] = {"stdout": STREAM_LIMIT, "stderr": STREAM_LIMIT}

    def tell(self, channel: Channel, text: str) -> None:
        """Pass a piece on, or as much of it as still fits."""
        left = self._left[channel]
        if left <= 0:
            return
        self._left[channel] = left - len(text)
        self._output(channel, text[:left])
        if len(text) >= left:
            self._output(channel, "\n[what follows is not shown as it comes]\n")


def _text(result: CommandResult, files: dict[Channel, ArtifactFile], timeout_s: float) -> str:
    shown = [_channel(result.stdout, files.get("stdout"))]
    errors = _channel(result.stderr, files.get("stderr"))
    if errors:
        shown.append(f"[stderr]\n{errors}")
    shown.append(_ending(result, timeout_s))
    return "\n".join(part.removesuffix("\n") for part in shown if part)


def _channel(kept: Kept, file: ArtifactFile | None) -> str:
    if not kept.omitted_bytes:
        return kept.head
    where = ""
    if file is not None:
        what = "The first part of the output" if file.truncated else "The whole output"
        where = f" {what} can be read as {file.ref}."
    note = f"[{kept.omitted_bytes} bytes, {kept.omitted_lines} lines, are not shown here.{where}]"
    return f"{kept.head}\n{note}\n{kept.tail}"


def _ending(result: CommandResult, timeout_s: float) -> str:
    if result.timed_out:
        return (
            f"[stopped after {timeout_s:g} s, with its children; a command gets no input, so it must not ask for any]"
        )
    how = f"ended by {result.signal}" if result.signal else f"exit code {result.exit_code}"
    left = "; processes left in the background were ended" if result.leftovers else ""
    return f"[{how}{left}]"
