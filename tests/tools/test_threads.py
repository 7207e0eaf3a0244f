"""Work in a thread that can be called off."""

import asyncio
import threading

import pytest

from agi.tools.threads import in_thread


async def test_the_result_and_the_failure_come_back():
    """A thread answers like a call."""

    def fail(stop):
        raise ValueError("no")

    assert await in_thread(lambda stop: 42) == 42
    with pytest.raises(ValueError, match="no"):
        await in_thread(fail)


async def test_canceling_stops_the_work_and_waits_for_it():
    """When the cancellation arrives the thread is done with whatever it used."""
    started, ended = threading.Event(), threading.Event()

    def work(stop):
        started.set()
        stop.wait(10)
        ended.set()

    task = asyncio.create_task(in_thread(work))
    await asyncio.to_thread(started.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert ended.is_set()
