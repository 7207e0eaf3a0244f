"""A command under way: its output kept, its end waited for, its processes ended; in the foreground or not.

It runs as a task around the one launcher (`workspace/processes.py`), so whatever confines and clears up after commands
does so here too. Canceling that task is how it is ended. May import: workspace, jobs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

from agi.jobs.output import Output
from agi.jobs.patterns import Pattern
from agi.workspace.children import Channel
from agi.workspace.processes import CommandResult

LONGEST_S = 30 * 24 * 3600.0
"""What the launcher is told where nobody else says when time is up."""
MOST_OUTPUT = 16 << 30
"""Bytes after which a command is ended: it will not stop by itself."""

OnOutput = Callable[[Channel, str], None]
Launch = Callable[[OnOutput], Coroutine[Any, Any, CommandResult]]
"""Starts a command, tells what it says, and returns when it is over; canceling it ends the command."""


class Running:
    """One command, from its start to its end; must be made inside a running event loop, and awaited in the end."""

    def __init__(self, launch: Launch, hear: OnOutput | None = None) -> None:
        self.output = Output()
        self.asked_to_move = asyncio.Event()
        """Set when somebody wants it to go on in the background."""
        self.flooded = False
        """Whether it was ended for saying too much."""
        self._hear = hear
        self._began = time.monotonic()
        self._seconds: float | None = None
        self._task = asyncio.create_task(launch(self._take), name="command")
        self._task.add_done_callback(self._note_end)

    @property
    def is_over(self) -> bool:
        """Whether nothing of it is left."""
        return self._task.done()

    @property
    def seconds(self) -> float:
        """How long it has run, or did."""
        return time.monotonic() - self._began if self._seconds is None else self._seconds

    def result(self) -> CommandResult | None:
        """How it ended; None if it was ended. Raises what kept it from running. Only once it is over."""
        return None if self._task.cancelled() else self._task.result()

    def hush(self) -> None:
        """Tell nobody any more what it says; it is only kept."""
        self._hear = None

    async def over_within(self, seconds: float) -> bool:
        """Wait for its end, but not longer; it goes on if whoever waits does not."""
        done, _ = await asyncio.wait({self._task}, timeout=seconds)
        return bool(done)

    async def over_or_moved_within(self, seconds: float) -> None:
        """Wait for its end, or until somebody wants it moved, but not longer."""
        asked = asyncio.ensure_future(self.asked_to_move.wait())
        try:
            await asyncio.wait({self._task, asked}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()

    async def over(self) -> None:
        """Wait for its end."""
        await asyncio.wait({self._task})

    async def heard(self, pattern: Pattern, since: int, seconds: float) -> bool:
        """Wait until the pattern is in what it says since an offset, or it ends; True if it was found."""
        began, so_far = time.monotonic(), self.output.total
        for text, at in self.output.pieces(since):
            if pattern.feed(text):
                return True
            if at >= so_far and time.monotonic() - began > seconds:
                return False
            await asyncio.sleep(0)  # it may have said a lot
        # Nothing is awaited from here to `listen`, so nothing is missed.
        found: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def listen(text: str) -> None:
            if not found.done() and pattern.feed(text):
                found.set_result(None)

        unlisten = self.output.listen(listen)
        try:
            ends: set[asyncio.Future[Any]] = {self._task, found}
            left = max(0.0, began + seconds - time.monotonic())
            await asyncio.wait(ends, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            return found.done()
        finally:
            unlisten()
            found.cancel()

    async def end(self) -> None:
        """End it with all its processes, and wait until that is done; being canceled meanwhile hurries it."""
        self._task.cancel()
        try:
            await self.over()
        except asyncio.CancelledError:
            self._task.cancel()
            await self.over()
            raise

    def _take(self, channel: Channel, text: str) -> None:
        self.output.add(text)
        if self._hear is not None:
            self._hear(channel, text)
        if self.output.total > MOST_OUTPUT and not self.flooded:
            self.flooded = True
            self._task.cancel()

    def _note_end(self, task: asyncio.Task[CommandResult]) -> None:
        self._seconds = time.monotonic() - self._began
        if not task.cancelled():
            task.exception()  # it is told by `result`; nobody may be left to ask
        self.output.finish()
