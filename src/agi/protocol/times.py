"""Times as text and as numbers: RFC 3339 UTC with a `Z`, and unix milliseconds. May import: nothing of ours."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds since 1970, as `time.time`; passed in where tests must decide the time."""


def to_rfc3339(seconds: float) -> str:
    """Write a unix time as `2026-01-01T00:00:00.000Z`."""
    whole, millis = divmod(round(seconds * 1000), 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{millis:03d}Z"


def to_millis(text: str) -> int:
    """Read what `to_rfc3339` wrote, as unix milliseconds."""
    year, month, day = int(text[0:4]), int(text[5:7]), int(text[8:10])
    hour, minute, second, millis = int(text[11:13]), int(text[14:16]), int(text[17:19]), int(text[20:23] or 0)
    return (_days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second) * 1000 + millis


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the proleptic Gregorian calendar (spares us importing `calendar`)."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
