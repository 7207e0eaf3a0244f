"""The shapes around the log: what is appended, who projects it, where a follower stands.

May import: errors, protocol.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from agi.errors import BadRequest
from agi.protocol.events import Event, EventData, ModelOutputDelta

Entry = tuple[str | None, EventData]
"""An event to be: the turn it belongs to, and what it says."""

Entries = Sequence[Entry] | Callable[[sqlite3.Connection], Sequence[Entry]]
"""Events to be, or how to find them inside the transaction, where what they depend on cannot change any more."""

Check = Callable[[sqlite3.Connection], None]
"""A condition looked at inside the transaction, so that it still holds at the write; raises to refuse."""

Step = Callable[[sqlite3.Connection], None]
"""A numbered change of the database's shape, applied once."""


ENDINGS = frozenset({"turn_completed", "turn_failed", "turn_canceled"})
"""The events that end a turn, be it running or queued."""

CLOSES_TEXT = frozenset({"model_output_completed", "turn_started", "turn_resumed"})
"""After one of these, the part that was open is open no more. An ending is not one: it may be a queued turn's."""


class Lease(Struct, frozen=True):
    """The right to run one session's turns, held by one process at a time."""

    session_id: str
    owner: str
    generation: int


class Projection(Protocol):
    """Tables made from events, written in the events' own transaction."""

    steps: tuple[Step, ...]
    epoch: int
    """Set by the log that writes through it."""

    def apply(self, db: sqlite3.Connection, session_id: str, events: Sequence[Event]) -> None:
        """Fold new events of one session into the tables."""

    def snapshot(self, db: sqlite3.Connection, session_id: str) -> bytes | None:
        """What `session.json` should hold now, or None if there is no such session."""

    def forget(self, db: sqlite3.Connection, session_id: str) -> None:
        """Remove a session's rows."""

    def rolled_back(self) -> None:
        """Drop whatever was remembered of a transaction that did not commit."""


class LiveDelta:
    """A piece of open text that reached us but is not in the log yet; `seq` is the log's end at that moment."""

    __slots__ = ("data", "frames", "seq", "session_id", "ts", "turn_id")

    def __init__(self, seq: int, ts: str, session_id: str, turn_id: str | None, data: ModelOutputDelta) -> None:
        self.seq = seq
        self.ts = ts
        self.session_id = session_id
        self.turn_id = turn_id
        self.data = data
        self.frames: dict[str, bytes] = {}

    @property
    def end(self) -> int:
        """The offset right behind this piece."""
        return self.data.offset + len(self.data.delta)


class Cursor(Struct, frozen=True):
    """Where a reader stands: everything up to `seq`, and the open part up to `offset`, in the log of this `epoch`."""

    seq: int = 0
    offset: int | None = None
    epoch: int = 1

    def __str__(self) -> str:
        offset = "" if self.offset is None else f":{self.offset}"
        return f"{self.seq}{offset}" + (f"@{self.epoch}" if self.epoch != 1 else "")


_CURSOR = r"(\d{1,15})(?::(\d{1,15}))?(?:@(\d{1,15}))?"


def parse_cursor(text: str) -> Cursor:
    """Read `seq`, `seq:offset`, each optionally with `@epoch`."""
    match = re.fullmatch(_CURSOR, text.strip(), re.ASCII)
    if match is None:
        raise BadRequest(
            f"{text[:40]!r} is not a position in a log.",
            code="bad_cursor",
            hint="Send back the id of the last event you received, such as 17 or 17:240.",
        )
    seq, offset, epoch = match.groups()
    return Cursor(int(seq), int(offset) if offset else None, int(epoch or 1))
