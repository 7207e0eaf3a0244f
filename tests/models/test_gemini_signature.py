"""Notes on where a signature belongs: what is noted is found again, what is no note means nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agi.models.gemini_signature import Placed, find_place, for_text, for_thought, is_signature

bounded = settings(max_examples=60, derandomize=True, deadline=None)
signatures = st.from_regex(r"[A-Za-z0-9+/_-]{1,40}={0,2}", fullmatch=True)


@bounded
@given(signatures, st.integers(0, 10**8))
def test_every_note_is_found_again(signature, letters):
    """The signature byte for byte, and its place."""
    assert is_signature(signature)
    assert find_place(signature) == Placed(signature, "next")
    assert find_place(for_thought(signature, letters)) == Placed(signature, "thought", letters)
    assert find_place(for_text(signature, letters)) == Placed(signature, "text", letters)


@pytest.mark.parametrize(
    "noted", ["", "text:", "text3:", "word3:c2ln", "text-1:c2ln", '{"type":"thinking"}', "a b", "ü"]
)
def test_what_another_adapter_noted_means_nothing(noted):
    """It is left out, not sent."""
    assert find_place(noted) is None
