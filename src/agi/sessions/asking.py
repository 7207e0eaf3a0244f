"""Asking: a message, or a turn that is tried again, is put in line and answered when its time has come.

In an idle session message and turn begin in one commit; who runs it is decided by the lease taken in the same one.
May import: errors, protocol, eventlog, loop, views, sessions.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct

from agi.errors import Conflict
from agi.eventlog.base import Check, Entry, Lease
from agi.eventlog.log import EventLog
from agi.loop.schemas import checked_schema
from agi.protocol import commands
from agi.protocol import events as ev
from agi.protocol.ids import TURN, new_id
from agi.protocol.messages import Message, Mode
from agi.protocol.sessions import QueuedTurn, TurnOptions
from agi.sessions.canceling import Canceling
from agi.sessions.composing import compose, message_parts, title_of
from agi.sessions.contexts import first_head
from agi.sessions.queue import check_steering
from agi.sessions.runner import look_around, take_lease_check, turn_started
from agi.sessions.runners import Runners
from agi.sessions.sites import Site
from agi.sessions.turns import INTERRUPTED_ABOVE, retry_check, with_interrupt
from agi.tools.base import Registry
from agi.views import queries
from agi.views.state import SessionState

if TYPE_CHECKING:
    from agi.sessions.isolating import Apart


class Posted(Struct, frozen=True, kw_only=True):
    """A message was added; `turn_id` answers it, if anything does."""

    message_id: str
    turn_id: str | None
    queued: bool


class Asking:
    """The verbs that have a model answer."""

    def __init__(
        self,
        log: EventLog,
        runners: Runners,
        registry: Registry,
        canceling: Canceling,
        site: Callable[[str], Site],
        apart: Callable[[], Apart],
    ) -> None:
        self._log = log
        self._runners = runners
        self._registry = registry
        self._canceling = canceling
        self._site = site
        self._apart = apart

    async def post(self, session_id: str, command: commands.PostMessage) -> Posted:
        """Add a message and, unless told otherwise, have it answered: now, or after or by what is running."""
        check_steering(command)
        state = self._state(session_id)
        parts = await message_parts(command, self._folder(session_id))
        checked_schema(command.options)
        wanted = state.auto_run or command.mode != "queue" if command.auto_run is None else command.auto_run
        run = command.role == "user" and wanted
        message = compose(session_id, command.role, parts, client=command.client or "")
        if not run:
            await self._log.append(session_id, [(None, ev.MessageAdded(message=message, run=False))])
            return Posted(message_id=message.id, turn_id=None, queued=False)
        asked = TurnOptions(
            agent=command.agent,
            provider=command.provider,
            model=command.model,
            options=command.options,
            on_ask=command.on_ask,
            approval_timeout_s=command.approval_timeout_s,
            preflight=command.preflight,
        )
        mode: Mode = "queue" if command.mode == "queue" else "steer"  # the place in line is the same
        queued = QueuedTurn(turn_id=new_id(TURN), message_id=message.id, asked=asked, mode=mode)
        interrupts = command.mode == "interrupt"
        busy = await asyncio.shield(self._begin(state, queued, message, interrupts=interrupts))
        return Posted(message_id=message.id, turn_id=queued.turn_id, queued=busy)

    async def retry(self, session_id: str, turn_id: str) -> Posted:
        """Answer the message of a turn again that was not answered to its end; the model knows what was done."""
        state = self._state(session_id)
        turn = queries.turn(self._log.db, session_id, turn_id)
        allowed = retry_check(session_id, turn_id)
        allowed(self._log.db)
        queued = QueuedTurn(turn_id=new_id(TURN), message_id=turn.message_id, asked=turn.asked, retry_of=turn_id)
        busy = await asyncio.shield(self._begin(state, queued, None, allowed))
        return Posted(message_id=turn.message_id, turn_id=queued.turn_id, queued=busy)

    async def _begin(
        self,
        state: SessionState,
        queued: QueuedTurn,
        message: Message | None,
        allowed: Check | None = None,
        *,
        interrupts: bool = False,
    ) -> bool:
        """Put a turn in line and see that it runs; True if it has to wait. An idle session starts it in one commit."""
        await self._restore(state)
        site = self._site(state.workspace_path)
        await look_around(site, state, queued)
        state = self._state(state.id)  # again: looking takes a moment
        started = turn_started(site, state, queued, self._registry)
        busy = state.turn is not None or bool(state.queue) or state.compaction is not None
        entries: list[Entry] = []
        if message is not None:
            if state.title is None:
                entries.append((None, ev.SessionUpdated(title=title_of(message))))
            mode = UNSET if queued.mode == "queue" else queued.mode
            added = ev.MessageAdded(message=message, run=True, queued=busy, asked=queued.asked, mode=mode)
            entries.append((queued.turn_id, added))
        else:
            requested = ev.TurnRequested(message_id=queued.message_id, retry_of=queued.retry_of, asked=queued.asked)
            entries.append((queued.turn_id, requested))
        taken: list[Lease] = []
        if not busy and state.id not in self._runners:
            head = first_head(self._log, site, self._registry, state, started)
            begun = [(queued.turn_id, data) for data in (started, head) if data is not None]
            try:
                check = self._idle_check(state.id, taken, allowed)
                await self._log.append(state.id, [*entries, *begun], check=check)
                self._runners.ensure(state.id, taken[0])
                return False
            except Conflict:
                busy = True  # somebody was faster, or another process runs it: wait in line
        stopped: list[str] = []
        said = with_interrupt(state.id, entries, stopped) if interrupts else entries
        await self._log.append(state.id, said, check=allowed)
        self._runners.ensure(state.id)
        for turn_id in stopped:
            for one in self._canceling.within(state.id, commands.Cancel(turn_id=turn_id)):
                await self._canceling.stop(one, INTERRUPTED_ABOVE)
        return busy

    def _idle_check(self, session_id: str, taken: list[Lease], allowed: Check | None) -> Check:
        take = take_lease_check(session_id, self._log.owner, taken)

        def check(db: sqlite3.Connection) -> None:
            state = queries.session_state(db, session_id)
            if state.turn is not None or state.queue or state.compaction is not None:
                raise Conflict("The session is busy.")
            if allowed is not None:
                allowed(db)
            take(db)

        return check

    async def _restore(self, state: SessionState) -> None:
        """See that a worker has files to work on, whose folder went when its changes were merged."""
        worker = state.worker
        if worker is not None and worker.kept_apart and not self._apart().is_there(state.id):
            there = queries.exists(self._log.db, worker.parent_session_id)
            above = self._state(worker.parent_session_id).workspace_path if there else state.project_path
            await self._apart().make(state.id, self._site(above).workspace, "auto")

    def _state(self, session_id: str) -> SessionState:
        return queries.session_state(self._log.db, session_id)

    def _folder(self, session_id: str) -> Path:
        return self._log.folder / "sessions" / session_id
