"""Run a command for a tool: stream what it says, show its two ends, keep a long output as a file, notice questions.

A command that somebody waits for ends by itself, when time is up, when it waits for a person, or goes on in the
background. May import: errors, jobs, protocol, tools, workspace.
"""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from agi.errors import AgiError
from agi.jobs.base import Wanted
from agi.jobs.prompts import LOOKED_AT, Attention, question_at_end, wanted_input
from agi.jobs.running import LONGEST_S, Launch, OnOutput, Running
from agi.jobs.survivors import MARKER
from agi.protocol.ids import JOB, new_id
from agi.protocol.jobs import Job
from agi.protocol.parts import Artifact
from agi.tools.base import ToolContext
from agi.tools.fitting import Limits
from agi.tools.limiter import Limiter
from agi.tools.output import ArtifactFile
from agi.workspace.captured import Kept
from agi.workspace.children import Channel
from agi.workspace.processes import CommandResult, child_environment, run_command

SHOWN = Limits(lines=1_000, size=32 * 1024)
"""How much of each channel the model is shown."""
STREAM_LIMIT = 1024 * 1024
"""How much of each channel is told as it comes; the log keeps all of that."""
LOOK_S = 2.5
"""How often a command that runs is looked at."""


class _Ending(Struct, frozen=True, kw_only=True):
    """Why a command is no longer waited for."""

    why: Literal["over", "time", "question", "moved"]
    question: str = ""
    job: Job | None = None


class Ran(Struct, frozen=True, kw_only=True):
    """A command that ended or was moved: its text for the model, how it ended, the files its output was kept in."""

    text: str
    result: CommandResult
    artifacts: tuple[Artifact, ...]
    question: str = ""
    """What it was waiting for a person with, if that is why it was stopped."""
    job: Job | None = None
    """What it runs on as, in the background."""

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, and well, or runs on."""
        return self.job is not None or (self.result.exit_code == 0 and not self.result.timed_out)


def launcher(context: ToolContext, wanted: Wanted, timeout_s: float = LONGEST_S) -> Launch:
    """How a command is started: in its folder, with a clean environment, marked with the id it has as a job."""

    async def launch(on_output: OnOutput) -> CommandResult:
        env = child_environment(os.environ, os.getpid())
        with context.workspace.pinned(wanted.cwd) as folder:
            return await run_command(
                wanted.command,
                cwd=folder,
                timeout_s=timeout_s,
                env={**env, MARKER: wanted.id},
                on_output=on_output,
                cell=context.cell,
            )

    return launch


async def run_for_tool(
    context: ToolContext, command: str, *, cwd: str = ".", timeout_s: float, call_id: str = ""
) -> Ran:
    """Run a command in a folder of the workspace; with the id of its call it can be moved to the background."""
    wanted = Wanted(id=new_id(JOB), command=command, cwd=cwd, tool_call_id=call_id)
    ears = _Ears(context)
    running = Running(launcher(context, wanted), ears.hear)
    movable = context.jobs.foreground(wanted, running) if context.jobs and call_id else nullcontext()
    try:
        with movable:
            ending = await _attend(context, wanted, running, timeout_s)
    except BaseException:
        await running.end()
        ears.shown()  # nobody looks at it, but the files that hold the rest are closed
        raise
    if ending.why in ("time", "question"):
        await running.end()
    return _ran(ears, running, ending, timeout_s)


async def _attend(context: ToolContext, wanted: Wanted, running: Running, timeout_s: float) -> _Ending:
    """Wait until nothing more is to be waited for."""
    attention = Attention(running.output)
    while True:
        left = timeout_s - running.seconds
        await running.over_or_moved_within(max(0.0, min(LOOK_S, left)))
        if running.is_over:
            return _Ending(why="over")
        if running.asked_to_move.is_set() and (job := await _move(context, wanted, running)) is not None:
            return _Ending(why="moved", job=job)
        if question := attention.question():
            return _Ending(why="question", question=question)
        if running.seconds >= timeout_s:
            return _Ending(why="time")


async def _move(context: ToolContext, wanted: Wanted, running: Running) -> Job | None:
    """Let it run on as a job; None if there is no room for another."""
    running.asked_to_move.clear()
    if context.jobs is None:
        return None
    file = JobFile(context)
    try:
        job = await context.jobs.start(replace(wanted, output=file.ref, moved=True), lambda: file.keep(running))
    except AgiError as error:
        file.drop()
        context.jobs.moved(wanted, error)
        return None
    running.hush()
    context.jobs.moved(wanted, job)
    return job


class JobFile:
    """Where a job's output is kept; nowhere, if there is no room for it."""

    def __init__(self, context: ToolContext) -> None:
        self._file: ArtifactFile | None = None
        with suppress(OSError):
            self._file = ArtifactFile(context, "job.log")
        self.ref = self._file.ref if self._file else ""
        self._path = context.artifacts / self.ref.rpartition("/")[2]

    def keep(self, running: Running) -> Running:
        """Keep what a command says from here on."""
        if self._file is not None:
            running.output.keep_in(self._file, self._path)
        return running

    def drop(self) -> None:
        """Nothing will come."""
        if self._file is not None:
            self._file.close()
            self._path.unlink(missing_ok=True)


class _Ears:
    """Passes output on until it is too much to keep in a log, and keeps what is shown in the end."""

    def __init__(self, context: ToolContext) -> None:
        self._output = context.output
        self._left: dict[Channel, int] = {"stdout": STREAM_LIMIT, "stderr": STREAM_LIMIT}
        self._limiters: dict[Channel, Limiter] = {
            "stdout": Limiter(context, "stdout.log", SHOWN),
            "stderr": Limiter(context, "stderr.log", SHOWN),
        }

    def hear(self, channel: Channel, text: str) -> None:
        """Take the next piece."""
        self._limiters[channel].add(text.encode(errors="replace"))
        left = self._left[channel]
        if left <= 0:
            return
        self._left[channel] = left - len(text)
        self._output(channel, text[:left])
        if len(text) >= left:
            self._output(channel, "\n[what follows is not shown as it comes]\n")

    def shown(self) -> tuple[str, tuple[Artifact, ...]]:
        """Both channels as text, and the files that hold what is left out."""
        out, err = self._limiters["stdout"].finish(), self._limiters["stderr"].finish()
        texts = [out.text, f"[stderr]\n{err.text}" if err.text else ""]
        files = (out.artifact, err.artifact)
        return "\n".join(text.removesuffix("\n") for text in texts if text), tuple(one for one in files if one)


def _ran(ears: _Ears, running: Running, ending: _Ending, timeout_s: float) -> Ran:
    result = running.result() if ending.why != "moved" else None
    if result is None:
        result = CommandResult(
            exit_code=None,
            timed_out=ending.why == "time",
            stdout=Kept(""),
            stderr=Kept(""),
            duration_ms=round(running.seconds * 1000),
        )
    text, artifacts = ears.shown()
    last = _last_line(running, ending, timeout_s, result)
    shown = "\n".join(part for part in (text, last) if part)
    return Ran(text=shown, result=result, artifacts=artifacts, question=ending.question, job=ending.job)


def _last_line(running: Running, ending: _Ending, timeout_s: float, result: CommandResult) -> str:
    if ending.job is not None:
        return f"[moved to the background as {ending.job.id}, where it runs on; read it with job_read]"
    if ending.question:
        return (
            f"[stopped after {running.seconds:.0f} s: it seems to wait for input ({ending.question[-100:]!r}), and a "
            "command gets none; use options that make it not ask, or give it the answer with a pipe]"
        )
    if running.flooded:
        return "[stopped: it said too much]"
    tail = running.output.tail(LOOKED_AT)
    return _late(timeout_s, tail) if ending.why == "time" else _ended(result, tail)


def _late(timeout_s: float, tail: str) -> str:
    asked = "; its last words look like a question" if question_at_end(tail) else ""
    return (
        f"[stopped after {timeout_s:g} s, with its children{asked}; a command gets no input, so it must not ask for "
        "any; what is to run on is started with background: true]"
    )


def _ended(result: CommandResult, tail: str) -> str:
    how = f"ended by {result.signal}" if result.signal else f"exit code {result.exit_code}"
    if result.exit_code != 0 and wanted_input(tail):
        how += "; it seems to have wanted input, and a command gets none"
    left = "; processes left in the background were ended" if result.leftovers else ""
    return "[" + "; ".join((how + left, *result.notes)) + "]"
