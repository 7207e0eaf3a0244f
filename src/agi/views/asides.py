"""What happened beside the messages of a page: questions answered, checks, waits; and how its calls went or go.

A page of messages is told what stands between them in the log, so that whoever opens a session later sees what those
saw who were there. May import: protocol, views.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from agi.protocol.messages import Message
from agi.views.tables import QUEUED

MOST = 1000
"""How many are told of one page, the latest."""
TYPES = (
    *("approval_granted", "approval_denied", "verification_completed", "model_backed_off", "model_switched"),
    *("context_compacted", "compaction_failed", "notice"),
)
"""The events that are told."""
LONGEST = 4000
"""Of their data, what is longer is left out: the output of a check, the summary of what was said."""
OUTPUT = 20_000
"""How many characters are told of what a running call has said, the latest."""
_STARTED, _CALL = "tool_call_started", "tool_call_completed"
_FOUND = f"""
SELECT seq, ts, turn_id, type, data FROM events WHERE session_id=? AND seq>=? AND seq<?
AND type IN ({",".join("?" * (len(TYPES) + 2))}) ORDER BY seq DESC LIMIT {MOST}"""  # noqa: S608  # marks and a number
_SAID = "SELECT seq, data FROM events WHERE session_id=? AND seq>? AND type='tool_output_delta' ORDER BY seq DESC"
_END = 2**62


Plain = str | int | float | bool | None


class Aside(Struct, frozen=True, kw_only=True):
    """An event of the log, and the message of a person or an agent that it follows; without one, it comes first."""

    seq: int
    ts: str
    turn_id: str | None
    type: str
    data: dict[str, Plain]
    after: str


class Took(Struct, frozen=True, kw_only=True):
    """How a call went, beside its result, or goes."""

    duration_ms: int = 0
    interrupted: bool = False
    blocked: bool = False
    running: bool = False
    output: str = ""
    """What it has said so far, while it runs."""
    output_seq: int = 0
    """The event up to which that goes."""


class _Call(Took, frozen=True, kw_only=True):
    tool_call_id: str


class _Id(Struct, frozen=True):
    id: str


class _Started(Struct, frozen=True):
    tool_call: _Id


class _Said(Struct, frozen=True):
    tool_call_id: str
    chunk: str


def asides(
    db: sqlite3.Connection, session_id: str, messages: Sequence[Message], *, before: str | None, has_more: bool
) -> tuple[list[Aside], dict[str, Took]]:
    """What the log has from the first of these messages up to the message `before`; calls by their id."""
    said = _places(db, session_id, messages)
    shown = [(place, one.id) for one in messages if one.role != "tool" and (place := said.get(one.id)) is not None]
    start = min(said.values(), default=0) if has_more else 0
    end = _places_of(db, session_id, [before]).get(before, _END) if before else _END
    told: list[Aside] = []
    calls: dict[str, Took] = {}
    started: dict[str, int] = {}
    for seq, ts, turn_id, kind, data in db.execute(
        _FOUND, (session_id, start, end, *TYPES, _STARTED, _CALL)
    ).fetchall():
        raw = data if isinstance(data, bytes) else data.encode()
        if kind == _CALL:
            call = msgspec.json.decode(raw, type=_Call)
            calls[call.tool_call_id] = Took(
                duration_ms=call.duration_ms, interrupted=call.interrupted, blocked=call.blocked
            )
            continue
        if kind == _STARTED:
            started[msgspec.json.decode(raw, type=_Started).tool_call.id] = seq
            continue
        at = bisect_left(shown, (seq, ""))
        after = shown[at - 1][1] if at else ""
        told.append(Aside(seq=seq, ts=ts, turn_id=turn_id, type=kind, data=_short(raw), after=after))
    told.reverse()
    running = {call_id: seq for call_id, seq in started.items() if call_id not in calls}
    return told, calls | {call_id: _so_far(db, session_id, call_id, seq) for call_id, seq in running.items()}


def _so_far(db: sqlite3.Connection, session_id: str, call_id: str, seq: int) -> Took:
    pieces: list[str] = []
    last = size = 0
    for at, data in db.execute(_SAID, (session_id, seq)):
        said = msgspec.json.decode(data, type=_Said)
        if said.tool_call_id != call_id:
            continue
        last = last or at
        pieces.append(said.chunk)
        size += len(said.chunk)
        if size >= OUTPUT:
            break
    return Took(running=True, output="".join(reversed(pieces))[-OUTPUT:], output_seq=last)


def _short(raw: bytes) -> dict[str, Plain]:
    whole = msgspec.json.decode(raw, type=dict[str, object])
    plain = {name: value for name, value in whole.items() if value is None or isinstance(value, str | int | float)}
    return {name: value for name, value in plain.items() if not (isinstance(value, str) and len(value) > LONGEST)}


def _places(db: sqlite3.Connection, session_id: str, messages: Sequence[Message]) -> dict[str, int]:
    """Where these stand in the log; what waits stands nowhere yet."""
    found = _places_of(db, session_id, [one.id for one in messages])
    return {message_id: place for message_id, place in found.items() if place < QUEUED}


def _places_of(db: sqlite3.Connection, session_id: str, ids: Sequence[str]) -> dict[str, int]:
    """By the index of ids (the plus keeps the other one out, which would read the whole session)."""
    marks = ",".join("?" * len(ids))
    rows = db.execute(f"SELECT id, position FROM messages WHERE id IN ({marks}) AND +session_id=?", (*ids, session_id))  # noqa: S608
    return dict(rows)
