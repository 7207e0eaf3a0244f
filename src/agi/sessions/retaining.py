"""Keeping to the configured limits while a daemon runs: once at its start, then once a day, and told.

May import: errors, protocol, sessions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from agi.errors import AgiError
from agi.protocol.commands import CollectGarbage
from agi.protocol.storage import Collected, RetentionPolicy

DAILY_S = 86_400.0


async def retain(
    policy: Callable[[], RetentionPolicy],
    collect: Callable[[CollectGarbage], Awaitable[Collected]],
    tell: Callable[[str], None],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Remove what is over the limits, if there are any, day after day; never returns."""
    while True:
        try:
            if policy().limits:
                done = await collect(CollectGarbage())
                if done.sessions:
                    tell(told(done))
        except AgiError as error:
            tell(f"agi: retention: {error.message}")
        await sleep(DAILY_S)


def told(done: Collected) -> str:
    """What was removed, in one line."""
    count = len(done.sessions)
    freed = max(0, done.before.total - done.after.total)
    what = "1 session" if count == 1 else f"{count} sessions"
    return f"agi: retention: {what} removed as configured, {freed / 1e6:.1f} MB given back."
