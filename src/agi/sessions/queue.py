"""Messages that wait: listed, edited, dropped, or handed to the turn that runs.

A message can be changed for as long as the log shows it waiting; that is looked at where the change is written, so
whoever comes too late is told so and changes nothing. May import: errors, protocol, eventlog, views, sessions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from agi.errors import Conflict, Invalid, NotFound
from agi.eventlog.base import Entry
from agi.eventlog.log import EventLog
from agi.protocol import events as ev
from agi.protocol.commands import EditMessage, PostMessage
from agi.protocol.parts import Audio, File, Image, Text, plain_text
from agi.protocol.sessions import QueuedMessage, QueuedTurn, TurnOptions
from agi.sessions.composing import message_parts
from agi.sessions.runners import Runners
from agi.sessions.turns import asks_for_more, cancel_entries
from agi.views import queries
from agi.views.state import SessionState

DROPPED = "dropped from the queue"
OWN_CHOICE = (
    "A turn that runs cannot change its agent, model or options, nor propose its steps again, so a message that asks "
    "for that cannot steer it."
)


class Queue:
    """The queues of all sessions, as the log has them."""

    def __init__(self, log: EventLog, runners: Runners) -> None:
        self._log = log
        self._runners = runners

    def all(self, session_id: str) -> list[QueuedMessage]:
        """What waits in a session, the next one first; raises NotFound."""
        return self._shown(session_id, queries.session_state(self._log.db, session_id).queue)

    async def edit(self, session_id: str, message_id: str, command: EditMessage) -> QueuedMessage:
        """Have a message say something else; raises NotFound, and Conflict once it waits no more."""
        _waiting(self._log.db, session_id, message_id)
        folder = self._log.folder / "sessions" / session_id
        parts = await message_parts(command, folder)

        def found(queued: QueuedTurn, state: SessionState) -> list[Entry]:
            if queued.retry_of:
                hint = "Drop it, and send what you mean as a message of its own."
                raise Conflict("A turn that is tried again says what it said.", code="message_not_editable", hint=hint)
            return [(queued.turn_id, ev.MessageEdited(message_id=message_id, parts=parts))]

        return await self._change(session_id, message_id, found)

    async def steer(self, session_id: str, message_id: str) -> QueuedMessage:
        """Have the running turn take up a message at its next step; the same errors, and once is enough."""

        def found(queued: QueuedTurn, state: SessionState) -> list[Entry]:
            if queued.retry_of:
                raise Conflict(
                    "A turn that is tried again runs by itself.", code="cannot_steer", hint="It is next in line anyway."
                )
            if asks_for_more(queued.asked):
                raise Conflict(OWN_CHOICE, code="cannot_steer", hint="Leave it in the queue, or drop and send it anew.")
            again = queued.mode == "steer"
            return [] if again else [(queued.turn_id, ev.SteerRequested(message_id=message_id))]

        return await self._change(session_id, message_id, found)

    async def drop(self, session_id: str, message_id: str) -> None:
        """Take a message out; the same errors. It can still be read, but is no part of the conversation."""

        def entries(db: sqlite3.Connection) -> list[Entry]:
            queued, state = _waiting(db, session_id, message_id)
            return cancel_entries(state, [queued.turn_id], DROPPED)

        await self._log.append(session_id, entries)
        self._runners.ensure(session_id)

    async def _change(
        self, session_id: str, message_id: str, found: Callable[[QueuedTurn, SessionState], list[Entry]]
    ) -> QueuedMessage:
        waiting: list[QueuedTurn] = []

        def entries(db: sqlite3.Connection) -> list[Entry]:
            queued, state = _waiting(db, session_id, message_id)
            waiting[:] = [queued]
            return found(queued, state)

        await self._log.append(session_id, entries)
        self._runners.ensure(session_id)
        now = queries.session_state(self._log.db, session_id).queue
        # It may be taken up by now, which is no failure: then it is told as it last waited.
        still = [one for one in now if one.message_id == message_id] or waiting
        return self._shown(session_id, still)[0]

    def _shown(self, session_id: str, queue: list[QueuedTurn]) -> list[QueuedMessage]:
        ids = [one.message_id for one in queue]
        said = {one.id: one for one in queries.messages_by_id(self._log.db, session_id, ids)} if ids else {}
        return [
            QueuedMessage(
                message_id=one.message_id,
                turn_id=one.turn_id,
                mode=one.mode,
                parts=tuple(part for part in message.parts if isinstance(part, Text | Image | Audio | File)),
                text=plain_text(message.parts),
                created_at=message.created_at,
                retry_of=one.retry_of,
            )
            for one in queue
            if (message := said.get(one.message_id)) is not None
        ]


def check_steering(command: PostMessage) -> None:
    """Refuse what a message that steers cannot have."""
    if command.mode == "queue":
        return
    if command.role != "user" or command.auto_run is False:
        raise Invalid(
            "A message that is not to be answered can neither steer nor interrupt.",
            code="cannot_steer",
            hint="Leave `auto_run` and `role` out, or the mode.",
        )
    if command.mode == "interrupt":
        return  # it has a turn of its own
    asked = TurnOptions(
        agent=command.agent,
        provider=command.provider,
        model=command.model,
        options=command.options,
        preflight=command.preflight,
    )
    if asks_for_more(asked):
        raise Invalid(OWN_CHOICE, code="cannot_steer", hint="Leave these fields out, or send it with mode `queue`.")


def _waiting(db: sqlite3.Connection, session_id: str, message_id: str) -> tuple[QueuedTurn, SessionState]:
    state = queries.session_state(db, session_id)
    for queued in state.queue:
        if queued.message_id == message_id:
            return queued, state
    if queries.is_message(db, session_id, message_id):
        raise Conflict(
            "That message waits no more: it was taken up, or dropped.",
            code="message_not_waiting",
            hint="GET …/queue lists what waits. Send what you mean as a message of its own.",
        )
    raise NotFound(
        f"There is no message {message_id[:80]!r} in this session.",
        code="message_not_found",
        hint="GET …/queue lists what waits.",
    )
