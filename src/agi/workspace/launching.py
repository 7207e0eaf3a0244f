"""Start a program, in a sandbox if there is a cell for it, and clear up after it: where both come together.

What is run and what its output is for is not known here. A start is waited for, and others go on. Must be used in the
thread of the event loop: a sandbox may end with the thread that started it. May import: errors, sandbox, workspace.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agi.errors import Invalid, Unavailable
from agi.sandbox.base import Aftermath
from agi.sandbox.passing import is_passing, passing_hint
from agi.workspace.children import Channel, Child, spawning

if TYPE_CHECKING:
    from agi.sandbox.cell import Cell
    from agi.sandbox.wrapped import Wrapped

_SIGNALS_BEGIN = 128


class Launched:
    """A program that was started; `close` it in the end, whatever happened."""

    def __init__(self, child: Child, wrapped: Wrapped | None, cell: Cell | None, cwd: Path) -> None:
        self.child = child
        self.cwd = cwd
        self.closed_folder: str | None = None
        """What kept it from the folder it was to begin in, if that is why it did not start; known once it is closed."""
        self._wrapped = wrapped
        self._cell = cell
        self._aftermath: Aftermath | None = None

    @property
    def pid(self) -> int:
        """The process that stands for it."""
        return self.child.pid

    async def end(self, grace_s: float) -> bool:
        """End it and all it started: ask, wait a little, then insist; False if nobody was left to end."""
        return await self.child.end(grace_s + (self._wrapped.patience_s if self._wrapped else 0))

    def stop(self) -> None:
        """End it at once, without waiting for that."""
        if self._wrapped is not None and self._wrapped.patience_s:
            self.child.signal(signal.SIGTERM)  # someone inside clears up
        else:
            self.child.kill()

    def close(self) -> Aftermath:
        """Kill what is left, give back what the sandbox took, and say what is known; again it says the same."""
        if self._aftermath is None:
            self.child.abandon()
            self._aftermath = self._wrapped.close() if self._wrapped else Aftermath()
            if not self._aftermath.started and self._cell is not None:
                from agi.sandbox.cell import find_closed  # late: who has no cell does without

                self.closed_folder = None if self._aftermath.failure else find_closed(self.cwd)
                if self.closed_folder is None:
                    self._cell.ladder.failed()
        return self._aftermath

    def ending(self) -> tuple[int | None, str]:
        """The exit code, or the name of the signal that ended it; neither while it runs."""
        code = self.child.returncode
        if code is None:
            return None, ""
        if code < 0:
            return None, signal_name(-code)
        if self._wrapped is not None and self._wrapped.hides_signals and code > _SIGNALS_BEGIN:
            name = signal_name(code - _SIGNALS_BEGIN)
            return (None, name) if name in signal.Signals.__members__ else (code, "")
        return code, ""


async def launch(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    on_bytes: Callable[[Channel, bytes], None],
    stdin: int = subprocess.DEVNULL,
    cell: Cell | None = None,
) -> Launched:
    """Start a program; without a cell it is not confined, which is for programs of our own choosing.

    In a cell, what passes, such as a full disk, is `Unavailable`.
    """
    if cell is None:
        spawn = spawning(argv, env=env, stdin=stdin)
        return Launched(await Child.started(spawn, cwd, on_bytes=on_bytes, stdin=stdin), None, None, cwd)
    try:
        return await _launch(argv, cwd, env, on_bytes, stdin, cell)
    except OSError as problem:
        if not is_passing(problem):
            raise
        said = f"The command could not be started: {problem.strerror or problem}."
        raise Unavailable(said, hint=passing_hint(problem), code="sandbox_failed") from problem


async def _launch(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    on_bytes: Callable[[Channel, bytes], None],
    stdin: int,
    cell: Cell,
) -> Launched:
    wrapped = cell.wrap(argv, cwd=cwd, env=env)
    try:
        child = await Child.started(
            wrapped.start_meanwhile or spawning(wrapped.argv, env=wrapped.env, stdin=stdin, pass_fds=wrapped.pass_fds),
            cwd,
            on_bytes=on_bytes,
            stdin=stdin,
            has_inner_group=wrapped.hides_signals,
        )
        wrapped.started(child.pid)
    except BaseException as problem:
        wrapped.close()
        if isinstance(problem, OSError) and problem.errno is None:
            cell.ladder.failed()  # said by who makes its processes, not by the system about something of ours
        raise
    return Launched(child, wrapped, cell, cwd)


def refuse_unstarted(launched: Launched, said: str) -> None:
    """Close it, and raise if the sandbox failed before the command began; nothing ran then."""
    aftermath = launched.close()
    if aftermath.started:
        return
    if launched.closed_folder is not None:
        raise _closed(launched.closed_folder)
    why = aftermath.failure or said.strip().rpartition("\n")[2][:300] or "it gave no reason"
    hint = "Nothing was run. What works is found out anew with the next command; `agi doctor` tells it, too."
    raise Unavailable(f"The sandbox could not be started: {why}.", hint=hint, code="sandbox_failed")


def _closed(folder: str) -> Invalid:
    said = f"The folder the command was to begin in cannot be entered: {folder!r} is closed to it."
    hint = "Nothing was run. Begin in another folder, or let its user enter it (`chmod u+x`)."
    owner = _owner(folder)
    if os.getuid() == 0 and owner not in (None, "root"):
        # A command of root's has no more power over what is another's than anybody else.
        hint = f"Nothing was run. It belongs to {owner}: start agi as that user, or let others enter it (`chmod o+x`)."
    return Invalid(said, hint=hint, code="cwd_closed")


def _owner(folder: str) -> str | None:
    import pwd  # late: rarely needed

    try:
        number = os.stat(folder).st_uid
    except OSError:
        return None
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def signal_name(number: int) -> str:
    """The name of a signal, also of one that has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
