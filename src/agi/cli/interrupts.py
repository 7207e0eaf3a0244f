"""Ctrl-C, a request to terminate, a time limit: the first ends the turn in good order, a second one ends everything.

What "in good order" means is told by whoever listens. May import: cli.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Self

from agi.cli import exits

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Holds the exit code once something wants the command to stop; for use on a running event loop."""

    def __init__(self) -> None:
        self.code = 0
        """How to exit; 0 as long as nothing has happened."""
        self._loop = asyncio.get_running_loop()
        self._stop: Callable[[], object] | None = None
        self._old: dict[signal.Signals, object] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        # Not the loop's own handlers: those cannot run while a write to a reader that does not read is stuck.
        for number in SIGNALS:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):  # else someone wants us to go on, such as nohup
                self._old[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for number, handler in self._old.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def listen(self, stop: Callable[[], object]) -> None:
        """Call `stop`, on the event loop, when the command is to stop; at once if it is already."""
        self._stop = stop
        if self.code:
            stop()

    def after(self, seconds: float) -> None:
        """Stop the command when the time is up."""
        self._timer = self._loop.call_later(seconds, self.stop, exits.TIMEOUT)

    def stop(self, code: int) -> None:
        """Stop the command; the first reason counts."""
        if not self.code:
            self.code = code
            if self._stop is not None:
                self._stop()

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        if self.code:
            os._exit(128 + number)
        self._loop.call_soon_threadsafe(self.stop, 128 + number)
