"""Reading requests: path, query and body become values or one clear error."""

from __future__ import annotations

import contextlib
import typing

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.errors import BadRequest, Invalid, NotFound
from agi.protocol.commands import CreateSession, PostMessage
from agi.server.app import routes
from agi.server.request import DEPTH, check_path, decode_body, decode_query
from agi.server.routes import Route
from agi.server.sessions import SessionsQuery

decoder = msgspec.json.Decoder(PostMessage)


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode(errors="surrogatepass")))
def test_any_bytes_are_a_value_or_an_error_of_ours(body: bytes) -> None:
    """Nothing else ever comes out of reading a body."""
    with contextlib.suppress(BadRequest, Invalid):
        decode_body(decoder, body)


@given(st.integers(min_value=1, max_value=3 * DEPTH), st.sampled_from([b"[", b'{"a":']))
def test_nesting_is_limited_wherever_it_is(depth: int, opening: bytes) -> None:
    """What is deeper than the limit is malformed; what is not is read, and can be written again."""
    closing = b"]" if opening == b"[" else b"}"
    body = b'{"content":"x","options":{"a":' + opening * depth + b"1" + closing * depth + b"}}"
    if depth + 2 > DEPTH:
        with pytest.raises(BadRequest, match="nested"):
            decode_body(decoder, body)
    else:
        assert msgspec.json.decode(msgspec.json.encode(decode_body(decoder, body).options))


def test_brackets_in_strings_are_not_nesting() -> None:
    """Escaped quotes do not end a string."""
    text = '"[{' * 500 + "\\"
    assert decode_body(decoder, msgspec.json.encode({"content": text})).content == text


def test_an_empty_body_is_an_empty_object() -> None:
    """Where nothing needs to be said."""
    assert decode_body(msgspec.json.Decoder(CreateSession), b"") == CreateSession()


@given(st.binary(max_size=100))
def test_any_query_is_a_value_or_invalid(query: bytes) -> None:
    """Nothing else ever comes out of reading a query."""
    with contextlib.suppress(Invalid):
        decode_query(SessionsQuery, query)


def test_a_query_is_read_by_its_type() -> None:
    """Numbers are numbers; without a type, nothing may be asked."""
    assert decode_query(SessionsQuery, b"limit=5") == SessionsQuery(limit=5)
    assert decode_query(None, b"") is None
    with pytest.raises(Invalid, match="limit"):
        decode_query(None, b"limit=5")


@pytest.mark.parametrize("value", ["", "sess_", "sess_1", "SESS_" + "0" * 32, "sess_" + "g" * 32, "sess_" + "0" * 33])
def test_an_id_of_a_wrong_form_is_nobodys(value: str) -> None:
    """404, before anything is looked up."""
    with pytest.raises(NotFound, match="session"):
        check_path({"session_id": value})
    check_path({"session_id": "sess_" + "0" * 32, "file": "anything"})


@pytest.mark.parametrize("route", routes(), ids=lambda route: route.name)
def test_a_handler_takes_what_its_route_says(route: Route) -> None:
    """The types in the table and in the handler's signature are the same."""
    hints = typing.get_type_hints(route.handler)
    body, query = typing.get_args(hints["request"])
    expected = typing.Optional[route.body] if route.form else route.body or type(None)  # noqa: UP045
    assert body == expected
    assert query == (route.query or type(None))
