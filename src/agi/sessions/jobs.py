"""The jobs of sessions: what runs in this process, and what the log says of all of them.

A job ends with the process it runs in; one whose process was killed is closed by the next that looks. May import:
errors, protocol, eventlog, jobs, views, sessions.attachments.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Coroutine
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from msgspec.structs import replace

from agi.errors import AgiError, Conflict, NotFound
from agi.eventlog import leases
from agi.eventlog.base import ENDINGS, Entry
from agi.eventlog.hub import DELETED
from agi.eventlog.log import EventLog
from agi.jobs.base import Wanted
from agi.jobs.output import piece, stored, stored_size
from agi.jobs.patterns import Pattern
from agi.jobs.prompts import Attention
from agi.jobs.running import Running
from agi.jobs.survivors import end_survivors
from agi.jobs.table import Held, JobTable
from agi.protocol import events as ev
from agi.protocol.jobs import Job, JobOutput
from agi.sessions.attachments import fetch
from agi.views import queries

GONE = "the daemon stopped"
BY_USER = "stopped by the user"
PIECE = 64 * 1024
"""How much of an output a client gets at once."""
SEARCHED = 512 * 1024
"""How much of it is searched at once."""

Emit = Callable[[ev.EventData], Awaitable[None]]


class SessionsJobs:
    """The jobs of all sessions, for the verbs of the harness."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._table = JobTable(self._tell)
        self._listened: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def all(self, session_id: str) -> list[Job]:
        """Those that run, then those that ended, the last first."""
        await self._close_dead(session_id)
        state = queries.session_state(self._log.db, session_id)
        return [*state.jobs, *reversed(state.ended_jobs)]

    async def find(self, session_id: str, job_id: str) -> Job:
        """One job; raises NotFound."""
        await self._close_dead(session_id)
        return self._known(session_id, job_id)

    def output(self, session_id: str, job_id: str, since: int | None, limit: int = PIECE) -> JobOutput:
        """What a job said since an offset, or its last words; as far as it is still kept, and without secrets."""
        said = self._said(session_id, job_id, since, limit)
        return replace(said, text=self._log.redactor.clean_text(said.text))

    def _said(self, session_id: str, job_id: str, since: int | None, limit: int) -> JobOutput:
        job = self._known(session_id, job_id)
        held = self._table.find(session_id, job_id)
        if held is not None and held.running is not None:
            return held.running.output.read(since, limit)
        path = self._file(session_id, job)
        size = stored_size(path)
        at = max(0, size - limit) if since is None else min(max(since, 0), size)
        return piece(stored(path, at, limit) if path else b"", at, size)

    def is_asking(self, session_id: str, job_id: str) -> bool:
        """Whether it has been standing at a question for a while."""
        held = self._table.find(session_id, job_id)
        if held is None or held.running is None or held.running.is_over:
            return False
        return bool(Attention(held.running.output).question())

    async def wait(self, session_id: str, job_id: str, pattern: Pattern | None, since: int, timeout_s: float) -> bool:
        """Wait for a pattern in what it says, or for its end; True if the pattern was found."""
        self._known(session_id, job_id)
        held = self._table.find(session_id, job_id)
        if held is None or held.running is None:
            return pattern is not None and await self._has_said(session_id, job_id, pattern, since)
        if pattern is None:
            await held.running.over_within(timeout_s)
        found = pattern is not None and await held.running.heard(pattern, since, timeout_s)
        if held.running.is_over and held.seen_out is not None:
            await asyncio.shield(held.seen_out)  # so that what is asked next is answered with its end
        return found

    async def _has_said(self, session_id: str, job_id: str, pattern: Pattern, since: int) -> bool:
        """Whether the pattern is in what is kept of a job that does not run here."""
        at, total = since, since + 1
        while at < total:
            said = self.output(session_id, job_id, at, SEARCHED)
            if pattern.feed(said.text):
                return True
            if said.next <= at:
                return False
            at, total = said.next, said.total
            await asyncio.sleep(0)  # it may have said a lot
        return False

    async def stop(self, session_id: str, job_id: str, reason: str = BY_USER) -> Job:
        """End a job with all its processes; one that is over stays as it is."""
        job = await self.find(session_id, job_id)
        held = self._table.find(session_id, job_id)
        if held is not None:
            await self._table.end(held, reason)
        elif job.status == "running":
            raise Conflict(
                "The job runs in another process.",
                code="job_elsewhere",
                hint=f"It is process {job.owner.split(':')[0]}; stop the job there, or the process.",
            )
        return self._known(session_id, job_id)

    async def move(self, session_id: str, call_id: str | None) -> Job:
        """Move the running command of a call (default: the only one) to the background."""
        turn = queries.session_state(self._log.db, session_id).turn
        calls = set(turn.open_calls) if turn else set()
        moved = await self._table.move(session_id, calls & {call_id} if call_id is not None else calls)
        return self._known(session_id, moved.id)  # as the log has it, which says when it began

    async def end_all(self, session_id: str, reason: str) -> None:
        """End every job of a session."""
        await self._table.end_all(reason, session_id)

    async def close_dead(self) -> int:
        """Close, in every session, the jobs of processes that are gone; returns how many sessions had such."""
        found = queries.sessions_with_jobs(self._log.db)
        return sum([await self._close_dead(session_id) for session_id in found])

    async def close(self) -> None:
        """End every job: none outlives this process."""
        await self._table.end_all(GONE)
        for session_id in tuple(self._listened):
            self._unlisten(session_id)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def begin(
        self, session_id: str, job: Job, started: ev.JobStarted, emit: Emit, go: Callable[[], Running]
    ) -> None:
        """Make a job known, durably, and let it go."""
        held = self._table.take_place(session_id, job)
        self._listen(session_id)
        try:
            await emit(started)
            running = go()
        except BaseException:
            # The event may be written all the same, if only the waiting for it was canceled.
            held.reason = "canceled before it began"
            held.job = held.ended()
            self._table.give_up(held)
            self._spawn(self._tell(held))
            raise
        self._table.begin(held, running)

    def foreground(self, session_id: str, wanted: Wanted, running: Running) -> AbstractContextManager[None]:
        """Let a command be moved while somebody waits for it."""
        return self._table.foreground(session_id, wanted, running)

    def moved(self, wanted: Wanted, outcome: Job | AgiError) -> None:
        """Tell whoever asked for a move what became of it."""
        self._table.moved(wanted, outcome)

    def owner(self) -> str:
        """This process."""
        return self._log.owner

    def _known(self, session_id: str, job_id: str) -> Job:
        state = queries.session_state(self._log.db, session_id)
        for job in (*state.jobs, *state.ended_jobs):
            if job.id == job_id:
                return job
        raise NotFound(
            f"There is no job {job_id[:80]!r} in this session.",
            code="job_not_found",
            hint="GET /v1/sessions/{id}/jobs, `agi jobs` and the tool job_list list them.",
        )

    def _file(self, session_id: str, job: Job) -> Path | None:
        try:
            return (
                fetch(self._log.folder / "sessions" / session_id, *job.output.split("/")).path if job.output else None
            )
        except NotFound:
            return None

    async def _tell(self, held: Held) -> None:
        """Write that a job is over. Where that fails, whoever lists it next tries again."""
        seconds = held.running.seconds if held.running is not None else 0.0
        with suppress(AgiError):
            await self._log.append(held.session_id, _ending([held.job], held.session_id, round(seconds * 1000)))
        if not any(one is not held for one in self._table.of(held.session_id)):
            self._unlisten(held.session_id)

    async def _close_dead(self, session_id: str) -> bool:
        jobs = [job for job in queries.session_state(self._log.db, session_id).jobs if self._is_dead(session_id, job)]
        if not jobs:
            return False
        await asyncio.to_thread(end_survivors, [job.id for job in jobs])
        ended = [self._as_it_was(session_id, job) for job in jobs]
        with suppress(NotFound):
            await self._log.append(session_id, _ending(ended, session_id, 0))
        return True

    def _is_dead(self, session_id: str, job: Job) -> bool:
        if job.owner == self._log.owner:
            return self._table.find(session_id, job.id) is None
        try:
            return not leases.is_alive(job.owner)
        except ValueError:  # no name of a process; a log may hold anything
            return True

    def _as_it_was(self, session_id: str, job: Job) -> Job:
        held = Held(session_id, job)
        held.reason = GONE
        return replace(held.ended(), output_bytes=stored_size(self._file(session_id, job)))

    def _listen(self, session_id: str) -> None:
        if session_id not in self._listened:
            self._listened.add(session_id)
            self._log.listen(session_id, self._hear)

    def _unlisten(self, session_id: str) -> None:
        self._listened.discard(session_id)
        self._log.hub.unlisten(session_id, self._hear)

    def _hear(self, event: ev.Event) -> None:
        if event.type == DELETED:
            self._spawn(self._table.end_all("the session was deleted", event.session_id))
        elif event.type in ENDINGS and queries.session_state(self._log.db, event.session_id).ephemeral:
            # Nobody can come back to a one-shot's session.
            self._spawn(self._table.end_all("the one-shot was answered", event.session_id))

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work, name="jobs")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _ending(jobs: Collection[Job], session_id: str, duration_ms: int) -> Callable[[sqlite3.Connection], list[Entry]]:
    """The events that end jobs, those left out that are over by then; in their turn, if that still runs."""

    def found(db: sqlite3.Connection) -> list[Entry]:
        state = queries.session_state(db, session_id)
        live = {job.id for job in state.jobs}
        turn = state.turn.id if state.turn is not None else ""
        return [
            (
                job.turn_id if job.turn_id == turn else None,
                ev.JobEnded(
                    job_id=job.id,
                    exit_code=job.exit_code,
                    signal=job.signal,
                    reason=job.reason,
                    output_bytes=job.output_bytes,
                    duration_ms=duration_ms,
                ),
            )
            for job in jobs
            if job.id in live
        ]

    return found
