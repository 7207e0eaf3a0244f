"""Following a session for as long as somebody looks: what breaks off is taken up again behind what was heard last.

The client takes up a stream for some seconds by itself; this goes on after that, for as long as it takes. What the
events mean is others' business. May import: errors, protocol, client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from agi.client.base import Client
from agi.errors import AgiError, Conflict, NotFound
from agi.protocol.events import Event

PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds before the client is asked again; the last one is kept."""
AT_ONCE = 64
"""Events that are heard before others get to run: a long history must not freeze the keys."""


class Link:
    """One session, followed in the background."""

    def __init__(
        self,
        client: Client,
        session_id: str,
        *,
        after: int,
        epoch: int,
        hear: Callable[[Event], None],
        connected: Callable[[bool], None],
        lost: Callable[[AgiError], Awaitable[None]],
    ) -> None:
        self._client = client
        self._session_id = session_id
        self._seq = after
        self._epoch = epoch
        self._hear = hear
        self._connected = connected
        self._lost = lost
        self._task = asyncio.create_task(self._follow())

    async def close(self) -> None:
        """Hear no more."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self) -> None:
        failures = 0
        while True:
            try:
                before = self._seq
                await self._once()
                self._connected(False)  # it ended in good order: the session is gone, or the daemon stops
                failures = 0 if self._seq > before else failures
            except (Conflict, NotFound) as error:
                await self._lost(error)
                return
            except AgiError:
                self._connected(False)
            await asyncio.sleep(PAUSES[min(failures, len(PAUSES) - 1)])
            failures += 1

    async def _once(self) -> None:
        heard = 0
        async with aclosing(self._client.follow(self._session_id, f"{self._seq}@{self._epoch}")) as events:
            async for event in events:
                self._seq = max(self._seq, event.seq)
                self._hear(event)
                heard += 1
                if heard % AT_ONCE == 0:
                    await asyncio.sleep(0)
