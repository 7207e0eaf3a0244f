"""Times as the clock on the wall has them."""

from __future__ import annotations

import time

import pytest

from agi.cli.times import local_time


@pytest.fixture(params=[("UTC", "2026-01-31 23:30"), ("Asia/Tokyo", "2026-02-01 08:30")], ids=lambda param: param[0])
def zone(request, monkeypatch):
    """A time zone, and half past eleven in the evening of Greenwich there."""
    monkeypatch.setenv("TZ", {"Asia/Tokyo": "JST-9"}.get(request.param[0], "UTC0"))
    time.tzset()
    yield request.param[1]
    monkeypatch.undo()
    time.tzset()


def test_a_time_of_the_log_is_told_in_the_local_zone(zone):
    """Also across midnight."""
    assert local_time("2026-01-31T23:30:59.999Z") == zone


def test_what_is_no_time_is_left_as_it_is():
    """An odd record is shown, not hidden."""
    assert local_time("yesterday") == "yesterday"
