"""Event streams are read as the standard says, however they were cut."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.net.errors import NetError
from agi.net.sse import SseEvent, SseParser, sse_events


def reference(stream: bytes) -> list[SseEvent]:
    """The standard's algorithm, line by line and with nothing clever about it."""
    stream = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events: list[SseEvent] = []
    kind, data, last_id = "", b"", None
    for line in stream.split(b"\n")[:-1]:
        if line == b"":
            if data:
                events.append(SseEvent(kind or "message", data[:-1], last_id))
            kind, data = "", b""
            continue
        if line.startswith(b":"):
            continue
        name, value = line.split(b":", 1) if b":" in line else (line, b"")
        value = value[1:] if value.startswith(b" ") else value
        if name == b"event":
            kind = value.decode(errors="replace")
        elif name == b"data":
            data += value + b"\n"
        elif name == b"id" and b"\0" not in value:
            last_id = value.decode(errors="replace")
    return events


def events_of(stream: bytes, cuts: set[int] | frozenset[int] = frozenset()) -> list[SseEvent]:
    parser = SseParser()
    marks = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    return [event for start, end in pairwise(marks) for event in parser.feed(stream[start:end])]


LINES = st.sampled_from(
    [
        b"",
        b"data: one",
        b"data:two",
        b"data:  three",
        b"data",
        b"data:",
        "data: h\u00e9\u2028\U0001f600".encode(),
        b"event: ping",
        b"event",
        b"id: 7",
        b"id",
        b"id: a\0b",
        b"retry: 250",
        b"retry: x",
        b": comment",
        b":",
        b"other: thing",
        b" data: spaced",
        b"data : spaced",
        b"\xff\xfe: \xff",
        b"event: \xff",
    ]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n", b"\r\r"])
STREAMS = st.builds(
    lambda start, lines: start + b"".join(line + end for line, end in lines),
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(st.tuples(LINES, ENDS), max_size=12),
)


@given(STREAMS, st.sets(st.integers(0, 300)))
def test_any_cut_of_a_stream_gives_the_events_of_the_standard(stream: bytes, cuts: set[int]) -> None:
    """Line ends, characters and marks may be cut anywhere."""
    assert events_of(stream, cuts) == reference(stream)


@given(st.binary(max_size=60), st.sets(st.integers(0, 60)))
def test_any_bytes_at_all_are_read_as_the_standard_says(stream: bytes, cuts: set[int]) -> None:
    """Garbage makes no event and no error."""
    assert events_of(stream + b"\n\n", cuts) == reference(stream + b"\n\n")


def test_an_event_is_told_at_its_blank_line_and_not_before() -> None:
    """A reader acts on whole events only, and on each as soon as it is whole."""
    parser = SseParser()
    assert parser.feed(b"event: delta\ndata: {}\n") == []
    assert parser.feed(b"\n") == [SseEvent("delta", b"{}")]
    assert parser.feed(b"data: a\r\n\r") == [SseEvent("message", b"a")]
    assert parser.feed(b"\ndata: b\n\n") == [SseEvent("message", b"b")]


def test_ids_last_until_the_next_one_and_retry_is_remembered() -> None:
    """Both are what a reader needs to connect anew."""
    parser = SseParser()
    assert parser.feed(b"id: 5:12\ndata: a\n\ndata: b\n\nid: 6\nretry: 250\n\n") == [
        SseEvent("message", b"a", "5:12"),
        SseEvent("message", b"b", "5:12"),
    ]
    assert (parser.last_id, parser.retry) == ("6", 250)
    parser.feed(b"retry: " + b"9" * 5000 + b"\n\n")
    assert parser.retry == 250


ERROR = b'{\n  "error": {\n    "code": 503,\n    "message": "data: overloaded"\n  }\n}'


@given(st.sets(st.integers(0, 120)), st.sampled_from([b"", b"\n", b"\n\n", b"\r\n\r\n"]))
def test_bare_json_is_told_where_it_is_asked_for(cuts: set[int], end: bytes) -> None:
    """A server that has begun a stream may write an error into it as it is, with or without a blank line after it."""
    stream = b"data: a\r\n\r\n" + ERROR + end
    marks = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    parser = SseParser(bare_json=True)
    told = [event for start, stop in pairwise(marks) for event in parser.feed(stream[start:stop])]

    assert [event.data for event in (*told, *parser.finish())] == [b"a", ERROR]


@given(STREAMS, st.sets(st.integers(0, 300)))
def test_all_else_is_read_as_the_standard_says_then_too(stream: bytes, cuts: set[int]) -> None:
    """Only what would be dropped can become an event."""
    parser = SseParser(bare_json=True)
    marks = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    told = [event for start, stop in pairwise(marks) for event in parser.feed(stream[start:stop])]

    assert [*told, *parser.finish()] == reference(stream)


def test_the_standard_drops_bare_json_and_what_the_end_cuts_off() -> None:
    """Unless it was asked for; half an event is never told."""
    assert events_of(b"[1]\n\n{}\n\n") == []
    for parser in (SseParser(), SseParser(bare_json=True)):
        assert parser.feed(b"data: {}\n") == []
        assert parser.finish() == []


@pytest.mark.parametrize("size", [1, 50, 200])
def test_an_event_over_the_limit_is_refused_however_it_is_cut(size: int) -> None:
    """A peer cannot fill our memory with one event."""
    long = b"data: " + b"a" * 100 + b"\n\n"
    parser = SseParser(max_event=64)
    with pytest.raises(NetError, match="64 bytes"):
        [parser.feed(long[at : at + size]) for at in range(0, len(long), size)]


def test_many_events_may_exceed_the_limit_together() -> None:
    """The limit is for one event, not for what happens to arrive at once."""
    assert len(SseParser(max_event=64).feed(b"data: 0123456789\n\n" * 10)) == 10


def test_a_long_event_in_small_pieces_costs_linear_time() -> None:
    """Four megabytes in pieces of sixteen bytes take no noticeable time."""
    parser = SseParser()
    parser.feed(b"data: ")
    for _ in range(262_144):
        parser.feed(b"0123456789abcdef")
    assert len(parser.feed(b"\n\n")[0].data) == 4 * 1024 * 1024


async def test_a_stream_of_pieces_becomes_a_stream_of_events() -> None:
    """An event that the end cuts off is dropped."""

    async def pieces() -> AsyncIterator[bytes]:
        yield b"data: h\xc3"
        yield b"\xa9\n\ndata: b\n\nda"
        yield b"ta: cut off\n"

    assert [event.data.decode() async for event in sse_events(pieces())] == ["hé", "b"]
