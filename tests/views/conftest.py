"""A story told event by event, folded in memory or into tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from agi.eventlog.rows import insert
from agi.eventlog.schema import STEPS, connect, prepare
from agi.protocol import events as ev
from agi.protocol.ids import MESSAGE, PART, SESSION, TURN, new_id
from agi.protocol.messages import Message
from agi.protocol.parts import Part, Text
from agi.protocol.times import to_rfc3339
from agi.views.folding import fold
from agi.views.state import SessionState
from agi.views.tables import Tables

START = 1_767_225_600
"""2026-01-01; each event comes a second after the one before."""


class Book:
    """One session's events, and what they amount to."""

    def __init__(self, db: sqlite3.Connection, tables: Tables) -> None:
        self.db = db
        self.tables = tables
        self.id = new_id(SESSION)
        self.seq = 0
        self._folded: SessionState | None = None
        self.tell(
            None,
            ev.SessionCreated(id=self.id, agent="build", workspace_path="/w", project_path="/w", created_at=self.now),
        )

    @property
    def now(self) -> str:
        return to_rfc3339(START + self.seq + 1)

    @property
    def state(self) -> SessionState:
        assert self._folded is not None
        return self._folded

    def tell(self, turn: str | None, *data: ev.EventData) -> list[ev.Event]:
        """Add events: to the table of events, to the other tables, and to the state."""
        events = []
        for one in data:
            events.append(ev.Event(self.seq + 1, self.now, self.id, turn, one.TYPE, ev.encode_data(one)))
            self.seq += 1
        self.add(*events)
        return events

    def add(self, *events: ev.Event) -> None:
        for event in events:
            insert(self.db, event)
            self._folded = fold(self._folded, event)
        self.tables.apply(self.db, self.id, events)

    def message(self, text: str = "hi", *, role: str = "user", parts: tuple[Part, ...] = (), **kept: object) -> Message:
        made = parts or (Text(text=text, id=new_id(PART)),)
        return Message(id=new_id(MESSAGE), role=role, parts=made, created_at=self.now, status="complete", **kept)  # type: ignore[arg-type]

    def ask(self, text: str = "hi", *, queued: bool = False) -> tuple[str, str]:
        """Add a message to be answered; returns its turn and its id."""
        turn, message = new_id(TURN), self.message(text)
        self.tell(turn, ev.MessageAdded(message=message, queued=queued))
        return turn, message.id

    def start(self, turn: str, message_id: str) -> None:
        self.tell(turn, ev.TurnStarted(message_id=message_id, agent="build", provider="p", model="m"))

    def begin(self, text: str = "hi") -> str:
        """Ask and start to answer; returns the turn."""
        turn, message_id = self.ask(text)
        self.start(turn, message_id)
        return turn

    def say(self, turn: str, *parts: Part) -> Message:
        """The model says something."""
        message = self.message(role="assistant", parts=parts)
        self.tell(turn, ev.ModelOutputCompleted(message=message))
        return message

    def stored_state(self) -> SessionState:
        """The state as the table has it."""
        row = self.db.execute("SELECT state FROM sessions WHERE id=?", (self.id,)).fetchone()
        return msgspec.json.decode(row[0], type=SessionState)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    prepare(tmp_path / "agi.sqlite", (*STEPS, *Tables.steps))
    made = connect(tmp_path / "agi.sqlite")
    made.execute("PRAGMA synchronous=OFF")
    yield made
    made.close()


@pytest.fixture
def tables() -> Tables:
    return Tables()


@pytest.fixture
def book(db: sqlite3.Connection, tables: Tables) -> Book:
    return Book(db, tables)


@pytest.fixture
def new_book(db: sqlite3.Connection, tables: Tables) -> type[Book]:
    """Begins another session in the same tables."""
    return lambda: Book(db, tables)  # type: ignore[return-value]
