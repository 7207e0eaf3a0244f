"""Times as the person at the terminal has them on the wall. May import: protocol."""

from __future__ import annotations

import time

from agi.protocol.times import to_millis


def local_time(text: str, form: str = "%Y-%m-%d %H:%M") -> str:
    """An RFC 3339 time as `2026-01-31 18:05` in the local time zone; what is no such time is left as it is."""
    try:
        return time.strftime(form, time.localtime(to_millis(text) / 1000))
    except (ValueError, OverflowError, OSError):
        return text
