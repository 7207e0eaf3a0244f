"""A session's jobs as the tools of one of its turns see them: new ones are written into the turn.

May import: errors, protocol, jobs, sessions.jobs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from agi.errors import AgiError
from agi.jobs.base import Wanted
from agi.jobs.patterns import Pattern
from agi.jobs.running import Running
from agi.protocol import events as ev
from agi.protocol.jobs import Job, JobOutput
from agi.protocol.times import to_rfc3339
from agi.sessions.jobs import Emit, SessionsJobs

BY_AGENT = "stopped by the agent"
SHOWN_COMMAND = 500
"""Characters of a command that are written down with its job; its call has all of it."""


class TurnJobs:
    """One session's jobs, as its tools see them."""

    def __init__(self, jobs: SessionsJobs, session_id: str, turn_id: str, emit: Emit) -> None:
        self._jobs = jobs
        self._session_id = session_id
        self._turn_id = turn_id
        self._emit = emit

    async def start(self, wanted: Wanted, begin: Callable[[], Running]) -> Job:
        """Make a job known, then begin it; raises Conflict where there is no room for another."""
        command = wanted.command if len(wanted.command) <= SHOWN_COMMAND else wanted.command[: SHOWN_COMMAND - 1] + "…"
        job = Job(
            id=wanted.id,
            command=command,
            cwd=wanted.cwd,
            turn_id=self._turn_id,
            tool_call_id=wanted.tool_call_id,
            started_at=to_rfc3339(time.time()),
            output=wanted.output,
            owner=self._jobs.owner(),
        )
        started = ev.JobStarted(
            job_id=job.id,
            command=command,
            cwd=job.cwd,
            tool_call_id=job.tool_call_id,
            output=job.output,
            owner=job.owner,
            moved=wanted.moved,
        )
        await self._jobs.begin(self._session_id, job, started, self._emit, begin)
        return job

    def foreground(self, wanted: Wanted, running: Running) -> AbstractContextManager[None]:
        """Let a command be moved to the background while somebody waits for it."""
        return self._jobs.foreground(self._session_id, wanted, running)

    def moved(self, wanted: Wanted, outcome: Job | AgiError) -> None:
        """Tell whoever asked for the move what became of it."""
        self._jobs.moved(wanted, outcome)

    async def all(self) -> list[Job]:
        """Those that run, then those that ended last."""
        return await self._jobs.all(self._session_id)

    async def find(self, job_id: str) -> Job:
        """One of them."""
        return await self._jobs.find(self._session_id, job_id)

    def read(self, job_id: str, since: int | None, limit: int) -> JobOutput:
        """What it said since an offset, or its last words."""
        return self._jobs.output(self._session_id, job_id, since, limit)

    def is_asking(self, job_id: str) -> bool:
        """Whether it seems to wait for input, which it cannot get."""
        return self._jobs.is_asking(self._session_id, job_id)

    async def wait(self, job_id: str, pattern: Pattern | None, since: int, timeout_s: float) -> bool:
        """Wait until the pattern is in what it says, or it ends, or time is up; True if the pattern was found."""
        return await self._jobs.wait(self._session_id, job_id, pattern, since, timeout_s)

    async def stop(self, job_id: str) -> Job:
        """End it and all its processes; one that is over stays as it is."""
        return await self._jobs.stop(self._session_id, job_id, BY_AGENT)
