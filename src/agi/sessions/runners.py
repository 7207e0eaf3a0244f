"""Every session that runs in this process: starts a runner where there is something to run, and keeps the leases.

May import: errors, eventlog, views, sessions.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from agi.errors import AgiError, Conflict, NotFound
from agi.eventlog import leases
from agi.eventlog.base import Lease
from agi.eventlog.log import EventLog
from agi.views import queries

if TYPE_CHECKING:
    from agi.sessions.runner import Runner

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
_MOST_DOUBLINGS = 16

OnFailure = Callable[[str, BaseException], None]


class Runners:
    """The runners, by session. At most one a session."""

    def __init__(self, log: EventLog, make: Callable[[str], Runner]) -> None:
        self._log = log
        self._make = make
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._held: set[str] = set()
        """Sessions that must not run just now."""
        self._renewer: asyncio.Task[None] | None = None
        self._failures: dict[str, int] = {}
        self.closing = False
        self.on_failure: OnFailure = lambda session_id, error: None
        """Told when a runner dies of something that is not its turn's own failure."""

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._tasks or session_id in self._held

    def running(self) -> tuple[str, ...]:
        """The sessions that run in this process just now."""
        return tuple(self._tasks)

    @asynccontextmanager
    async def hold(self, session_id: str) -> AsyncIterator[None]:
        """Keep an idle session from running for a while; what comes meanwhile waits in line. Raises Conflict."""
        while True:
            state = queries.session_state(self._log.db, session_id)
            if state.turn is not None or state.queue or state.compaction is not None or session_id in self._held:
                raise Conflict("The session is running.", code="session_running", hint="Cancel it, or wait for it.")
            if session_id not in self._tasks:
                break
            await asyncio.wait([self._tasks[session_id]])  # it found nothing more to do, and is about to end
        self._held.add(session_id)
        try:
            yield
        finally:
            self._held.discard(session_id)
            self.ensure(session_id)

    def ensure(self, session_id: str, lease: Lease | None = None) -> None:
        """See that somebody runs what this session has to run."""
        if self.closing or session_id in self:
            return
        runner = self._make(session_id)
        task = asyncio.create_task(runner.run(lambda: self._is_over(session_id), lease), name=f"run {session_id}")
        self._tasks[session_id] = task
        task.add_done_callback(lambda done: self._ended(session_id, done))
        if self._renewer is None:
            self._renewer = asyncio.create_task(self._renew(), name="renew leases")

    async def close(self) -> None:
        """Stop them all; open turns stay open in the log."""
        self.closing = True
        tasks = [*self._tasks.values(), *([self._renewer] if self._renewer else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _is_over(self, session_id: str) -> bool:
        """Asked by a runner that found nothing to do; from here on a new message starts a new one."""
        state = queries.session_state(self._log.db, session_id)
        if state.turn is not None or state.queue or state.compaction is not None:
            return False
        self._tasks.pop(session_id, None)
        self._failures.pop(session_id, None)
        return True

    def _ended(self, session_id: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(session_id) is task:
            del self._tasks[session_id]
        if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, NotFound):
            self.on_failure(session_id, error)
            self._try_again(session_id)

    def _try_again(self, session_id: str) -> None:
        """The disk was full or locked, say: the turn stays open in the log and goes on once that is over."""
        failures = self._failures[session_id] = self._failures.get(session_id, 0) + 1
        doublings = min(failures - 1, _MOST_DOUBLINGS)  # after a thousand, the number would be none any more
        pause = min(FIRST_PAUSE_S * 2**doublings, LONGEST_PAUSE_S)
        asyncio.get_running_loop().call_later(pause, self.ensure, session_id)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(leases.RENEW_S)
            if self._tasks:
                try:
                    await self._log.renew_leases()
                except AgiError as error:
                    self.on_failure("", error)
