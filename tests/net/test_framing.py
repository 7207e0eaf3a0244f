"""A response is cut out of bytes, wherever the network cut them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.net.errors import NetError
from agi.net.framing import ResponseParser

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nh\xc3\xa9ll\r\n1\r\no\r\n0\r\nx-trailer: t\r\n\r\n"
)
COUNTED = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nh\xc3\xa9llo"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"


def parsed(data: bytes, *, bodiless: bool = False) -> ResponseParser:
    parser = ResponseParser("a.example:80", bodiless=bodiless)
    parser.feed(data)
    return parser


@given(st.sampled_from([CHUNKED, COUNTED, INTERIM + CHUNKED, INTERIM + COUNTED]), st.sets(st.integers(1, 200)))
def test_any_cut_of_a_response_gives_the_same_response(data: bytes, cuts: set[int]) -> None:
    """Status, headers and body do not depend on how bytes arrive; interim responses leave no trace."""
    parser = ResponseParser("a.example:80", bodiless=False)
    marks = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    for start, end in pairwise(marks):
        assert not parser.complete
        parser.feed(data[start:end])
    assert (parser.status, parser.take(), parser.complete, parser.keep_alive) == (200, "héllo".encode(), True, True)
    assert "link" not in parser.headers
    assert "x-trailer" not in parser.headers


def test_repeated_headers_are_joined_under_their_lower_case_name() -> None:
    """One name, one value."""
    parser = parsed(b"HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\ncontent-length: 0\r\n\r\n")
    assert parser.headers == {"x-a": "1, 2", "content-length": "0"}


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    """Such a connection cannot serve again."""
    parser = parsed(b"HTTP/1.1 200 OK\r\n\r\nabc")
    assert not parser.complete
    parser.feed_eof()
    assert (parser.take(), parser.complete, parser.keep_alive) == (b"abc", True, False)


@pytest.mark.parametrize("data", [CHUNKED[:-1], CHUNKED[:60], COUNTED[:-1], COUNTED[:20], INTERIM])
def test_an_end_before_the_promised_one_is_an_error(data: bytes) -> None:
    """A cut-off answer never passes for a whole one."""
    parser = parsed(data)
    with pytest.raises(NetError) as caught:
        parser.feed_eof()
    assert (caught.value.code, caught.value.sent) == ("connection_lost", True)


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_statuses_without_a_body_are_complete_with_their_headers(status: bytes) -> None:
    """Even if a length is told."""
    parser = parsed(b"HTTP/1.1 %s\r\ncontent-length: 5\r\n\r\n" % status)
    assert (parser.complete, parser.keep_alive) == (True, True)


def test_the_answer_to_a_head_request_has_no_body() -> None:
    """The length is that of what GET would send; bytes that come all the same spoil the connection."""
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"
    assert (parsed(head, bodiless=True).complete, parsed(head, bodiless=True).keep_alive) == (True, True)
    spoiled = parsed(head + b"hello", bodiless=True)
    assert (spoiled.take(), spoiled.complete, spoiled.keep_alive) == (b"", True, False)


@pytest.mark.parametrize("surplus", [b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx", b"H", b"garbage"])
def test_bytes_after_the_response_spoil_the_connection_but_not_the_response(surplus: bytes) -> None:
    """What nobody asked for is not read as the answer to the next request."""
    parser = parsed(COUNTED + surplus)
    assert (parser.status, parser.take(), parser.keep_alive) == (200, "héllo".encode(), False)


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    ],
)
def test_a_server_that_will_close_is_believed(data: bytes) -> None:
    """Its connection is not kept."""
    assert (parsed(data).complete, parsed(data).keep_alive) == (True, False)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x15\x03\x01\x00\x02\x02\x16",
        b"HTTP/1.1 2x0 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\ncontent-length: 2\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"a" * 65536 + b"\r\ncontent-length: 2\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 11000 + b"content-length: 2\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\nx: " + b"a" * 70000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 3000,
    ],
)
def test_what_is_not_an_honest_response_is_refused(data: bytes) -> None:
    """Other protocols, framing that can be read two ways, and heads without end."""
    with pytest.raises(NetError, match=r"a\.example:80") as caught:
        parsed(data)
    assert (caught.value.code, caught.value.sent) == ("bad_response", True)
    assert caught.value.hint


@pytest.mark.parametrize("start", [b"0\r\nx: ", b"2;"])
def test_trailers_and_chunk_sizes_without_end_are_refused(start: bytes) -> None:
    """What is no body is not collected for ever either."""
    parser = parsed(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n" + start)
    for _ in range(65):
        parser.feed(b"a" * 1000)
    with pytest.raises(NetError, match="64 KiB"):
        parser.feed(b"a" * 1000)
