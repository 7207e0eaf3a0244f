"""The one launcher of commands: bounded in time and in memory, with a clean environment, and nothing left behind.

A command ends when its shell does. What it left running in its group is ended then, as it is when time is up or the
task is canceled: who starts a process owns it. With a cell, all of it happens in a sandbox. May import: environment,
errors, sandbox, workspace.
"""

from __future__ import annotations

import codecs
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from agi.environment import ORDINARY, is_secret_name
from agi.errors import Invalid
from agi.sandbox.survivors import CHILD_MARKER
from agi.workspace.captured import Capture, Kept, Spill
from agi.workspace.children import Channel
from agi.workspace.launching import Launched, launch, refuse_unstarted

if TYPE_CHECKING:
    from agi.sandbox.cell import Cell

CAPTURE_LIMIT = 48 * 1024
ATTEMPTS = 2
"""How often a sandbox is built for a command; what does not start has not run."""
GRACE_S = 0.5
DRAIN_S = 0.2

_NEVER_ASK = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "EDITOR": "true",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
}
_USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"


class CommandResult(Struct, frozen=True, kw_only=True):
    """How a command ended and what it said; `exit_code` is None if a signal ended it."""

    exit_code: int | None
    signal: str = ""
    timed_out: bool = False
    stdout: Kept
    stderr: Kept
    leftovers: bool = False
    """Whether processes it left in the background had to be ended."""
    notes: tuple[str, ...] = ()
    """What the sandbox has to say: out of memory, a host refused, a file put back."""
    duration_ms: int = 0


class Captured(Struct, frozen=True, kw_only=True):
    """What a program of our own choosing answered; `truncated` if it was stopped for saying too much."""

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    truncated: bool = False
    timed_out: bool = False


def child_environment(base: Mapping[str, str], pid: int) -> dict[str, str]:
    """Build the environment of a child: a few harmless variables of ours, settings that keep it from asking, a mark."""
    passed = {name: base[name] for name in base if _may_pass(name)}
    return {"PATH": _USUAL_PATH, **passed, **_NEVER_ASK, CHILD_MARKER: str(pid)}


def _may_pass(name: str) -> bool:
    return (name in ORDINARY or name.startswith("LC_")) and not is_secret_name(name)


@cache
def find_program(name: str, search_path: str, outside: str = "") -> str | None:
    """Find a program on an absolute part of PATH that is not inside the folder `outside`, which may be hostile."""
    for folder in search_path.split(":"):
        if not folder.startswith("/"):
            continue
        program = os.path.realpath(os.path.join(folder, name))
        is_inside = outside and (program + "/").startswith(outside.rstrip("/") + "/")
        if not is_inside and os.path.isfile(program) and os.access(program, os.X_OK):
            return os.path.join(folder, name)
    return None


async def run_command(
    command: str,
    *,
    cwd: Path,
    timeout_s: float,
    env: Mapping[str, str],
    on_output: Callable[[Channel, str], None],
    capture_limit: int = CAPTURE_LIMIT,
    spill: Callable[[Channel], Spill] | None = None,
    cell: Cell | None = None,
) -> CommandResult:
    """Run a shell command to its end; a time-out, or canceling the task, first ends it and its children.

    Raises `Unavailable` if there is a cell and its sandbox cannot be started, not even when tried again, as where the
    workspace changed while it was built; then nothing ran.
    """
    if "\0" in command:
        raise Invalid("The command holds a NUL character.", hint="Write it without.", code="command_invalid")
    started = time.monotonic()
    shell = find_program("bash", env.get("PATH", _USUAL_PATH)) or "/bin/sh"
    # `--`: a command that begins with a dash is a command, not an option of the shell.
    argv = [shell, "-c", "--", command]
    for attempt in range(1, ATTEMPTS + 1):
        listener = _Listener(on_output, capture_limit, spill)
        launched = await launch(argv, cwd=cwd, env=env, on_bytes=listener.take, cell=cell)
        try:
            timed_out, leftovers = await see_through(launched, timeout_s)
        finally:
            aftermath = launched.close()
            stdout, stderr = listener.finish()
        if aftermath.started or timed_out:
            break
        if attempt == ATTEMPTS:
            refuse_unstarted(launched, stderr.head)
    exit_code, signal_name = launched.ending()
    return CommandResult(
        exit_code=exit_code,
        signal=signal_name,
        timed_out=timed_out,
        stdout=stdout,
        stderr=stderr,
        leftovers=leftovers or (aftermath.leftovers and not timed_out),
        notes=aftermath.notes,
        duration_ms=round((time.monotonic() - started) * 1000),
    )


async def see_through(launched: Launched, timeout_s: float) -> tuple[bool, bool]:
    """Wait for the end, or bring it about; says whether time was up and whether something was left running."""
    child = launched.child
    try:
        timed_out = not await child.exited_within(timeout_s)
        if timed_out:
            await launched.end(GRACE_S)
        leftovers = not await child.over_within(DRAIN_S) and await launched.end(GRACE_S)
    except BaseException:
        await launched.end(GRACE_S)
        raise
    return timed_out, leftovers and not timed_out


async def capture(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float,
    limit: int,
    stdin: int = subprocess.DEVNULL,
    cell: Cell | None = None,
) -> Captured:
    """Run a program and collect what it says; more than `limit` bytes, or too long a time, and it is killed.

    Raises `Unavailable` if there is a cell and its sandbox cannot be started; then nothing ran.
    """
    said: dict[Channel, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}

    def take(channel: Channel, data: bytes) -> None:
        said[channel] += data
        if len(said[channel]) > limit:
            launched.stop()

    launched = await launch(argv, cwd=cwd, env=env, on_bytes=take, stdin=stdin, cell=cell)
    try:
        timed_out, _ = await see_through(launched, timeout_s)
    finally:
        launched.close()
    if not timed_out:
        refuse_unstarted(launched, bytes(said["stderr"][:limit]).decode(errors="replace"))
    return Captured(
        exit_code=launched.child.returncode,
        stdout=bytes(said["stdout"][:limit]),
        stderr=bytes(said["stderr"][:limit]),
        truncated=max(map(len, said.values())) > limit,
        timed_out=timed_out,
    )


class _Listener:
    """Turns a command's bytes into text as it comes, and keeps what is to be shown at the end."""

    def __init__(
        self, on_output: Callable[[Channel, str], None], limit: int, spill: Callable[[Channel], Spill] | None
    ) -> None:
        self._on_output = on_output
        self._captures: dict[Channel, Capture] = {
            "stdout": Capture(limit, (lambda: spill("stdout")) if spill else None),
            "stderr": Capture(limit, (lambda: spill("stderr")) if spill else None),
        }
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {"stdout": decoder("replace"), "stderr": decoder("replace")}

    def take(self, channel: Channel, data: bytes) -> None:
        """Take the next bytes of a channel."""
        self._captures[channel].add(data)
        text = self._decoders[channel].decode(data)
        if text:
            self._on_output(channel, text)

    def finish(self) -> tuple[Kept, Kept]:
        """Tell a character that was cut off at the end, and give what is kept of both channels."""
        for channel in self._captures:
            rest = self._decoders[channel].decode(b"", True)
            if rest:
                self._on_output(channel, rest)
        return self._captures["stdout"].finish(), self._captures["stderr"].finish()
