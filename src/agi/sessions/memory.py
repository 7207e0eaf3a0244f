"""What sessions remember of each other: the index kept up with the log, searches in it, and what is brought back.

An append does nothing for the index. A daemon lets it catch up every few seconds, in slices so short that whoever
appends hardly notices; a search first indexes what is left, as far as that is quickly done, and says how much is not.
The views are imported late: most one-shots never look back. May import: errors, protocol, eventlog, views.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from agi.errors import AgiError
from agi.eventlog.log import EventLog
from agi.eventlog.schema import connect

if TYPE_CHECKING:
    from agi.protocol.search import Found, Recalled, Search

T = TypeVar("T")

SLICE_S = 0.02
"""How long the writer is taken up at once."""
PAUSE_S = 0.03
"""How long it is left alone between two slices, while nobody waits."""
LOOK_S = 5.0
"""How often a daemon looks whether there is something to index."""
FIRST_LOOK_S = 0.5
"""When it looks first: who started it is about to ask something else."""
PATIENCE_S = 0.15
"""How long a search waits for what is not indexed yet."""


class Memory:
    """The memory of one data folder."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._keeper: asyncio.Task[None] | None = None

    async def search(self, asked: Search) -> Found:
        """Find it; what happened up to now is searched too, unless the index is far behind."""
        from agi.views.search import search  # late: see above

        await self.catch_up(PATIENCE_S)
        return await self._read(lambda db: search(db, asked))

    async def recall(self, session_id: str, wanted: str, elsewhere: str | None) -> Recalled:
        """Bring one message or call back; raises NotFound."""
        from agi.views.recalling import recall  # late: see above

        return await self._read(lambda db: recall(db, session_id, wanted, elsewhere))

    def of(self, session_id: str, workspace_path: str) -> TurnMemory:
        """The memory as a session's tools may use it."""
        return TurnMemory(self, session_id, workspace_path)

    async def catch_up(self, seconds: float) -> int:
        """Index what is not, for at most about so long; gives how many events are left."""
        until = time.monotonic() + seconds
        while left := await self._advance():
            if time.monotonic() >= until:
                return left
        return 0

    def keep_up(self) -> None:
        """Begin to follow the log in the background."""
        if self._keeper is None:
            self._keeper = asyncio.get_running_loop().create_task(self._follow(), name="index")

    async def close(self) -> None:
        """Follow no longer; what is not indexed is next time."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)

    async def _follow(self) -> None:
        await asyncio.sleep(FIRST_LOOK_S)
        while True:
            try:
                while await self._advance():  # noqa: ASYNC110 - it does the work it waits for
                    await asyncio.sleep(PAUSE_S)
            except AgiError:
                pass  # a full disk, a busy file: whoever searches hears of it, and it is tried again
            await asyncio.sleep(LOOK_S)

    async def _advance(self) -> int:
        """Index for a moment; gives how many events are left."""
        from agi.views.search_index import advance, behind  # late: see above

        if not behind(self._log.db):
            return 0

        def work(db: sqlite3.Connection) -> int:
            until = time.monotonic() + SLICE_S
            return advance(db, lambda: time.monotonic() >= until)

        return await self._log.maintain(work)

    async def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Read on a thread and a connection of its own: on a large log it takes a while."""

        def run() -> T:
            with closing(connect(self._log.path)) as db:
                return work(db)

        return await asyncio.to_thread(run)


class TurnMemory:
    """What one session's tools may know: their own workspace."""

    def __init__(self, memory: Memory, session_id: str, workspace_path: str) -> None:
        self._memory = memory
        self.session_id = session_id
        self._workspace_path = workspace_path

    async def search(self, asked: Search) -> Found:
        """Hits of this workspace alone."""
        return await self._memory.search(replace(asked, workspace_path=self._workspace_path))

    async def recall(self, wanted: str, elsewhere: str | None) -> Recalled:
        """A message or a call in full; other workspaces' are as if they were not there."""
        return await self._memory.recall(self.session_id, wanted, elsewhere)
