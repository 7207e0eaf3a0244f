"""A command made ready to run in a sandbox: its arguments and environment, and what to do before and after.

Who starts it calls `started` once it runs and `close` once it is over, or never ran. May import: sandbox.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from agi.sandbox.base import Aftermath, Confinement
from agi.sandbox.saying import ENDED_ALL, LEFT_SOME, STARTED
from agi.sandbox.survivors import children

if TYPE_CHECKING:
    from agi.sandbox.helper import Held, Helper


Join = Callable[[int, Callable[[Exception | None], None]], None]
_END_S = 1.0
"""How long the end of what was killed is waited for, which takes a millisecond if nobody works against it."""


class Wrapped:
    """One start of one command."""

    def __init__(self) -> None:
        self.argv: Sequence[str] = ()
        self.env: dict[str, str] = {}
        self.pass_fds: list[int] = []
        """Descriptors the command's first process must inherit under the same numbers."""
        self.hides_signals = False
        """Whether an end by a signal shows as an exit code above 128."""
        self.patience_s = 0.0
        """How much longer than others it may take to end by itself when asked to: someone inside clears up."""
        self.on_start: list[Callable[[int], None]] = []
        """To be done as soon as it runs, in its event loop; given its process id."""
        self.join: Join | None = None
        """How a process and all below it are made to share limits, and who is told what was in the way, if anything,
        in whatever thread."""
        self.notes: list[Callable[[], Sequence[str]]] = []
        """To be asked once it is over."""
        self.sweep: Callable[[], int] | None = None
        """How to end what the inner side did not say it has ended; tells how many there were."""
        self.start: Callable[[Path, Sequence[int]], Held] | None = None
        """How it is started in a folder, with what it writes to and reads, if not as a process of ours."""
        self.start_meanwhile: Callable[[Path, Sequence[int]], Awaitable[Held]] | None = None
        """The same in an event loop, in which others go on."""
        self._entrances: Sequence[str] = ()
        self._birthplace = ""
        self.until_started = ExitStack()
        self.until_over = ExitStack()
        self._held: Held | None = None
        self._report = -1
        self._leave = -1
        self._inner: list[int] = []
        """Those inside with whom all there ends, where who started them may end before."""
        self._said = b""
        self._failure = ""
        self._lock = Lock()
        self._is_closed = False

    def hold(self, helper: Helper, order: Mapping[str, object]) -> None:
        """Have it started by the helper, which gives it a holder."""

        def start(cwd: Path, streams: Sequence[int]) -> Held:
            return self._kept(helper.start(whole(), cwd=cwd, streams=streams, more=self.pass_fds))

        async def start_meanwhile(cwd: Path, streams: Sequence[int]) -> Held:
            return self._kept(await helper.start_meanwhile(whole(), cwd=cwd, streams=streams, more=self.pass_fds))

        def whole() -> dict[str, object]:
            shared = {"entrances": list(self._entrances), "birthplace": self._birthplace}
            return {**order, **shared, "argv": list(self.argv), "env": self.env}

        self.start, self.start_meanwhile = start, start_meanwhile

    def share(self, join: Join, *, entrances: Sequence[str], birthplace: str) -> None:
        """Have it share its limits before it begins: a holder goes there by itself or is born there, others are put."""
        self._entrances, self._birthplace = entrances, birthplace
        self.join = None if self.start is not None and entrances else join

    def _kept(self, held: Held) -> Held:
        self._held = held
        self.until_over.callback(held.close)
        return held

    def open_report(self) -> int:
        """Make the pipe over which the inner side says that it has begun, and whether it left something running."""
        self._report, inner = os.pipe()
        os.set_blocking(self._report, False)
        self._share(self._report, inner)
        return inner

    def open_leave(self) -> int:
        """Make the pipe over which the inner side, when it has begun, is given leave to go on.

        A watcher that dies while the sandbox is built does not take it along. So nothing is run before someone who is
        alive has answered; if all who could are gone, the pipe ends, and so does the inner side.
        """
        inner, self._leave = os.pipe()
        self._share(self._leave, inner)
        return inner

    def give_leave(self) -> None:
        """Let it go on as soon as it has begun, unasked: for who cannot listen while it runs."""
        if self._leave >= 0:
            os.write(self._leave, b"g\n")

    def _give_no_leave(self) -> None:
        """Have it end before it begins."""
        if self._held is not None:
            self._held.signal(signal.SIGKILL)
        elif self._leave >= 0:
            os.write(self._leave, b"n\n")

    def started(self, pid: int) -> None:
        """The process is there and has inherited what it needs; said in the event loop.

        It is given leave once it shares its limits: a command could start processes faster than they can be found.
        Where it cannot share them it is given none: those of each process alone were not set.
        """
        self.until_started.close()
        for act in self.on_start:
            act(pid)
        if self._held is not None:
            self._join_and_begin(pid)
        elif self._leave >= 0:
            self._wait_for_report(pid)
        elif self.join is not None:
            self.join(pid, lambda _: None)

    def _join_and_begin(self, pid: int) -> None:
        if self.join is None or (self._held is not None and self._held.is_member):
            self._begin()
        else:
            self.join(pid, self._begin)

    def _begin(self, problem: Exception | None = None) -> None:
        with self._lock:
            if self._is_closed:
                return  # its descriptors may be somebody else's by now
            with suppress(OSError):
                if problem is not None:
                    self._failure = f"it could not be limited together with all it starts ({problem})"
                    self._give_no_leave()
                elif self._held is not None:
                    self._held.begin()
                else:
                    self.give_leave()

    def close(self) -> Aftermath:
        """Give back everything, and say what is known."""
        with self._lock:
            self._is_closed = True
        self.until_started.close()
        self._wait_for_end()  # a name is not let go while somebody is left who could take it
        try:
            said = self._hear()
            left = LEFT_SOME in said
            if self.sweep is not None and STARTED in said and ENDED_ALL not in said:
                left = bool(self.sweep()) or left
            notes = tuple(note for ask in self.notes for note in ask())
            says_nothing = self.start is None and self._report < 0
            started = not self._failure and (says_nothing or STARTED in said)
            return Aftermath(started=started, failure=self._failure, leftovers=left, notes=notes)
        finally:
            self.until_over.close()

    def _wait_for_end(self) -> None:
        if self._held is not None and self.patience_s == 0:
            self._held.wait(_END_S)
        until = time.monotonic() + _END_S
        while self._inner:
            poll = select.poll()
            poll.register(self._inner.pop(), select.POLLIN)
            poll.poll(max(until - time.monotonic(), 0) * 1000)

    def _hold_on_to_inner(self, pid: int) -> None:
        for first in children(pid):
            with suppress(AttributeError, OSError):  # an older system, or it has just ended
                self._inner.append(os.pidfd_open(first))
                self.until_over.callback(os.close, self._inner[-1])

    def _share(self, ours: int, inner: int) -> None:
        self.until_over.callback(os.close, ours)
        self.until_started.callback(os.close, inner)
        self.pass_fds.append(inner)

    def _hear(self) -> bytes:
        if self._held is not None:
            return self._held.line.hear()
        if self._report >= 0:
            with suppress(OSError):
                self._said += os.read(self._report, 64)
        return self._said

    def _wait_for_report(self, pid: int) -> None:
        import asyncio  # late: whoever calls this has it

        loop = asyncio.get_running_loop()
        waiting = self.until_over.enter_context(ExitStack())
        waiting.callback(loop.remove_reader, self._report)

        def answer() -> None:
            waiting.close()
            if STARTED in self._hear():
                self._hold_on_to_inner(pid)
                self._join_and_begin(pid)

        loop.add_reader(self._report, answer)


class Wrapper(Protocol):
    """One way to keep commands in."""

    def wrap(
        self, argv: Sequence[str], confinement: Confinement, *, cwd: str, env: Mapping[str, str], grouped: bool
    ) -> Wrapped:
        """Make a command ready; `grouped` if its memory and processes are limited by other means."""
