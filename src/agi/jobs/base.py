"""The shape of the room: how a command is launched, and what a tool can do with its session's jobs.

What the log says about them is sessions' business. May import: errors, protocol, jobs.running,
jobs.patterns.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import Struct

from agi.errors import AgiError
from agi.jobs.patterns import Pattern
from agi.jobs.running import Running
from agi.protocol.jobs import Job, JobOutput


class Wanted(Struct, frozen=True, kw_only=True):
    """What is to run, or runs already, and where its output goes."""

    id: str
    """The id it has as a job; its processes carry it in their environment."""
    command: str
    cwd: str
    tool_call_id: str
    output: str = ""
    """The ref of the file its output is kept in."""
    moved: bool = False
    """Whether it was begun in the foreground."""


class SessionJobs(Protocol):
    """One session's jobs, as its tools see them. Each method raises NotFound for an id that is none of theirs."""

    async def start(self, wanted: Wanted, begin: Callable[[], Running]) -> Job:
        """Make a job known, then `begin` it; raises Conflict where there is no room for another."""

    def foreground(self, wanted: Wanted, running: Running) -> AbstractContextManager[None]:
        """Let a command be moved to the background while somebody waits for it: see `Running.asked_to_move`."""

    def moved(self, wanted: Wanted, outcome: Job | AgiError) -> None:
        """Tell whoever asked for the move what became of it."""

    async def all(self) -> list[Job]:
        """Those that run, then those that ended last."""

    async def find(self, job_id: str) -> Job:
        """One of them."""

    def read(self, job_id: str, since: int | None, limit: int) -> JobOutput:
        """What it said since an offset, or its last words."""

    def is_asking(self, job_id: str) -> bool:
        """Whether it seems to wait for input, which it cannot get."""

    async def wait(self, job_id: str, pattern: Pattern | None, since: int, timeout_s: float) -> bool:
        """Wait until the pattern is in what it says, or it ends, or time is up; True if the pattern was found."""

    async def stop(self, job_id: str) -> Job:
        """End it and all its processes; one that is over stays as it is."""
