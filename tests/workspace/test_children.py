"""A child process and its group."""

import signal

from agi.workspace.children import Child, spawning

ENV = {"PATH": "/usr/bin:/bin"}


def child(folder, command, heard=None):
    start = spawning(["/bin/sh", "-c", command], env=ENV)
    return Child.started(start, folder, on_bytes=lambda *said: [] if heard is None else heard.append(said))


async def test_the_exit_is_noticed_and_collected(tmp_path):
    """The return code is the process's own."""
    started = await child(tmp_path, "exit 5")

    assert await started.exited_within(10)
    assert await started.over_within(10)
    assert started.returncode == 5
    assert not started.signal(0)
    started.abandon()


async def test_waiting_has_an_end(tmp_path):
    """A process that goes on is not over; ending it is asked first."""
    started = await child(tmp_path, "exec sleep 100")

    assert not await started.exited_within(0.01)
    assert await started.end(5)
    assert started.returncode == -signal.SIGTERM
    assert not await started.end(5)
    started.abandon()


async def test_the_deaf_are_killed(tmp_path):
    """Asking has a limit."""
    heard = []
    started = await child(tmp_path, "trap '' TERM; echo ready; while :; do sleep 0.01; done", heard)
    while not heard:
        assert not await started.exited_within(0.005)

    await started.end(0.05)

    assert heard == [("stdout", b"ready\n")]
    assert started.returncode == -signal.SIGKILL
    started.abandon()


async def test_an_abandoned_child_is_killed_and_still_collected(tmp_path):
    """Nothing is left, even if nobody waited."""
    started = await child(tmp_path, "exec sleep 100")
    started.abandon()

    assert await started.exited_within(10)
    assert started.returncode == -signal.SIGKILL
