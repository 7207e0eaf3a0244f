"""A command made ready: what it takes is given back once nobody is left inside who could make use of that."""

import asyncio
import os
import select

import pytest

from agi.sandbox.survivors import children
from agi.sandbox.wrapped import Wrapped

OUTER = "sleep 0.5 & echo s >/proc/self/fd/{report}; read -r leave </proc/self/fd/{leave}"
"""Somebody inside outlives for a moment who started them, as the first process of a namespace does."""


async def first_child(pid):
    for _ in range(10_000):
        for child in children(pid):
            return child
        await asyncio.sleep(0.001)
    raise AssertionError("nobody was started")


@pytest.mark.threat("T27")
async def test_nothing_is_given_back_before_those_inside_are_gone():
    """A name that is free again could be taken by them."""
    wrapped = Wrapped()
    script = OUTER.format(report=wrapped.open_report(), leave=wrapped.open_leave())
    outer = await asyncio.create_subprocess_exec("/bin/sh", "-c", script, pass_fds=wrapped.pass_fds)
    wrapped.started(outer.pid)
    end = os.pidfd_open(await first_child(outer.pid))
    await outer.wait()

    wrapped.until_over.callback(lambda: given_back.append(bool(select.select([end], [], [], 0)[0])))
    given_back = []
    wrapped.close()

    assert given_back == [True]
    os.close(end)
