"""One server over time: started when needed and by nobody twice, watched, started again after a pause that grows.

However many ask at once, there is one start. A server that keeps failing costs its own calls and nothing else. May
import: errors, mcp.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable

from agi.errors import AgiError
from agi.mcp.base import Offer, Server, ServerFailed
from agi.mcp.connection import Connection, Place
from agi.mcp.lines import Said
from agi.mcp.sdk import load_sdk
from agi.protocol.mcp import ServerState

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 300.0
STEADY_S = 60.0
"""A server that was there this long has not failed to start: its end is the first failure again."""
WAITED_S = 2.0
"""A pause no longer than this is waited for; else the call fails at once and says when to try again."""

Settle = Callable[[Server, Offer], Awaitable[object]]
Clock = Callable[[], float]


class Running:
    """A server that may be started, is, or was."""

    def __init__(
        self,
        server: Server,
        place: Place,
        settle: Settle,
        starts: asyncio.Semaphore,
        *,
        clock: Clock = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.server = server
        self._place = place
        self._settle = settle
        self._starts = starts
        self._clock = clock
        self._sleep = sleep
        self._chance = chance
        self._connection: Connection | None = None
        self._starting: asyncio.Task[Connection] | None = None
        self._began = 0.0
        self._failures = 0
        self._retry_at = 0.0
        self._closed = False
        self.said = Said()
        self.problem: AgiError | None = None
        """Why the last start failed, or how the server ended; None while all is well."""
        self.start_ms: int | None = None
        self.starts = 0
        """How often it was started."""

    @property
    def state(self) -> ServerState:
        """How it stands."""
        if self._starting is not None and not self._starting.done():
            return "starting"
        self._notice_end()
        if self._connection is not None:
            return "ready"
        return "failed" if self.problem is not None else "idle"

    @property
    def is_stale(self) -> bool:
        """Whether it says that its list of tools is another now, and nobody has looked yet."""
        connection = self._connection
        return connection is not None and connection.stale and not connection.over.is_set()

    @property
    def pid(self) -> int | None:
        """The process that stands for it, while it runs."""
        connection = self._connection
        return connection.pid if connection is not None and not connection.over.is_set() else None

    async def connected(self) -> Connection:
        """The connection; the server is started if it is not there. Raises AgiError if it cannot be."""
        self._notice_end()
        if self._connection is not None:
            if self._connection.stale:
                await self._settle(self.server, await self._connection.offer())
            return self._connection
        if self._closed:
            raise ServerFailed(f"{self.server.name} was stopped.", code="mcp_gone")
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._start(), name=f"starting MCP server {self.server.name}")
            self._starting.add_done_callback(_retrieved)
        # Whoever stops waiting does not stop the start: others may wait for it, and the next turn is glad of it.
        return await asyncio.shield(self._starting)

    async def close(self) -> None:
        """End it for good."""
        self._closed = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _start(self) -> Connection:
        pause = self._retry_at - self._clock()
        if pause > WAITED_S and self.problem is not None:
            said = f"{self.problem.message} It is tried again in {pause:.0f} s at the earliest."
            raise ServerFailed(said, hint=self.problem.hint, code="mcp_backing_off")
        if pause > 0:
            await self._sleep(pause)
        async with self._starts:
            return await self._start_now()

    async def _start_now(self) -> Connection:
        began = self._clock()
        connection: Connection | None = None
        self.starts += 1
        try:
            await load_sdk()
            connection = Connection(self.server, self._place, self.said)
            await connection.open()
            try:
                await self._settle(self.server, await connection.offer())
            except TimeoutError:
                said = f"{self.server.name} did not list its tools within {self.server.start_s:g} s."
                raise ServerFailed(said, code="mcp_start_timeout") from None
        except BaseException as problem:
            if connection is not None:
                await connection.close()
            self._note_failure(problem)
            raise
        self._connection, self._began, self.problem = connection, self._clock(), None
        self.start_ms = round((self._began - began) * 1000)
        return connection

    def _note_failure(self, problem: BaseException) -> None:
        if isinstance(problem, asyncio.CancelledError):
            return
        words = f"{self.server.name} failed: {type(problem).__name__}: {problem}"
        self.problem = problem if isinstance(problem, AgiError) else ServerFailed(words[:1000])
        self._pause()

    def _notice_end(self) -> None:
        """A connection that is over is a failure too; how soon it is replaced depends on how long it held."""
        connection = self._connection
        if connection is None or not connection.over.is_set():
            return
        self._connection = None
        if self._clock() - self._began >= STEADY_S:
            self._failures = 0
        self.problem = ServerFailed(f"{self.server.name} has ended: {connection.why}.", code="mcp_gone")
        self._pause()

    def _pause(self) -> None:
        self._failures += 1
        pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(self._failures - 1, 20))
        # Jitter: many servers that fell together do not all come back together.
        self._retry_at = self._clock() + pause * (0.75 + self._chance() / 2)

    def try_now(self) -> None:
        """Forget the pause: a person asks."""
        self._retry_at = 0.0


def _retrieved(task: asyncio.Task[Connection]) -> None:
    if not task.cancelled():
        task.exception()
