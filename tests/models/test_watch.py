"""The watch over an answer hangs up once, for the right limit, and only while the server is waited for."""

from __future__ import annotations

import asyncio

import pytest

from agi.models.limits import Limits
from agi.models.watch import Watch


class Time:
    """The loop's clock, which can be put forward."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._real = self._loop.time
        self._ahead = 0.0

    def __call__(self) -> float:
        return self._real() + self._ahead

    async def passes(self, seconds: float) -> None:
        """Let what falls due by then happen."""
        self._ahead += seconds
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.fixture
async def time(monkeypatch) -> Time:
    """Hours pass in no time."""
    made = Time()
    monkeypatch.setattr(asyncio.get_running_loop(), "time", made)
    return made


@pytest.fixture
async def gone() -> asyncio.Event:
    """Set when the watch has hung up."""
    return asyncio.Event()


def watch_over(gone: asyncio.Event) -> Watch:
    async def hang_up() -> None:
        assert not gone.is_set()
        gone.set()

    return Watch(Limits(idle=100, thinking=1000, total=5000), hang_up)


async def test_it_begins_to_count_at_once(gone, time):
    """A server that never says anything is given up too, and once."""
    watch = watch_over(gone)
    await time.passes(990)
    assert not gone.is_set()
    await time.passes(20)

    assert gone.is_set()
    assert watch.overdue == "thinking"
    await time.passes(9000)


async def test_a_shorter_limit_takes_the_place_of_a_longer_one(gone, time):
    """Once words flow, the timer that was set for thinking is not waited for."""
    watch = watch_over(gone)
    watch.heard(flowing=True)
    await time.passes(110)

    assert watch.overdue == "idle"


async def test_what_is_heard_puts_it_off(gone, time):
    """Every word starts the time anew, and thinking begins the longer one."""
    watch = watch_over(gone)
    for _ in range(8):
        watch.heard(flowing=True)
        await time.passes(90)
    watch.heard(flowing=False)
    await time.passes(990)

    assert not gone.is_set()
    watch.stop()


async def test_it_waits_while_someone_else_is_at_work(gone, time):
    """The time a reader takes is not the server's."""
    watch = watch_over(gone)
    watch.waiting = False
    await time.passes(2000)
    assert not gone.is_set()
    watch.waiting = True
    await time.passes(10)

    assert watch.overdue == "thinking"


async def test_what_was_said_in_the_last_moment_counts(gone, time):
    """A machine that was busy itself finds the limit passed and the words there: the words win."""
    watch = watch_over(gone)
    asyncio.get_running_loop().call_soon(lambda: watch.heard(flowing=True))
    await time.passes(1010)

    assert not gone.is_set()
    watch.stop()


async def test_the_whole_has_a_limit_of_its_own(gone, time):
    """However much is said."""
    watch = watch_over(gone)
    for _ in range(60):
        watch.heard(flowing=True)
        await time.passes(90)

    assert watch.overdue == "total"
    assert not watch.check()


async def test_a_watch_that_was_stopped_never_hangs_up(gone, time):
    """Also where it is stopped twice."""
    watch = watch_over(gone)
    watch.stop()
    watch.stop()
    await time.passes(9000)

    assert not gone.is_set()


async def test_the_whole_is_checked_without_waiting_for_the_timer(gone, time, monkeypatch):
    """Bytes may come faster than any timer rings."""
    watch = watch_over(gone)
    assert watch.check()
    time._ahead += 5001

    assert not watch.check()
    watch.stop()
