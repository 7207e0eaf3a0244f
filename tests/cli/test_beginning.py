"""How a turn begins: whole, or not at all."""

from __future__ import annotations

import asyncio

import pytest

from agi.cli.beginning import finished_or_undone
from agi.errors import AgiError, Conflict


class Work:
    """Something that takes its time; what was done and undone is kept."""

    def __init__(self, failure: AgiError | None = None, *, undoing_fails: bool = False) -> None:
        self.begun, self.may_end = asyncio.Event(), asyncio.Event()
        self.undone: list[str] = []
        self._failure, self._undoing_fails = failure, undoing_fails

    async def do(self) -> str:
        self.begun.set()
        await self.may_end.wait()
        if self._failure is not None:
            raise self._failure
        return "made"

    async def undo(self, made: str) -> None:
        self.undone.append(made)
        if self._undoing_fails:
            raise Conflict("It is over.")

    async def interrupted(self) -> None:
        """Do it, interrupted in the middle."""
        task = asyncio.create_task(finished_or_undone(self.do(), self.undo))
        await self.begun.wait()
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        self.may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_what_nobody_interrupts_is_done_and_stays():
    """The usual case."""
    work = Work()
    work.may_end.set()

    assert await finished_or_undone(work.do(), work.undo) == "made"
    assert work.undone == []


@pytest.mark.parametrize("undoing_fails", [False, True])
async def test_what_is_interrupted_is_waited_for_and_undone(undoing_fails):
    """A session or a turn that nobody knows of is not left behind; if it cannot be undone, it was over already."""
    work = Work(undoing_fails=undoing_fails)
    await work.interrupted()

    assert work.undone == ["made"]


async def test_what_failed_anyway_needs_no_undoing():
    """The interrupt is what is told."""
    work = Work(Conflict("No."))
    await work.interrupted()

    assert work.undone == []
