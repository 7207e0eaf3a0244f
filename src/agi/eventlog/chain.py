"""The chain: each event's hash covers its own bytes and the hash of the event before it, so no byte changes unnoticed.

A link says how it came about: made when the event was written; made `late`, for events that had none; or begun `anew`,
where a repair could not go on from what stood before. The word is part of what is hashed. Without a signature the
chain shows that something was changed, not by whom, and whoever can write the log can also chain it again: see
docs/replay.md. Pure, save for the database's step. May import: protocol.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from hashlib import sha256
from typing import Literal

import msgspec

from agi.protocol.events import Event, parse_envelope

Kind = Literal["written", "late", "anew"]

BEGIN = "agi log 1"
"""What stands before the first event."""
LATE, ANEW = "late:", "anew:"
_HASH = r"(late:|anew:)?[0-9a-f]{64}"
_PAGE = 5_000


def link(before: str, event: Event) -> str:
    """The hash of an event that is written now; `before` is that of the one before it, empty if it is the first."""
    if before or event.seq == 1:
        return _hash("", before, event)
    return begin_anew(event)  # what stands before has no hash: there is nothing to hold on to


def link_late(before: str, event: Event) -> str:
    """The hash of an event that was written long ago."""
    return LATE + _hash(LATE, before, event) if before or event.seq == 1 else begin_anew(event)


def begin_anew(event: Event) -> str:
    """The hash of an event that is chained to nothing before it."""
    return ANEW + _hash(ANEW, "", event)


def broken_at(events: Iterable[Event], count: int = 0) -> int:
    """The number of the first of a session's events that is not as it was written, or is not there; 0 if all are well.

    There should be so many of them at least.
    """
    before, last = "", 0
    for event in events:
        if event.seq != last + 1 or not fits(before, event):
            return last + 1
        before, last = event.hash, event.seq
    return last + 1 if last < count else 0


def fits(before: str, event: Event) -> bool:
    """Whether the event's hash is the one its bytes and its place in the chain ask for."""
    kind = kind_of(event.hash)
    if kind is None:
        return False
    if kind == "anew":
        made = begin_anew(event)
    else:
        made = link(before, event) if kind == "written" else link_late(before, event)
    return made == event.hash and _is_plain(event)


def kind_of(text: str) -> Kind | None:
    """How a link came about; None if it is no hash at all."""
    found = re.fullmatch(_HASH, text, re.ASCII)
    if found is None:
        return None
    return "late" if found[1] == LATE else "anew" if found[1] == ANEW else "written"


def digest_of(text: str) -> str:
    """The bare hash, as people keep and compare it."""
    return text.rpartition(":")[2]


def chained_late(before: str, events: Iterable[Event]) -> str:
    """Give events that have no hash theirs; gives the last one's."""
    for event in events:
        before = event.hash = link_late(before, event)
    return before


def _hash(word: str, before: str, event: Event) -> str:
    head = digest_of(before) if before else BEGIN
    return sha256(b"%b%b\n%b" % (word.encode(), head.encode(), event.envelope())).hexdigest()


def _is_plain(event: Event) -> bool:
    """Whether the envelope reads as what it was made from: bytes that moved from one column to another are a change."""
    try:
        read = parse_envelope(event.envelope())
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False
    is_head_same = (read.seq, read.ts, read.session_id) == (event.seq, event.ts, event.session_id)
    return is_head_same and (read.turn_id, read.type, read.raw) == (event.turn_id, event.type, event.raw)


def add_column(db: sqlite3.Connection) -> None:
    """Give the events' table a place for the hashes, if it has none."""
    columns = [row[1] for row in db.execute("PRAGMA table_info(events)")]
    if "hash" not in columns:
        db.execute("ALTER TABLE events ADD COLUMN hash TEXT NOT NULL DEFAULT ''")


def chain_old(db: sqlite3.Connection) -> dict[str, str]:
    """Chain, once, the events of a database that had no hashes; gives the last hash of each session."""
    add_column(db)
    heads: dict[str, str] = {}
    after: tuple[str, int] = ("", 0)
    # By bytes: a row that is no text any more is damage, which the repair deals with, and keeps nobody from the others.
    page = (
        "SELECT id, seq, CAST(ts AS BLOB), CAST(session_id AS BLOB), CAST(turn_id AS BLOB), CAST(type AS BLOB),"
        " CAST(data AS BLOB) FROM events WHERE (session_id, seq)>(?,?) AND hash='' ORDER BY session_id, seq LIMIT ?"
    )
    while rows := db.execute(page, (*after, _PAGE)).fetchall():
        found = []
        for rowid, seq, *texts in rows:
            ts, session_id, turn_id, kind = (
                None if one is None else one.decode("utf-8", "replace") for one in texts[:4]
            )
            event = Event(seq, ts or "", session_id or "", turn_id, kind or "", texts[4] or b"")
            heads[event.session_id] = link_late(heads.get(event.session_id, ""), event)
            found.append((heads[event.session_id], rowid))
            after = (event.session_id, seq)
        db.executemany("UPDATE events SET hash=? WHERE id=?", found)
    return heads
