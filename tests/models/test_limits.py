"""The limits of an answer: what is built in, and what the user has set."""

from __future__ import annotations

from agi.config.values import TimeoutSettings
from agi.models.limits import PATIENT, USUAL, Limits, chosen


def test_nothing_set_is_what_is_built_in():
    """Thinking is given at least a quarter of an hour, and a pause between words three minutes."""
    assert chosen(USUAL, None) is USUAL
    assert chosen(USUAL, TimeoutSettings()) is USUAL
    assert (USUAL.idle, USUAL.thinking) == (180.0, 900.0)


def test_each_setting_counts_by_itself():
    """The others stay as they are built in."""
    said = TimeoutSettings(connect_seconds=1, first_byte_seconds=2, idle_seconds=3, thinking_seconds=4, total_seconds=5)

    assert chosen(USUAL, said) == Limits(connect=1, first_byte=2, idle=3, thinking=4, total=5)
    assert chosen(PATIENT, TimeoutSettings(idle_seconds=3)) == Limits(first_byte=900, idle=3)


def test_the_http_client_leaves_silence_to_the_watch():
    """Bytes are no words: what it would take for a sign of life may be a keep-alive."""
    told = Limits(connect=1, first_byte=2, idle=3, thinking=4, total=5).for_http()

    assert (told.connect, told.first_byte) == (1, 2)
    assert told.idle > 5
