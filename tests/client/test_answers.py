"""A refusal over HTTP becomes the error it began as."""

from __future__ import annotations

import msgspec
import pytest

from agi import errors
from agi.client.answers import broken_off, refusal
from agi.server.errors import STATUSES, error_answer


@pytest.mark.parametrize(
    "kind", [one for one in STATUSES if one is not errors.NotAllowed], ids=lambda kind: kind.__name__
)
def test_every_kind_of_error_survives_the_journey(kind):
    """Class, code, message and hint are the same at both ends."""
    sent = error_answer(kind("It went wrong.", hint="Try this."))
    got = refusal(sent.status, sent.body, "here")

    assert type(got) is kind
    assert (got.code, got.message, got.hint) == (kind.code, "It went wrong.", "Try this.")


@pytest.mark.parametrize(
    ("status", "kind"), [(401, errors.NotAllowed), (403, errors.NotAllowed), (404, errors.NotFound)]
)
def test_a_code_of_its_own_keeps_the_class_of_its_status(status, kind):
    """New codes need no new table."""
    body = msgspec.json.encode({"error": {"code": "brand_new", "message": "m", "hint": "h"}})

    got = refusal(status, body, "here")
    assert (type(got), got.code) == (kind, "brand_new")


@pytest.mark.parametrize("body", [b"", b"<html>Bad gateway</html>", b'{"error": "no"}', b"\xff\xfe", b"[]"])
def test_an_answer_of_something_else_is_said_to_be_one(body):
    """Whatever listens there, it is no daemon of ours."""
    got = refusal(502, body, "http://127.0.0.1:1")

    assert isinstance(got, errors.Unavailable)
    assert "http://127.0.0.1:1 answered with status 502" in got.message


@pytest.mark.parametrize("kind", [errors.StorageError, errors.Damaged])
def test_a_stream_that_ends_with_an_error_says_the_same(kind):
    """As its daemon tells it behind the last event."""
    got = broken_off(msgspec.json.encode({"code": kind.code, "message": "It is damaged.", "hint": "Mend it."}))

    assert (type(got), got.code, got.message, got.hint) == (kind, kind.code, "It is damaged.", "Mend it.")
