"""How a turn is told to whoever asked for it and stays on the line: as JSON when it has ended, or as a stream of it.

The turn itself belongs to the daemon: it goes on when the client has gone. May import: protocol, sessions, server.
"""

from __future__ import annotations

from msgspec import UNSET, Raw, Struct, UnsetType

from agi.errors import Unavailable
from agi.eventlog.base import ENDINGS, Cursor
from agi.eventlog.hub import Item
from agi.protocol import events as ev
from agi.protocol.messages import Message, StopReason, Usage
from agi.protocol.sessions import TurnStatus
from agi.server.answers import Json
from agi.server.errors import error_answer, failed_turn
from agi.server.request import Request
from agi.server.sse import EventStream, Reading, told
from agi.server.words import dotted_words
from agi.views.queries import Turn


class Ending(Struct, frozen=True, kw_only=True):
    """How a turn ended, and with which message."""

    turn_id: str
    """The turn that answered: another one, if it took up the message."""
    status: TurnStatus
    message: Message | None
    stop_reason: StopReason
    usage: Usage
    verification: ev.Verification
    output: Raw | UnsetType = UNSET
    note: str | UnsetType = UNSET


class TurnReading(Reading):
    """One turn, to its end; from the beginning of the session where `first` says so."""

    def __init__(self, turn_id: str, epoch: int, *, first: str = "") -> None:
        super().__init__(dotted_words(epoch))
        self._turn_id = turn_id
        self._first = first

    def wants(self, item: Item) -> bool:
        """What belongs to the turn, and what comes first."""
        return item.turn_id == self._turn_id or (isinstance(item, ev.Event) and item.type == self._first)

    def ends_with(self, item: Item) -> bool:
        """The turn's end is the end; if another turn took up its message, that one's."""
        if not isinstance(item, ev.Event) or item.type not in ENDINGS:
            return False
        data = item.data
        if isinstance(data, ev.TurnCanceled) and data.steered_into is not UNSET:
            self._turn_id = data.steered_into
            return False
        return True


def stream_turn(
    request: Request[object, object], session_id: str, turn_id: str, start: Cursor, *, first: str = ""
) -> EventStream:
    """Tell the turn as it happens; `start` is where the log ended before it was asked for."""
    batches = request.harness.follow(session_id, start)
    reading = TurnReading(turn_id, request.harness.log.epoch, first=first)
    return EventStream(told(batches, reading), request.shared)


async def wait_for_turn(request: Request[object, object], session_id: str, turn_id: str) -> Ending | Json:
    """Wait until the turn has ended; a failure is an answer already."""
    try:
        turn = await request.wait(request.harness.wait_turn(session_id, turn_id))
    except Unavailable as error:
        return error_answer(error, turn_id=turn_id)
    return _ending(request, turn)


def _ending(request: Request[object, object], turn: Turn) -> Ending | Json:
    data = ev.decode_data(f"turn_{turn.status}", turn.outcome or b"{}")
    said = [one for one in request.harness.turn_messages(turn.session_id, turn.id) if one.role == "assistant"]
    last = said[-1] if said else None
    if isinstance(data, ev.TurnFailed):
        return failed_turn(data.error, turn.id)
    if isinstance(data, ev.TurnCompleted):
        final = next((one for one in said if one.id == data.message_id), last)
        return Ending(
            turn_id=turn.id,
            status=turn.status,
            message=final,
            stop_reason=data.stop_reason,
            usage=data.usage,
            verification=ev.in_todays_words(data.verification),
            output=data.output,
            note=data.note,
        )
    usage = data.usage if isinstance(data, ev.TurnCanceled) else Usage()
    return Ending(
        turn_id=turn.id,
        status=turn.status,
        message=last,
        stop_reason="canceled",
        usage=usage,
        verification="not_run",
    )
