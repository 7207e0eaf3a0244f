"""A job as clients and the log see it: a command that runs in the background, or did. May import: nothing of ours."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

JobStatus = Literal["running", "ended"]


class Job(Struct, frozen=True, kw_only=True):
    """A command of a session that outlives the call that started it."""

    id: str
    command: str
    """As it was typed; a very long one is cut."""
    cwd: str
    turn_id: str
    tool_call_id: str
    started_at: str
    output: str
    """The ref of the file its output is kept in, `artifacts/<turn_id>/<file>`; empty if there is none."""
    owner: str
    """The process it runs in; it ends with that process."""
    status: JobStatus = "running"
    ended_at: str | None = None
    exit_code: int | None = None
    signal: str = ""
    reason: str = ""
    """Why it was ended, if it did not end by itself."""
    output_bytes: int = 0
    """How much it had said in the end."""


class JobOutput(Struct, frozen=True, kw_only=True):
    """A piece of what a job said, both channels in the order they came; offsets are bytes of UTF-8."""

    text: str
    start: int
    """Where the piece begins."""
    next: int
    """Where the next one begins: what to ask for to read on."""
    total: int
    """How much there is."""
    left_out: int = 0
    """How many bytes between what was asked for and `start` are no longer kept."""
