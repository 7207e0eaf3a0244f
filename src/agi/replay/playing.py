"""Playing a session again: the real loop, turn by turn, each event held against the one that was recorded.

Time does not pass: where everything waits, the clock goes on to whatever comes next. Where nothing comes, the record
says why: somebody canceled, the process died, or the record ends. May import: protocol, loop, views, sessions, replay.
"""

from __future__ import annotations

import asyncio
import contextlib
import selectors
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from agi.context.base import Context
from agi.errors import AgiError, Invalid
from agi.loop.base import Outcome, Plan, Ports
from agi.loop.turn import run_turn
from agi.models.base import Model
from agi.models.breaker import Breaker
from agi.protocol import events as ev
from agi.protocol.events import Event
from agi.protocol.policies import Budgets
from agi.replay.answering import RecordedAside, RecordedModel
from agi.replay.cassette import Cassette, Conditions, Request
from agi.replay.knowing import NoMedia, RecordedFacts, delegated
from agi.replay.ports import RecordedPeople, RecordedToolbox, TapeJournal
from agi.replay.requests import Asked, difference
from agi.replay.tape import ENDINGS, Difference, Reached, Tape
from agi.sessions.closing import after_cancel
from agi.sessions.contexts import recorded_head
from agi.sessions.ending import session_ending, turn_ending
from agi.views import queries
from agi.views.state import TurnState
from agi.views.told import told_messages

NEVER_S = 1e9
SHOWN = 2_000
ANOTHER = "another request to"
"""What the loop made where it would send a model something else than was recorded."""
INTERFERING = ("cancel_requested", "compaction_requested")
"""What somebody asks of a turn that runs; given to it no sooner than then."""


CLOSING = ("approval_denied", "tool_call_completed", "model_output_completed", "verification_completed")
"""What is made of what was open when a turn ended."""


class Differing(Struct, frozen=True, kw_only=True):
    """Where a session, played again, went another way."""

    seq: int
    recorded_type: str
    recorded: str
    made_type: str
    made: str
    request: str = ""
    """Where a model was sent something else: what, as a diff."""


class Played(Struct, frozen=True, kw_only=True):
    """What came of playing a session again."""

    session_id: str
    identical: bool
    events: int
    """The number of the last event that came out as recorded; those that were only folded count too."""
    compared: int
    """Events that the loop made again, each the same to the byte."""
    started_at: int
    """The event after which it began: the state was folded up to there."""
    turns: int = 0
    requests: int = 0
    requests_checked: int = 0
    """Requests that were the same as those the cassette has digests of."""
    skipped: tuple[str, ...] = ()
    """What a turn would make itself and was taken as recorded."""
    difference: Differing | None = None
    made: tuple[Request, ...] = ()
    pieces: tuple[bytes, ...] = ()
    """What those requests consist of."""


def play(
    events: Sequence[Event],
    conditions: Conditions,
    requests: Sequence[Request] = (),
    pieces: Sequence[bytes] = (),
    *,
    after: int = 0,
    until: int | None = None,
) -> Played:
    """Play events `after` + 1 to `until`; runs an event loop of its own, so not on one.

    Not every turn can be taken up at every event as if nothing had been before: then it is played from its beginning.
    """
    given = (events, conditions, requests, pieces, until)
    played = _play(*given, after)
    start = _turn_start(events, after)
    if played.difference is None or not 0 < start < played.started_at:
        return played
    whole = _play(*given, start)
    return whole if whole.difference is None or whole.difference.seq > after else played


def _turn_start(events: Sequence[Event], after: int) -> int:
    """The event with which the turn began, or went on, that was open after an event; 0 if none was."""
    start = 0
    for event in events[:after]:
        if event.type in ("turn_started", "turn_resumed"):
            start = event.seq
        elif event.type in ENDINGS and start and event.turn_id == events[start - 1].turn_id:
            start = 0
    return start


def _play(
    events: Sequence[Event],
    conditions: Conditions,
    requests: Sequence[Request],
    pieces: Sequence[bytes],
    until: int | None,
    after: int,
) -> Played:
    selector = _NoWait()
    loop = asyncio.SelectorEventLoop(selector)
    base = loop.time
    selector.skipped = 0.0
    loop.time = lambda: base() + selector.skipped  # type: ignore[method-assign]
    tape = Tape(events, until)
    try:
        return loop.run_until_complete(_Play(tape, conditions, requests, pieces).run(after))
    finally:
        tape.close()
        loop.close()


def play_cassette(cassette: Cassette, *, after: int = 0, until: int | None = None) -> Played:
    """Play a cassette, held against its requests too."""
    conditions, requests = cassette.head.conditions, cassette.requests
    return play(cassette.events, conditions, requests, cassette.pieces, after=after, until=until)


class _NoWait(selectors.DefaultSelector):
    """Never waits: time goes on by as much as would have been waited for."""

    skipped = 0.0

    def select(self, timeout: float | None = None) -> Any:
        """What is ready now."""
        found = super().select(0)
        if not found and timeout is not None and timeout > 0:
            self.skipped += timeout
        elif not found and timeout is None:
            return super().select(0.05)
        return found


class _Play:
    def __init__(
        self, tape: Tape, conditions: Conditions, requests: Sequence[Request], pieces: Sequence[bytes]
    ) -> None:
        self._tape = tape
        self._conditions = conditions
        self._expected = {one.answered_at: one for one in requests}
        self._pieces = pieces
        self._made: list[Request] = []
        self._sent: dict[bytes, int] = {}
        self._checked = 0
        self._turns: set[str] = set()
        self._skipped: list[str] = []
        self._facts = RecordedFacts(tape, conditions)

    async def run(self, after: int) -> Played:
        tape = self._tape
        problem: Differing | None = None
        began = 0
        try:
            self._begin_at(min(after, len(tape.events)))
            began = tape.at
            while tape.at < len(tape.events):
                await self._next()
        except Reached:
            pass
        except Difference as found:
            problem = _told(found)
        except AgiError:
            raise
        except Exception as error:  # whatever events that never were a session make of the fold or the loop
            text = f"Its events do not fit each other at event {tape.at + 1}: {type(error).__name__}."
            raise Invalid(text, code="bad_cassette", hint="It is not the record of a session.") from error
        return Played(
            session_id=tape.session_id,
            identical=problem is None,
            events=tape.at,
            compared=tape.compared,
            started_at=began,
            turns=len(self._turns),
            requests=len(self._made),
            requests_checked=self._checked,
            skipped=tuple(self._skipped),
            difference=problem,
            made=tuple(self._made),
            pieces=tuple(self._sent),
        )

    def _begin_at(self, start: int) -> None:
        """Fold up to an event; within an answer, up to its beginning: half an answer is no state to go on from.

        What a fork carried over was no turn of it, so that is folded too.
        """
        events = self._tape.events
        start = max(start, next((one.seq for one in events if one.type == "session_forked"), 0))
        while 0 < start < len(events) and not _is_boundary(events[start - 1], events[start]):
            start -= 1
        while self._tape.at < start:
            self._tape.supply()

    async def _next(self) -> None:
        """Supply what is no turn's, and play a turn where one is open."""
        tape = self._tape
        state = tape.state() if tape.at else None
        if state is None or state.turn is None:
            tape.turn_id = ""
            tape.supply()
            return
        turn = state.turn
        tape.turn_id = turn.id
        self._supply_proposal(turn)
        while tape.at < len(tape.events) and self._is_opening(tape.events[tape.at]):
            tape.supply()
        self._turns.add(turn.id)  # one that was taken up after a crash is still one
        await self._play_turn()

    def _supply_proposal(self, turn: TurnState) -> None:
        """The steps that a preflight proposed: what the model said of them is not in the log, so they are given."""
        tape = self._tape
        proposed = next((one for one in tape.ahead() if one.type == "preflight_requested"), None)
        if not turn.preflight or proposed is None:
            return
        self._skipped.append(f"{turn.id}: the plan that was proposed, {proposed.seq - tape.at} events")
        while tape.at < proposed.seq:
            tape.supply()

    def _is_opening(self, event: Event) -> bool:
        """What was there before the loop began to work."""
        is_over = event.turn_id == self._tape.turn_id and (_ends(event, event.turn_id) or event.type == "turn_resumed")
        return not self._tape.is_loops(event) and not is_over and event.type not in INTERFERING

    async def _play_turn(self) -> None:
        tape = self._tape
        journal = TapeJournal(tape)
        plan, ports = self._prepared(journal)
        running = asyncio.create_task(run_turn(plan, ports))
        await asyncio.wait({running}, timeout=NEVER_S)
        if running.done():
            self._finish(journal, running.result())
            return
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        if not journal.turn().cancel_requested:
            self._supply_until(("cancel_requested", "turn_resumed", "turn_canceled"))
            if tape.at >= len(tape.events):
                return  # the record ends here
            if tape.supply().type != "cancel_requested":
                return  # the process died, or whoever found the log closed the turn
        self._finish(journal, None)

    def _supply_until(self, kinds: tuple[str, ...]) -> None:
        """Take as given what came while everything waited; what only the loop makes is missing then."""
        tape = self._tape
        while tape.at < len(tape.events):
            event = tape.events[tape.at]
            if event.turn_id == tape.turn_id and event.type in kinds:
                return
            if tape.is_loops(event) or _ends(event, tape.turn_id):
                raise Difference(event.seq, event, "nothing: it waits for an answer that the record does not have", b"")
            tape.supply()

    def _finish(self, journal: TapeJournal, outcome: Outcome | None) -> None:
        """The turn's last events, as its runner writes them."""
        tape = self._tape
        if tape.at >= len(tape.events):
            return
        turn = journal.turn()
        last = turn_ending(outcome, turn, 0.0)
        loose: list[ev.EventData] = []
        if not isinstance(last, ev.TurnCompleted):
            history = [*queries.turn_messages(tape.db, tape.session_id, turn.id), *journal.deferred_messages()]
            loose = after_cancel(turn, history, turn.cancel_reason)
        deferred = journal.take_deferred()
        for data in (*deferred, *loose, last):
            if tape.at >= len(tape.events):
                return
            self._supply_others()
            tape.match(data)
        if tape.at < len(tape.events) and tape.events[tape.at].type.startswith("session_"):
            over = session_ending(last)
            if tape.events[tape.at].type in ("session_completed", "session_failed", "session_canceled"):
                tape.match(over)

    def _supply_others(self) -> None:
        tape = self._tape
        while tape.at < len(tape.events):
            event = tape.events[tape.at]
            closes = event.type in CLOSING
            if (
                tape.is_loops(event)
                or (closes and event.turn_id == tape.turn_id)
                or _ends(event, tape.turn_id)
                or event.type == "preflight_resolved"
            ):
                return
            tape.supply()

    def _prepared(self, journal: TapeJournal) -> tuple[Plan, Ports]:
        tape = self._tape
        state = tape.state()
        turn = state.turn
        assert turn is not None  # noqa: S101 - it plays
        given = self._conditions_of(turn)
        own = state.budget or Budgets()
        head = recorded_head(tape, state)  # type: ignore[arg-type]  # it reads, as a log does
        plan = Plan(
            session_id=state.id,
            turn_id=turn.id,
            agent=turn.agent,
            system=Context(head.sections).system if head is not None else "",
            model=self._model(turn.provider, turn.model),
            fallback=self._fallback,
            breaker=Breaker,
            facts=self._facts,
            history=tuple(told_messages(tape.db, state, turn.id)),
            options=turn.options or {},
            schema=_schema(turn),
            media=NoMedia(),
            max_steps=given.max_steps.get(turn.agent, 1_000_000),
            turn_budget=own.per_turn or given.turn_budget,
            session_budget=own.per_session or given.session_budget,
            session_seconds=state.seconds,
            verify=given.verify,
            verify_asks=given.verify_asks,
            review=given.review,
            reviewer=lambda: self._aside(turn),
            compaction=given.compaction,
            summariser=lambda: self._aside(turn),
            delegated=lambda: (delegated(tape, turn.id), delegated(tape)),
        )
        toolbox = RecordedToolbox(tape, given.tools.get(turn.agent, ()), given.known_tools)
        return plan, Ports(journal=journal, toolbox=toolbox, people=RecordedPeople(tape))

    def _conditions_of(self, turn: TurnState) -> Conditions:
        """What counted for a turn: as its beginning says, and in logs of older versions, when the cassette was made."""
        given = self._conditions
        began = next((one.data for one in self._tape.of_turn() if isinstance(one.data, ev.TurnStarted)), None)
        if began is None or began.settings is UNSET:
            return given
        then = began.settings
        return replace(
            given,
            max_steps={**given.max_steps, turn.agent: then.max_steps},
            turn_budget=then.turn_budget,
            session_budget=then.session_budget,
            verify=then.verify,
            verify_asks=given.verify_asks if then.verify_asks is UNSET else then.verify_asks,
            review=then.review,
            compaction=then.compaction,
        )

    def _model(self, provider: str, name: str) -> Model:
        known = next((one for one in self._conditions.models if (one.provider, one.model) == (provider, name)), None)
        return RecordedModel(self._tape, provider, name, schema=known.takes_schema if known else True, hear=self._heard)

    def _aside(self, turn: TurnState) -> Model:
        """Who summed up or reviewed, by what the record says of it."""
        provider, name = turn.provider, turn.model
        for event in self._tape.ahead():
            if isinstance(event.data, ev.UsageRecorded):
                provider, name = event.data.provider, event.data.model
                break
        return RecordedAside(self._tape, provider, name, self._heard)

    def _fallback(self, provider: str, name: str) -> Model | None:
        for event in self._tape.ahead():
            if self._tape.is_loops(event) and not isinstance(
                event.data, ev.Notice
            ):  # one of those waits to be compared
                data = event.data
                is_next = isinstance(data, ev.ModelSwitched) and (data.from_provider, data.from_model) == (
                    provider,
                    name,
                )
                return self._model(data.provider, data.model) if is_next else None  # type: ignore[union-attr]
        return None

    def _heard(self, asked: Asked) -> None:
        places = tuple(self._sent.setdefault(piece, len(self._sent)) for piece in asked.pieces)
        request = replace(asked.request, pieces=places)
        self._made.append(request)
        expected = self._expected.get(request.answered_at)
        if expected is None:
            return
        if expected.digest != request.digest:
            raise Difference(
                request.answered_at,
                None,
                f"{ANOTHER} {request.provider}/{request.model} ({request.messages} messages)",
                f"{request.digest} where {expected.digest} was recorded".encode(),
                difference(expected, self._pieces, asked),
            )
        self._checked += 1


def _is_boundary(before: Event, after: Event) -> bool:
    """Whether the loop can go on between two events: not within an answer, nor within what is one write of it."""
    return before.type != "model_output_delta" and after.type not in ("usage_recorded", "model_output_completed")


def _ends(event: Event, turn_id: str | None) -> bool:
    return event.type in ENDINGS and event.turn_id == turn_id


def _schema(turn: TurnState) -> Any:
    from agi.loop.schemas import checked_schema

    return checked_schema(turn.options)


def _told(found: Difference) -> Differing:
    return Differing(
        seq=found.seq,
        recorded_type=found.recorded.type if found.recorded is not None else "",
        recorded=found.recorded.raw.decode(errors="replace")[:SHOWN] if found.recorded is not None else "",
        made_type=found.made,
        made=found.data.decode(errors="replace")[:SHOWN],
        request=found.request,
    )
