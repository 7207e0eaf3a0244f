"""A command made ready: what it takes is given back once nobody is left inside who could make use of that."""

import asyncio
import os
import select
import threading

import pytest

from agi.sandbox.wrapped import Wrapped

OUTER = """
(read -r end </proc/self/fd/{end}) & echo $! >/proc/self/fd/{told}
echo s >/proc/self/fd/{report}; read -r leave </proc/self/fd/{leave}
"""
"""Somebody inside outlives who started them, as the first process of a namespace does for a moment."""


@pytest.mark.threat("T27")
async def test_nothing_is_given_back_before_those_inside_are_gone():
    """A name that is free again could be taken by them."""
    wrapped = Wrapped()
    until, lets_end = os.pipe()
    hears, told = os.pipe()
    script = OUTER.format(report=wrapped.open_report(), leave=wrapped.open_leave(), end=until, told=told)
    outer = await asyncio.create_subprocess_exec("/bin/sh", "-c", script, pass_fds=(*wrapped.pass_fds, until, told))
    wrapped.started(outer.pid)
    end = os.pidfd_open(int(os.read(hears, 20)))
    await outer.wait()

    wrapped.until_over.callback(lambda: given_back.append(bool(select.select([end], [], [], 0)[0])))
    given_back = []
    later = threading.Timer(0.1, os.write, (lets_end, b"now\n"))
    later.start()
    wrapped.close()
    later.join()

    assert given_back == [True]
    for fd in (end, until, lets_end, hears, told):
        os.close(fd)
