"""When a question that nobody answers expires: by a clock that nobody sets, as far as there is one.

How long a question had waited before a restart only the wall clock tells; it is believed between nothing and all of it.
May import: protocol.
"""

from __future__ import annotations

import asyncio
import time

from agi.protocol.times import to_millis


def deadline(requested_at: str, timeout_s: float | None) -> float | None:
    """The moment on the event loop's clock, to be asked for once a wait; None if it never expires."""
    if timeout_s is None:
        return None
    left = to_millis(requested_at) / 1000 + timeout_s - time.time()
    return asyncio.get_running_loop().time() + min(max(left, 0.0), timeout_s)
