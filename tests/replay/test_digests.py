"""A request's digest is of all its pieces in their order, however many requests share them."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.errors import Invalid
from agi.replay import digests
from agi.replay.digests import Digests, digest_of

PIECES = [b'"system"', b"[]", b"{}", b'["user",[]]', b'["assistant",[]]', b'"other"']


def test_it_is_of_the_request_as_one_json_text() -> None:
    """So anybody can compute it: the system prompt, the messages, the tools, the options."""
    whole = b'["system",[["user",[]],["assistant",[]]],[],{}]'

    assert digest_of(PIECES[:5]) == sha256(whole).hexdigest()
    assert digest_of(PIECES[:3]) == sha256(b'["system",[],[],{}]').hexdigest()


@given(st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=9), max_size=6))
def test_what_requests_have_in_common_changes_no_digest(requests: list[list[int]]) -> None:
    """Each is the same as by itself, in whatever order they come."""
    many = Digests(PIECES)

    assert [many.of(one) for one in requests] == [digest_of([PIECES[place] for place in one]) for one in requests]


def test_a_conversation_that_grows_is_read_once_and_one_that_names_everything_again_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A small file can name more than anybody would wait for."""
    monkeypatch.setattr(digests, "MOST_BYTES", 400_000)
    pieces = [b"0", b"1", b"2", b"x" * 1_000]
    growing, jumping = Digests(pieces), Digests(pieces)
    for count in range(50):
        growing.of([0, 1, 2, *[3] * count])
    with pytest.raises(Invalid, match="far more"):
        [jumping.of([count % 2, 1, 2, *[3] * count]) for count in range(50)]


def test_a_request_that_names_more_than_a_session_can_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little each of it is."""
    monkeypatch.setattr(digests, "MOST_PLACES", 10)
    Digests(PIECES).of([0] * 10)
    with pytest.raises(Invalid, match="far more"):
        Digests(PIECES).of([0] * 11)
