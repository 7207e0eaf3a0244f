"""The words of a refusal are found, whatever form it has, and nothing a server sends breaks the reading."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agi.models.said import Said, read_body, read_error, read_retry_after

quiet = settings(derandomize=True, database=None, deadline=None)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            {"error": {"message": "no", "type": "t", "code": "c", "param": "messages[2]"}},
            Said("no", "c t", where="messages[2]"),
        ),
        ({"type": "error", "error": {"type": "t", "message": "no"}}, Said("no", "t")),
        ([{"error": {"code": 400, "message": "no", "status": "S"}}], Said("no", "400 S", 400)),
        ({"error": "no"}, Said("no")),
        ({"message": "no", "type": "t", "code": 422}, Said("no", "422 t", 422)),
        ({"detail": "no"}, Said("no")),
        (
            {"detail": [{"type": "missing", "loc": ["body", "messages", 0, "list[x]"], "msg": "no"}]},
            Said("no", "missing", where="body.messages.0.list_x_"),
        ),
        ({"object": "error", "message": {"detail": [{"loc": ["body"], "msg": "no"}]}}, Said("no", where="body")),
        (
            {"error": {"type": "request_fail", "upstream_error": {"error": {"type": "t", "message": "no"}}}},
            Said("no", "t"),
        ),
        ({"error": {"message": '{"error":{"message":"no","code":"c"}}', "code": 400}}, Said("no", "400 c", 400)),
        (
            {"error": {"message": "outer", "code": 400, "metadata": {"raw": '{"error":{"message":"no","param":"p"}}'}}},
            Said("outer: no", "400", 400, where="p"),
        ),
        ({"error": {"message": "{not json"}}, Said("{not json")),
        ({"error": {"message": "[]"}}, Said("[]")),
        ("plain", Said("plain")),
        (None, Said("")),
        ([], Said("")),
        ({"error": {"message": {"message": {"message": {"message": {"message": {"message": "deep"}}}}}}}, Said("")),
    ],
)
def test_the_words_are_found_in_every_known_form(body, said):
    """OpenAI's, Anthropic's, Google's, FastAPI's, and one inside another."""
    assert read_body(msgspec.json.encode(body), "application/json") == said


def test_what_is_no_json_is_taken_as_it_is_but_for_web_pages():
    """A gateway's page has nothing to say."""
    assert read_body(b"upstream \xff error", "") == Said("upstream \ufffd error")
    assert read_body(b"[" * 99_999, "").message.startswith("[[")
    for page in (b"<!DOCTYPE html><p>no", b"  <html>", b"<?xml?>"):
        assert "web page" in read_body(page, "").message
    assert "web page" in read_body(b"no", "text/html").message


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "detail", "message", "msg", "code", "type", "param", "loc", "metadata", "raw", "details"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json)
@quiet
def test_no_value_breaks_the_reading(value):
    """Whatever stands where words are expected."""
    said = read_error(value)

    assert isinstance(said.message, str)
    assert isinstance(said.text, str)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "1e400"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Sun, 09 Sep 2001 01:46:47 GMT"}, 7.0),
        ({"retry-after": "Sun, 09 Sep 1999 01:46:47 GMT"}, 0.0),
        ({"retry-after": "Sun, 99 Sep 9999 99:99:99 GMT"}, None),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({}, None),
    ],
)
def test_how_long_to_wait_is_read_as_seconds_or_a_date(headers, seconds):
    """Absurd ones say nothing."""
    assert read_retry_after(headers, 1_000_000_000.0) == seconds
