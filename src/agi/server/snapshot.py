"""Where a reader starts over whose cursor is of another log: the session, the text that is open, and up to which event.

May import: protocol, sessions, server.sse.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from agi.eventlog.base import Cursor
from agi.protocol.events import DeltaKind, ModelOutputDelta
from agi.protocol.sessions import Session
from agi.server.sse import frame
from agi.sessions.harness import Harness
from agi.views.state import SessionState

PAGE = 1000


class OpenPart(Struct, frozen=True, kw_only=True):
    """A part that is being written, as far as the log has it; the deltas that follow go on from its end."""

    message_id: str
    part_id: str
    kind: DeltaKind
    text: str


class Resync(Struct, frozen=True, kw_only=True):
    """`resync`: forget what you had. This is how the session stands at event `seq`; what follows comes after it."""

    session: Session
    open_text: tuple[OpenPart, ...]
    seq: int
    turn_id: str | None = None
    """The turn that runs; the session's `last_turn_id` may be one that waits."""


def resync_frame(harness: Harness, session_id: str) -> tuple[int, bytes]:
    """Up to which event the snapshot goes, and the whole frame that tells it."""
    state = harness.state(session_id)
    session = harness.session(session_id)  # with what workers below it ask
    running = None if state.turn is None else state.turn.id
    told = Resync(session=session, open_text=open_text(harness, state), seq=state.last_seq, turn_id=running)
    cursor = Cursor(state.last_seq, None, harness.log.epoch)
    return state.last_seq, frame("resync", msgspec.json.encode(told)) + f"id: {cursor}\n\n".encode()


def open_text(harness: Harness, state: SessionState) -> tuple[OpenPart, ...]:
    """What the model is saying at this moment, as far as the log has it."""
    turn = state.turn
    if turn is None or not turn.open_message:
        return ()
    parts: dict[str, OpenPart] = {}
    after = turn.open_seq - 1
    while after < state.last_seq and (page := harness.log.read(state.id, after, PAGE)):
        after = page[-1].seq
        for event in page:
            data = event.data
            if event.seq <= state.last_seq and isinstance(data, ModelOutputDelta):
                parts[data.part_id] = _longer(parts.get(data.part_id), data)
    return tuple(part for part in parts.values() if part.message_id == turn.open_message)


def _longer(part: OpenPart | None, data: ModelOutputDelta) -> OpenPart:
    text = (part.text if part else "") + data.delta
    return OpenPart(message_id=data.message_id, part_id=data.part_id, kind=data.kind, text=text)
