"""A watch over one answer: it hangs up when nothing was said for too long, or when the whole takes too long.

It counts what is said and not what arrives, and while someone else is at work on what was said, it waits. A timer of
its own, because a server may send nothing at all. What counts as said is each format's business, what the failure is
called `failures`'. May import: models.limits.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from agi.models.limits import Limits

Overdue = Literal["thinking", "idle", "total"]
_LOOK_AGAIN = 1.0


class Watch:
    """Begins with the thinking limit; `hang_up` is called at most once, and then `overdue` says which limit it was."""

    def __init__(self, limits: Limits, hang_up: Callable[[], Coroutine[None, None, None]]) -> None:
        self._loop = asyncio.get_running_loop()
        self._limits = limits
        self._hang_up = hang_up
        self._end = self._loop.time() + limits.total
        self._silence: Overdue = "thinking"
        self._due = 0.0
        self._sure = False
        self.overdue: Overdue | None = None
        """The limit that was passed, once one was."""
        self.waiting = True
        """Whether it is the server that is waited for; whoever reads what was said sets it to False meanwhile."""
        self._timer: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None
        self.heard(flowing=False)
        self._timer = self._loop.call_at(self._next(), self._ring)

    def heard(self, *, flowing: bool) -> None:
        """Something was said; `flowing` says that more of the same is about to come."""
        self._silence = "idle" if flowing else "thinking"
        self._due = self._loop.time() + (self._limits.idle if flowing else self._limits.thinking)
        if self._timer is not None and self._due < self._timer.when():
            self._timer.cancel()
            self._timer = self._loop.call_at(self._next(), self._ring)

    def check(self) -> bool:
        """Whether there is time left for the whole; bytes may come so fast that the timer has no chance."""
        if self._loop.time() > self._end:
            self.overdue = "total"
        return self.overdue is None

    def stop(self) -> None:
        """The answer is over, one way or another."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _next(self) -> float:
        return min(self._due, self._end)

    # A timer for every word would cost more than the word: one is left standing, and only when it rings is it asked
    # whether the moment has moved on meanwhile.
    def _ring(self) -> None:
        now = self._loop.time()
        if now < self._next():
            self._sure = False
            self._timer = self._loop.call_at(self._next(), self._ring)
        elif not self.waiting:
            self._timer = self._loop.call_later(_LOOK_AGAIN, self._ring)
        elif not self._sure:  # this process may have been kept from reading what is there: that comes first
            self._sure = True
            self._timer = self._loop.call_later(0, self._ring)
        else:
            self._timer = None
            self.overdue = "total" if now >= self._end else self._silence
            self._closing = self._loop.create_task(self._hang_up())
