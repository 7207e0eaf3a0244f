"""Do long blocking work in a thread without losing hold of it.

Canceling the task tells the work to stop and waits until it has, so that nothing uses a workspace that was closed.
May import: nothing of ours.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

_Result = TypeVar("_Result")


async def in_thread(work: Callable[[threading.Event], _Result]) -> _Result:
    """Run `work` in a thread; it is given an event that is set when it should stop early."""
    stop = threading.Event()
    running = asyncio.get_running_loop().run_in_executor(None, work, stop)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait({running})
        raise
