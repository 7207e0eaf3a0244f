"""The running turn's hand on the log: events durable, text shown at once and logged in growing pieces.

May import: protocol, eventlog, views.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from agi.eventlog.base import Entries, Entry, Lease
from agi.eventlog.log import EventLog
from agi.protocol.compaction import CompactionRequest
from agi.protocol.events import (
    ContextCompacted,
    Event,
    EventData,
    ModelOutputCompleted,
    ModelOutputDelta,
    VerificationCompleted,
)
from agi.protocol.messages import Message, Usage
from agi.sessions.turns import take_up, to_take_up
from agi.views import queries, told
from agi.views.compactions import in_force
from agi.views.folding import fold
from agi.views.ledger import Ledger
from agi.views.state import Agreed, SessionState, TurnState

if TYPE_CHECKING:
    from agi.views.recorded import Recorded

FIRST_WAIT_S = 0.25
LONGEST_WAIT_S = 4.0
OTHERS = 20
"""In how many sessions an earlier result of verification is looked for."""
PIECE = 1024
"""Characters. Pieces and waits grow, so that a long answer costs the log little more than its text."""


class Journal:
    """Writes one turn's events under the session's lease."""

    def __init__(self, log: EventLog, session_id: str, turn_id: str | None, lease: Lease, seq: int) -> None:
        self._log = log
        self.session_id = session_id
        self.turn_id = turn_id
        self.lease = lease
        self._deferred: list[EventData] = []
        self._piece: list[str] = []
        self._size = 0
        self._first: ModelOutputDelta | None = None
        self._part = ""
        """The part that speaks."""
        self._held = ""
        """The end of what it said, while that may be the beginning of a secret."""
        self._last: ModelOutputDelta
        self._logged = 0
        self._wait = FIRST_WAIT_S
        self._timer: asyncio.TimerHandle | None = None
        self._under_way: asyncio.Future[list[Event]] | None = None
        self._seq = seq
        self._compaction: tuple[int, ContextCompacted | None] = (0, None)
        self._state: SessionState | None = None
        """As it was read in this round of the event loop; one stretch of work asks a dozen times."""

    def state(self) -> SessionState:
        """The session as the log has it, or will have it once what is deferred is written; not to be changed."""
        if self._state is None:
            state = queries.session_state(self._log.db, self.session_id)
            for data in self._deferred:
                fold(state, Event.of(state.last_seq, state.updated_at, self.session_id, self.turn_id, data))
            self._state = state
            asyncio.get_running_loop().call_soon(self.forget)
        return self._state

    def forget(self) -> None:
        """What was read is old: something else may have been done meanwhile, here or in another process."""
        self._state = None

    def turn(self) -> TurnState:
        """The turn, likewise."""
        turn = self.state().turn
        assert turn is not None and turn.id == self.turn_id  # noqa: S101, PT018 - a journal is held only while its turn runs
        return turn

    def session_usage(self) -> Usage:
        """What the whole session has used."""
        return self.state().usage

    def withheld(self) -> Mapping[str, str]:
        """What models are no longer told: refs and ids, and why."""
        return self.state().withheld

    def compaction(self) -> ContextCompacted | None:
        """What stands for the beginning of the conversation; None if models are told all of it."""
        state = self.state()
        seq = in_force(state.compactions, state.reverts)
        if seq != self._compaction[0]:
            self._compaction = (seq, told.compaction_of(self._log.db, state))
        return self._compaction[1]

    def compaction_asked(self) -> CompactionRequest | None:
        """A compaction that somebody asked for and did not get yet."""
        return self.state().compaction

    def compacted_to(self) -> int:
        """Tokens that a compaction could do nothing about; 0 if none failed."""
        return self.state().compacted_to

    def recorded(self) -> Recorded:
        """What the log knows of the conversation by itself."""
        from agi.views.recorded import recorded  # late: only a compaction asks

        return recorded(self._log.db, self.state())

    def approved(self, call_id: str) -> Agreed:
        """What a call may do, after all that was shown and answered about it."""
        return self.turn().agreed(call_id)

    def was_noticed(self, code: str) -> bool:
        """Whether a notice of this code was given in this session."""
        return code in self.state().noticed

    def ledger(self) -> Ledger:
        """What verification has shown in this session."""
        return self.state().ledger

    def known(self, command: str, fingerprint: str) -> VerificationCompleted | None:
        """What a command found on these files, in this session or another one of the workspace."""
        for state in self._sessions_here():
            check = state.ledger.find(command, fingerprint)
            if check is not None:
                event = self._log.read(state.id, check.seq - 1, 1)[0]
                return event.data if isinstance(event.data, VerificationCompleted) else None
        return None

    def took(self, command: str) -> float:
        """How many seconds a command took last, in this session or another one of the workspace."""
        found = (state.ledger.took[command] for state in self._sessions_here() if command in state.ledger.took)
        return next(found, 0.0)

    def _sessions_here(self) -> Iterator[SessionState]:
        """This session, then the latest others in its workspace."""
        own = self.state()
        yield own
        for state in queries.list_sessions(self._log.db, limit=OTHERS, unlisted=True):
            if state.id != own.id and state.workspace_path == own.workspace_path:
                yield state

    def heard(self, seq: int) -> None:
        """Everybody was told of this event; what is said from now on comes behind it."""
        self._seq = max(self._seq, seq)

    def defer(self, *data: EventData) -> None:
        """Remember events that become durable together with the next ones."""
        self._deferred += data
        self.forget()

    async def emit(self, *data: EventData) -> None:
        """Append what was spoken, what was deferred and these; returns when all of it is durable."""
        entries = self._gathered(data)
        if entries:
            await self._append(entries)

    async def finish(self, endings: Sequence[EventData], session_over: EventData) -> None:
        """Write the turn's last events, and the session's too if nothing is queued at that very moment."""
        entries = self._gathered(endings)

        def found(db: sqlite3.Connection) -> list[Entry]:
            queue = queries.session_state(db, self.session_id).queue
            waiting = any(queued.turn_id != self.turn_id for queued in queue)
            return entries if waiting else [*entries, (self.turn_id, session_over)]

        await self._append(found)

    async def steered(self) -> list[Message]:
        """What people said to this turn and it has not taken up yet; once this returns it has, durably.

        Which messages these are is found where it is written: one that was dropped meanwhile is not taken up, and one
        that is cannot be edited or dropped any more. A turn that is to stop takes up none: they are answered after it.
        """
        if not to_take_up(self.state(), self.turn_id):
            return []
        entries = self._gathered(())
        taken: list[str] = []

        def found(db: sqlite3.Connection) -> list[Entry]:
            queue = to_take_up(queries.session_state(db, self.session_id), self.turn_id)
            taken[:] = [one.message_id for one in queue]
            return [*entries, *take_up(queue, self.turn_id)]

        await self._append(found)
        return queries.messages_by_id(self._log.db, self.session_id, taken)

    async def keep_spoken(self) -> None:
        """Log what was shown, so that a stop of the process loses none of it."""
        spoken = self._take()
        if spoken:
            await self._append([(self.turn_id, one) for one in spoken])

    def _gathered(self, data: Sequence[EventData]) -> list[Entry]:
        spoken = self._take()
        entries: list[Entry] = [(self.turn_id, one) for one in (*spoken, *self._deferred, *data)]
        self._deferred.clear()
        self.forget()
        self._logged, self._wait = 0, FIRST_WAIT_S
        return entries

    async def _append(self, entries: Entries) -> None:
        before = self._under_way
        appended = self._keep(self._log.append_nowait(self.session_id, entries, lease=self.lease))
        events = await asyncio.shield(appended)
        self.heard(events[-1].seq if events else 0)
        if before is not None:
            before.result()  # done before ours, as appends are in order; raises what went wrong there

    async def settle(self) -> None:
        """Wait until everything appended so far is on disk, also what a canceled task no longer waits for."""
        if self._under_way is not None:
            await asyncio.wait([self._under_way])

    def deferred_messages(self) -> list[Message]:
        """What the model said last, if it is not in the log yet."""
        return [data.message for data in self._deferred if isinstance(data, ModelOutputCompleted)]

    async def speak(self, delta: ModelOutputDelta) -> None:
        """Show a piece at once. Before another part speaks, the one before it must be in the log (see Cursor)."""
        if self._part != delta.part_id:
            await self.emit()
            await self.settle()
            self._part = delta.part_id
        safe = self._held_back(delta)
        if safe is None:
            return
        if self._first is None:
            self._first = safe
        self._piece.append(safe.delta)
        self._size += len(safe.delta)
        self._log.say_live(self.session_id, self.turn_id, self._seq, safe)
        if self._size >= max(PIECE, self._logged // 2):
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._wait, self._flush)

    def _held_back(self, delta: ModelOutputDelta) -> ModelOutputDelta | None:
        """What may be shown of it: the beginning of a secret waits until it is known to be none."""
        text = self._held + delta.delta
        unsafe = self._log.redactor.unfinished(text)
        self._held = text[len(text) - unsafe :] if unsafe else ""
        if unsafe == len(text):
            self._last = delta
            return None
        if len(text) == len(delta.delta) and not unsafe:
            return delta
        offset = delta.offset + len(delta.delta) - len(text)
        self._last = delta
        return msgspec.structs.replace(delta, delta=text[: len(text) - unsafe], offset=offset)

    def note(self, data: EventData) -> None:
        """Append without waiting, such as a running tool's output."""
        self._keep(self._log.append_nowait(self.session_id, [(self.turn_id, data)], lease=self.lease))

    def _flush(self) -> None:
        spoken = self._take(keep_back=True)
        if spoken:
            self._wait = min(self._wait * 2, LONGEST_WAIT_S)
            self._logged += len(spoken[0].delta)
            self.note(spoken[0])

    def _keep(self, future: asyncio.Future[list[Event]]) -> asyncio.Future[list[Event]]:
        future.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        self._under_way = future
        return future

    def _release(self) -> None:
        """Nothing more follows what was held back, so it is no secret."""
        held, self._held = self._held, ""
        end = self._last.offset + len(self._last.delta)
        rest = msgspec.structs.replace(self._last, delta=held, offset=end - len(held))
        self._first = self._first or rest
        self._piece.append(held)
        self._log.say_live(self.session_id, self.turn_id, self._seq, rest)

    def _take(self, *, keep_back: bool = False) -> tuple[ModelOutputDelta, ...]:
        """What was spoken since the last time, as one piece."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._held and not keep_back:
            self._release()
        first, self._first = self._first, None
        text, self._piece, self._size = "".join(self._piece), [], 0
        if first is None or not text:
            return ()
        return (
            ModelOutputDelta(
                message_id=first.message_id, part_id=first.part_id, kind=first.kind, delta=text, offset=first.offset
            ),
        )
