"""Times as the person at the terminal has them on the wall, and how long something took. May import: protocol."""

from __future__ import annotations

import time

from agi.protocol.times import to_millis


def clock(text: str, form: str = "%H:%M") -> str:
    """An RFC 3339 time in the local time zone; what is no such time is left out."""
    try:
        return time.strftime(form, time.localtime(to_millis(text) / 1000))
    except (ValueError, OverflowError, OSError):
        return ""


def lasting(seconds: float) -> str:
    """A span, such as `0.3 s`, `12 s` or `3m 20s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s"
