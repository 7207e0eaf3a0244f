"""Frames and readings: what is pending is joined, pieces stay bounded, and a line break never breaks a frame."""

from __future__ import annotations

from agi.eventlog.base import Cursor
from agi.eventlog.follow import Batch, Delivery
from agi.net.sse import SseParser
from agi.protocol.events import Event, Notice
from agi.server.sse import PIECE, Reading, frame
from agi.server.words import envelope_words


def batch(*texts: str, resync: bool = False) -> Batch:
    events = [Event.of(n, "now", "sess_1", None, Notice(code="c", message=text)) for n, text in enumerate(texts, 1)]
    return Batch(deliveries=tuple(Delivery(one, Cursor(one.seq)) for one in events), resync=resync)


def test_a_batch_is_one_piece() -> None:
    """Everything pending goes out in one send."""
    (piece,) = Reading(envelope_words).pieces(batch("a", "b", "c"))
    assert [event.id for event in SseParser().feed(piece)] == ["1", "2", "3"]


def test_a_large_batch_is_several_pieces() -> None:
    """No send grows without bound, however long the past is."""
    pieces = Reading(envelope_words).pieces(batch(*("x" * 100_000 for _ in range(20))))
    assert len(pieces) > 5
    assert all(len(piece) < PIECE + 110_000 for piece in pieces)
    parser = SseParser()
    assert [event.id for piece in pieces for event in parser.feed(piece)] == [str(n) for n in range(1, 21)]


def test_an_empty_batch_is_nothing() -> None:
    """Nothing is sent where there is nothing to tell."""
    assert Reading(envelope_words).pieces(Batch()) == []


def test_a_limit_ends_a_reading_within_a_batch() -> None:
    """What comes after it is not told."""
    reading = Reading(envelope_words, limit=2)
    (piece,) = reading.pieces(batch("a", "b", "c"))
    assert [event.id for event in SseParser().feed(piece)] == ["1", "2"]
    assert reading.over


def test_what_a_snapshot_holds_is_not_told_again() -> None:
    """An event that was written between the follower's start and the snapshot is in the snapshot."""
    reading = Reading(envelope_words, lambda: (2, b"event: resync\ndata: {}\nid: 2\n\n"))
    (start,) = reading.pieces(Batch(resync=True))
    (rest,) = reading.pieces(batch("a", "b", "c"))
    assert [event.id for event in SseParser().feed(start + rest)] == ["2", "3"]


def test_line_breaks_in_data_become_spaces() -> None:
    """Between two tokens of JSON they mean nothing, and within a string there are none."""
    assert frame("x", b'{\n"a":\r\n1}') == b'event: x\ndata: { "a":  1}\n'
