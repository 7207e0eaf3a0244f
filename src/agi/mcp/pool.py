"""Every server of this process, by what makes it one: none is started twice, none is left when it is over.

May import: mcp.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from pathlib import Path

from agi.mcp.base import Server
from agi.mcp.connection import Place
from agi.mcp.running import Running, Settle

AT_ONCE = 4
"""How many servers are started at the same time: many cold starts at once make all of them late."""


class Pool:
    """The servers there are, and the workspaces that use each."""

    def __init__(self) -> None:
        self._running: dict[str, tuple[Running, set[Path]]] = {}
        self._starts = asyncio.Semaphore(AT_ONCE)
        self._ending: set[asyncio.Task[None]] = set()

    def get(self, root: Path, server: Server, place: Place, settle: Settle) -> Running:
        """The one for this server; nothing is started by that."""
        found = self._running.get(server.key)
        if found is None:
            found = self._running[server.key] = (Running(server, place, settle, self._starts), set())
        found[1].add(root)
        found[0].server = server  # what needs no new process may have changed: time limits, kinds
        return found[0]

    def keep(self, root: Path, keys: Collection[str]) -> None:
        """End what a workspace no longer names, unless another does."""
        for key, (running, roots) in list(self._running.items()):
            if key not in keys:
                roots.discard(root)
            if not roots:
                del self._running[key]
                task = asyncio.create_task(running.close(), name=f"ending MCP server {running.server.name}")
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)

    def all(self) -> Iterator[Running]:
        """Every one there is."""
        return (running for running, _ in self._running.values())

    async def close(self) -> None:
        """End all of them, side by side."""
        await asyncio.gather(*(running.close() for running in self.all()), *self._ending, return_exceptions=True)
        self._running.clear()
