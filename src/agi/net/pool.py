"""Idle connections, kept for the next request to the same place.

Nothing runs in the background: what has died or grown old is dropped when it is come across. May import: errors.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agi.net.connection import Connection
    from agi.net.route import Route


class Pool:
    """At most `limit` idle connections a route, the last used first, none idle for longer than `seconds`."""

    def __init__(self, limit: int, seconds: float) -> None:
        self._limit = limit
        self._seconds = seconds
        self._idle: dict[Route, list[Connection]] = {}

    def take(self, route: Route) -> Connection | None:
        """An idle connection that still looks alive, or None."""
        idle = self._idle.get(route, [])
        oldest = asyncio.get_running_loop().time() - self._seconds
        while idle:
            connection = idle.pop()
            if connection.is_open() and connection.idle_since >= oldest:
                return connection
            connection.abort()
        return None

    def give(self, route: Route, connection: Connection) -> None:
        """Take a connection back after its exchange: keep it if it can serve again, close it otherwise."""
        idle = self._idle.setdefault(route, [])
        if not connection.rest() or self._limit < 1:
            connection.abort()
            return
        idle.append(connection)
        if len(idle) > self._limit:
            idle.pop(0).abort()

    def close(self) -> None:
        """Close what is idle, and keep nothing from now on."""
        self._limit = 0
        for idle in self._idle.values():
            for connection in idle:
                connection.abort()
        self._idle.clear()
