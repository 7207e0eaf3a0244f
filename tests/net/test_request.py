"""A request becomes bytes."""

from __future__ import annotations

import pytest

from agi.errors import Invalid
from agi.net.request import encode_request
from agi.net.route import Proxy, Route
from agi.net.url import split_url


def encoded(method: str, url: str, headers: dict[str, str] | None = None, body: bytes = b"") -> bytes:
    target = split_url(url)
    return encode_request(method, target, headers or {}, body, Route(target.scheme, target.host, target.port))


def test_a_request_is_one_piece_with_lower_case_names() -> None:
    """Host first, our defaults, the caller's headers, then the body whose length is told."""
    assert encoded("POST", "https://a.example/v1?x=1", {"X-Key": "k", "Accept": "text/event-stream"}, b"{}") == (
        b"POST /v1?x=1 HTTP/1.1\r\nhost: a.example\r\naccept: text/event-stream\r\naccept-encoding: identity\r\n"
        b"user-agent: agi\r\nx-key: k\r\ncontent-length: 2\r\n\r\n{}"
    )


def test_a_length_is_told_only_where_a_body_is_expected() -> None:
    """An empty POST has a length of nought; a GET has none."""
    assert b"content-length: 0\r\n" in encoded("POST", "http://a.example/")
    assert b"content-length" not in encoded("GET", "http://a.example/")


def test_a_forwarding_proxy_is_told_the_whole_url_and_its_credentials() -> None:
    """Plain http goes in absolute form."""
    target = split_url("http://a.example:81/x")
    request = encode_request("GET", target, {}, b"", Route("http", "a.example", 81, Proxy("p", 3128, "Basic eA==")))
    assert request.startswith(b"GET http://a.example:81/x HTTP/1.1\r\nhost: a.example:81\r\n")
    assert b"\r\nproxy-authorization: Basic eA==\r\n" in request


@pytest.mark.parametrize(
    "headers",
    [
        {"x": "a\r\nb: c"},
        {"x": "a\nb"},
        {"x": "a\rb"},
        {"x": "a\0"},
        {"authorization": "Bearer secret\n"},
        {"x": "ä"},
        {"x\r\ny": "a"},
        {"x y": "a"},
        {"x:": "a"},
        {"": "a"},
        {"ä": "a"},
        {"content-length": "5"},
        {"Transfer-Encoding": "chunked"},
        {"host": "b.example"},
        {"X-Key": "a", "x-key": "b"},
    ],
)
def test_a_header_that_could_change_the_request_is_refused(headers: dict[str, str]) -> None:
    """No line break, no framing header and no second copy gets through; values are not repeated."""
    with pytest.raises(Invalid) as caught:
        encoded("GET", "http://a.example/", headers)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("method", ["", "GET /x HTTP/1.1\r\n", "G T", "GÉT"])
def test_a_method_that_is_not_a_word_is_refused(method: str) -> None:
    """The request line cannot be broken either."""
    with pytest.raises(Invalid):
        encoded(method, "http://a.example/")
