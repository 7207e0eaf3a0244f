"""Compaction on demand: asking for one, making it while nothing else runs, and undoing the last one.

Asked for while a turn runs, it is that turn's business, before its model is asked next; what is left of it when the
turn is over is made here. May import: errors, protocol, eventlog, context, loop, views, sessions.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from agi.context.measuring import size_of
from agi.errors import AgiError, Conflict, Invalid, NotFound, StorageError
from agi.eventlog.base import Entry, Lease
from agi.eventlog.log import EventLog
from agi.loop.base import Plan, Ports
from agi.loop.compacting import Compactor
from agi.protocol import events as ev
from agi.protocol.commands import Compact
from agi.protocol.compaction import Compacted
from agi.protocol.messages import Message
from agi.sessions.journal import Journal
from agi.sessions.runners import Runners
from agi.views import queries
from agi.views.state import SessionState, TurnState
from agi.views.told import compaction_of, told_messages

LEAST_MESSAGES = 3
NOTHING = "There is nothing to compact: the conversation has hardly begun."
_HINT = "Go on with the session; it is compacted by itself when the model's window is nearly full."
_HINTS = {
    "nothing_to_compact": _HINT,
    "not_shrunk": "Go on with the session, or take back its last turns with `agi undo --conversation`.",
}
_AS_IT_WAS = "The conversation is as it was; ask again once the cause is gone."


class IdleJournal(Journal):
    """A journal without a turn: what it writes belongs to the session as a whole."""

    def __init__(self, log: EventLog, session_id: str, lease: Lease, seq: int, idle: TurnState) -> None:
        super().__init__(log, session_id, None, lease, seq)
        self._idle = idle

    def turn(self) -> TurnState:
        """A turn that nobody asked for, of which nothing is used up."""
        return self._idle


async def compact_idle(journal: Journal, prepare: Callable[[], Awaitable[tuple[Plan, Ports]]]) -> None:
    """Make the compaction that was asked for; whatever comes in the way is its outcome, in the log."""
    began = time.monotonic()
    try:
        plan, ports = await prepare()
        await Compactor(ports, lambda: time.monotonic() - began).before_call(plan, plan.history)
    except StorageError:
        raise
    except Exception as error:
        code = error.code if isinstance(error, AgiError) else "internal_error"
        reason = error.message if isinstance(error, AgiError) else f"The harness failed: {type(error).__name__}"
        await journal.emit(ev.CompactionFailed(trigger="manual", code=code, reason=reason))


class Compacting:
    """The verb."""

    def __init__(self, log: EventLog, runners: Runners) -> None:
        self._log = log
        self._runners = runners

    async def compact(self, session_id: str, command: Compact) -> Compacted:
        """Make the conversation shorter now, or before the running turn's next call; or undo that."""
        if command.undo:
            if command.focus:
                raise Invalid("Undoing has no focus.", hint="Send one of the two.", code="compact_ambiguous")
            return await self._undo(session_id)
        outcome: asyncio.Future[ev.Event] = asyncio.get_running_loop().create_future()

        def hear(event: ev.Event) -> None:
            if event.type in ("context_compacted", "compaction_failed", "session_deleted") and not outcome.done():
                outcome.set_result(event)

        self._log.listen(session_id, hear)
        try:
            if await self._request(session_id, command.focus):
                return Compacted(session_id=session_id, status="queued")
            self._runners.ensure(session_id)
            return _told(session_id, await outcome)
        finally:
            self._log.hub.unlisten(session_id, hear)

    async def _request(self, session_id: str, focus: str) -> bool:
        """Write down that it is wanted; True if a turn has to come to it."""
        queries.session_state(self._log.db, session_id)
        busy: list[bool] = []

        def found(db: sqlite3.Connection) -> list[Entry]:
            state = queries.session_state(db, session_id)
            busy[:] = [state.turn is not None or bool(state.queue)]
            _refuse(db, state, is_busy=busy[0])
            return [(state.turn.id if state.turn else None, ev.CompactionRequested(focus=focus))]

        await self._log.append(session_id, found)
        return busy[0]

    async def _undo(self, session_id: str) -> Compacted:
        async with self._runners.hold(session_id):
            lease = await self._log.take_lease(session_id)
            try:
                state = queries.session_state(self._log.db, session_id)
                last = compaction_of(self._log.db, state)
                if last is None:
                    raise Conflict(
                        "No compaction is in force in this session.",
                        code="nothing_to_undo",
                        hint="Models are told the whole conversation already.",
                    )
                tokens = last.pre_tokens + size_of(_said_since(self._log.db, state, last))
                undone = ev.CompactionUndone(compaction_id=last.compaction_id, tokens=tokens)
                await self._log.append(session_id, [(None, undone)], lease=lease)
            finally:
                with suppress(StorageError):
                    await self._log.release_lease(lease)
        return Compacted(
            session_id=session_id,
            status="undone",
            compaction_id=last.compaction_id,
            pre_tokens=state.context_tokens or last.post_tokens,
            post_tokens=tokens,
        )


def _refuse(db: sqlite3.Connection, state: SessionState, *, is_busy: bool) -> None:
    if state.compaction is not None:
        raise Conflict("A compaction is under way already.", code="compaction_pending", hint="Wait for it to be made.")
    if not is_busy and len(queries.list_messages(db, state.id, limit=LEAST_MESSAGES)[0]) < LEAST_MESSAGES:
        raise Conflict(NOTHING, code="nothing_to_compact", hint=_HINT)


def _said_since(db: sqlite3.Connection, state: SessionState, last: ev.ContextCompacted) -> Sequence[Message]:
    """What came after a compaction: models are told it either way."""
    told = told_messages(db, state)
    place = next((place for place, one in enumerate(told) if one.id == last.last_message), len(told))
    return told[place + 1 :]


def _told(session_id: str, event: ev.Event) -> Compacted:
    data = event.data
    if isinstance(data, ev.ContextCompacted):
        return Compacted(
            session_id=session_id,
            status="compacted",
            compaction_id=data.compaction_id,
            pre_tokens=data.pre_tokens,
            post_tokens=data.post_tokens,
            summarised_by=data.summarised_by,
            dropped=data.dropped,
        )
    if isinstance(data, ev.CompactionFailed):
        raise Conflict(data.reason, code=data.code, hint=_HINTS.get(data.code, _AS_IT_WAS))
    raise NotFound("The session was deleted meanwhile.", code="session_not_found")
