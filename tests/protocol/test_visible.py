"""Text of others as a model may read it."""

from __future__ import annotations

import pytest

from agi.protocol.visible import visible


@pytest.mark.parametrize("text", ["a\u200bb", "a\u202eb", "a\u2066b", "a\ufeffb", "a\U000e0041b", "a\u2062b"])
def test_what_nobody_sees_is_left_out(text):
    """Tags, zero-width spaces and turned writing carry no rules."""
    assert visible(text) == "ab"


def test_letters_that_are_joined_stay_joined():
    """Joiners belong to emoji and to whole scripts."""
    assert visible("👩‍💻 می‌خواهم") == "👩‍💻 می‌خواهم"
