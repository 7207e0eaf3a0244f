"""Times: RFC 3339 with milliseconds and a Z, and back."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agi.protocol.times import to_millis, to_rfc3339

LAST = 253_402_300_799_999
"""The end of the year 9999, in milliseconds."""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_400, "2000-02-29T00:00:00.000Z"),
        (1_767_225_599.999, "2025-12-31T23:59:59.999Z"),
        (1_767_225_599.9996, "2026-01-01T00:00:00.000Z"),
    ],
)
def test_a_time_is_written_in_utc_with_milliseconds(seconds, text):
    """Rounded to the nearest millisecond, across a year's end too."""
    assert to_rfc3339(seconds) == text


@settings(derandomize=True, database=None, deadline=None)
@given(st.integers(0, LAST))
def test_a_time_that_was_written_reads_back_the_same(millis):
    """No day of the calendar is off, and the standard library agrees."""
    text = to_rfc3339(millis / 1000)

    assert to_millis(text) == millis
    assert datetime.datetime.fromisoformat(text) == datetime.datetime.fromtimestamp(
        millis // 1000, datetime.UTC
    ).replace(microsecond=millis % 1000 * 1000)


@settings(derandomize=True, database=None, deadline=None)
@given(st.integers(0, LAST), st.integers(0, LAST))
def test_times_sort_as_text(one, other):
    """The order of the texts is the order of the moments."""
    assert (to_rfc3339(one / 1000) < to_rfc3339(other / 1000)) == (one < other)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-0x-01T00:00:00.000Z", "20260101T000000Z"])
def test_what_is_no_time_is_refused(text):
    """A damaged time raises ValueError instead of becoming some other moment."""
    with pytest.raises(ValueError):
        to_millis(text)
