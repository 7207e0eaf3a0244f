"""The jobs of this process: who has how many, which one is which, and that each is seen to its end.

Nothing here is written down; whoever must tell of an end is called before it counts as over. May import: errors,
protocol, jobs.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from agi.errors import AgiError, Conflict
from agi.jobs.base import Wanted
from agi.jobs.running import MOST_OUTPUT, Running
from agi.protocol.jobs import Job

MOST_IN_SESSION = 8
MOST = 64
REMEMBERED = 32
"""How many jobs that are over can still be read from memory."""


class Held:
    """One job: what is known of it, and the command itself once it runs."""

    def __init__(self, session_id: str, job: Job) -> None:
        self.session_id = session_id
        self.job = job
        self.running: Running | None = None
        self.reason = ""
        """Why it is being ended."""
        self.seen_out: asyncio.Task[None] | None = None

    def ended(self) -> Job:
        """What it is once its command is over."""
        if self.running is None:
            return replace(self.job, status="ended", reason=self.reason)
        code, signal, reason = None, "", self.reason
        try:
            result = self.running.result()
        except Exception as error:  # whatever it is, the job is over
            reason = reason or f"it could not be run: {error}"
        else:
            if result is not None:
                code, signal = result.exit_code, result.signal
                reason = "its time was up" if result.timed_out else ""
        if self.running.flooded and not self.reason:
            reason = f"it said more than {MOST_OUTPUT >> 30} GiB"
        size = self.running.output.total
        return replace(self.job, status="ended", exit_code=code, signal=signal, reason=reason, output_bytes=size)


class _Foreground:
    """A command somebody waits for, which may be moved."""

    def __init__(self, session_id: str, wanted: Wanted, running: Running) -> None:
        self.session_id = session_id
        self.wanted = wanted
        self.running = running
        self.job: asyncio.Future[Job] = asyncio.get_running_loop().create_future()


class JobTable:
    """Every job of this process; `tell` is awaited when one is over."""

    def __init__(self, tell: Callable[[Held], Awaitable[None]]) -> None:
        self._tell = tell
        self._held: dict[str, Held] = {}
        self._past: OrderedDict[str, Held] = OrderedDict()
        self._foreground: dict[str, _Foreground] = {}

    def take_place(self, session_id: str, job: Job) -> Held:
        """Count a job that is about to begin; raises Conflict if there are too many."""
        own = sum(one.session_id == session_id for one in self._held.values())
        if own >= MOST_IN_SESSION or len(self._held) >= MOST:
            many = f"{own} jobs in this session" if own >= MOST_IN_SESSION else f"{len(self._held)} jobs in the daemon"
            raise Conflict(
                f"There are {many} already.", code="too_many_jobs", hint="Stop one that is no longer needed first."
            )
        held = self._held[job.id] = Held(session_id, job)
        return held

    def give_up(self, held: Held) -> None:
        """It will not begin."""
        self._held.pop(held.job.id, None)

    def begin(self, held: Held, running: Running) -> None:
        """It runs; from here on it is seen to its end."""
        held.running = running
        held.seen_out = asyncio.create_task(self._see_out(held, running), name=f"job {held.job.id}")

    def of(self, session_id: str) -> list[Held]:
        """The jobs of a session that run."""
        return [one for one in self._held.values() if one.session_id == session_id]

    def find(self, session_id: str, job_id: str) -> Held | None:
        """A job that runs here, or did lately."""
        held = self._held.get(job_id) or self._past.get(job_id)
        return held if held is not None and held.session_id == session_id else None

    async def end(self, held: Held, reason: str) -> None:
        """End a job with all its processes; returns when that was told. One that is over stays as it is."""
        if held.running is None or held.seen_out is None:
            return
        if not held.running.is_over:
            held.reason = held.reason or reason
            await held.running.end()
        await asyncio.shield(held.seen_out)

    async def end_all(self, reason: str, session_id: str | None = None) -> None:
        """End every job, or every one of a session."""
        chosen = [one for one in self._held.values() if session_id in (None, one.session_id)]
        await asyncio.gather(*(self.end(held, reason) for held in chosen), return_exceptions=True)

    def forget(self, session_id: str) -> None:
        """Drop what is remembered of a session that is gone."""
        for job_id in [key for key, one in self._past.items() if one.session_id == session_id]:
            del self._past[job_id]

    @contextmanager
    def foreground(self, session_id: str, wanted: Wanted, running: Running) -> Iterator[None]:
        """Let a command be moved while somebody waits for it."""
        entry = self._foreground[wanted.id] = _Foreground(session_id, wanted, running)
        try:
            yield
        finally:
            del self._foreground[wanted.id]
            if not entry.job.done():
                entry.job.set_exception(_not_to_be_moved())
                entry.job.exception()  # usually nobody asked

    def moved(self, wanted: Wanted, outcome: Job | AgiError) -> None:
        """Tell whoever asked that the command runs as a job now, or why it does not."""
        entry = self._foreground.get(wanted.id)
        if entry is None:
            return
        if isinstance(outcome, Job):
            entry.job.set_result(outcome)
        else:
            entry.job.set_exception(outcome)
            entry.job.exception()
            entry.job = asyncio.get_running_loop().create_future()  # it may be asked for again

    async def move(self, session_id: str, call_ids: Collection[str]) -> Job:
        """Move the running command of one of these calls to the background; raises Conflict if it is not just one."""
        found = [
            one
            for one in self._foreground.values()
            if one.session_id == session_id and one.wanted.tool_call_id in call_ids
        ]
        if len(found) != 1:
            raise _not_to_be_moved()
        found[0].running.asked_to_move.set()
        return await asyncio.shield(found[0].job)

    async def _see_out(self, held: Held, running: Running) -> None:
        await running.over()
        held.job = held.ended()
        try:
            await self._tell(held)
        finally:
            self._held.pop(held.job.id, None)
            self._past[held.job.id] = held
            if len(self._past) > REMEMBERED:
                self._past.popitem(last=False)


def _not_to_be_moved() -> Conflict:
    return Conflict(
        "There is no such command running in the foreground here.",
        code="nothing_to_move",
        hint="It may have ended; GET …/jobs lists what runs in the background.",
    )
