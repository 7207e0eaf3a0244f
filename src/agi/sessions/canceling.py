"""Stopping: the running turn, what waits in line, and workers below.

What is stopped is found where it is written down, so nobody is told of a turn that had ended by then.
May import: errors, protocol, eventlog, views, sessions.
"""

from __future__ import annotations

import sqlite3

from agi.errors import Conflict, NotFound
from agi.eventlog.base import Entry
from agi.eventlog.log import EventLog
from agi.protocol import commands
from agi.sessions.runners import Runners
from agi.sessions.turns import cancel_entries, to_cancel
from agi.views import pool, queries


class Canceling:
    """The turns of all sessions, as far as they can be stopped."""

    def __init__(self, log: EventLog, runners: Runners) -> None:
        self._log = log
        self._runners = runners

    async def cancel(self, session_id: str, command: commands.Cancel) -> tuple[str, ...]:
        """Stop the running turn and drop the queue (or just the named turn); returns the turns that will end.

        Unless told otherwise, workers below it are stopped as well; their sessions stay and can be talked to.
        """
        queries.session_state(self._log.db, session_id)
        if command.turn_id is not None:
            queries.turn(self._log.db, session_id, command.turn_id)
        others = self.within(session_id, command)
        problem: Conflict | None = None
        turns: tuple[str, ...] = ()
        try:
            turns = await self._cancel(session_id, command)  # first: it could start others in the place of those
        except Conflict as error:
            problem = error
        stopped = [await self.stop(one, command.reason) for one in others]
        if problem is not None and not any(stopped):
            raise problem
        return turns

    def within(self, session_id: str, command: commands.Cancel) -> list[str]:
        """The sessions of workers below that are stopped as well."""
        if not pool.has_rows(self._log.db):
            return []
        from agi.sessions.below import in_scope  # late: most sessions have no workers

        return in_scope(self._log.db, session_id, command.scope or "children", command.turn_id)

    async def stop(self, session_id: str, reason: str) -> bool:
        """Stop whatever a session does; False if that is nothing."""
        try:
            return bool(await self._cancel(session_id, commands.Cancel(reason=reason or "Canceled from above.")))
        except (Conflict, NotFound):
            return False  # it does nothing

    async def _cancel(self, session_id: str, command: commands.Cancel) -> tuple[str, ...]:
        chosen: list[str] = []

        def found(db: sqlite3.Connection) -> list[Entry]:
            state = queries.session_state(db, session_id)
            chosen[:] = to_cancel(state, command.turn_id)
            return cancel_entries(state, chosen, command.reason)

        await self._log.append(session_id, found)
        self._runners.ensure(session_id)
        return tuple(chosen)
