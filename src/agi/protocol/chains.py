"""What a look at a session's log found: whether its hash chain holds, and where it does not. May import: protocol."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Place = Literal["database", "mirror", "session.json", "head"]
Problem = Literal["changed", "missing", "reordered", "truncated", "unchained", "unreadable", "unknown"]


class LogFinding(Struct, frozen=True, kw_only=True):
    """Something that is not as it was written."""

    place: Place
    """Where: the database, the mirror, the snapshot beside it, or a hash that somebody kept."""
    problem: Problem
    seq: int
    """The event it is about; 0 if it is about no single one."""
    message: str


class Span(Struct, frozen=True):
    """Events from one to another, both included."""

    first: int
    last: int


class LogCheck(Struct, frozen=True, kw_only=True):
    """One session's log, looked through."""

    session_id: str
    intact: bool
    """Whether nothing was found."""
    events: int
    head: str
    """The hash of the last event: keep it elsewhere, and a later look can tell whether all up to here is unchanged."""
    findings: tuple[LogFinding, ...] = ()
    """The first of them in each place, in the order of the events."""
    late: tuple[Span, ...] = ()
    """Events that were chained some time after they were written, by an update or a repair."""
    anew: tuple[int, ...] = ()
    """Where the chain begins anew, because a repair could not go on from what stood before."""
    head_seq: int = 0
    """The event that the given head is the hash of; 0 if none was given, or none has it."""
    notes: tuple[str, ...] = ()
    """What is worth knowing and no change."""
