"""Workers as values: their limits, how they are kept apart, and what a worker itself says at its end.

What else is known of a worker's end stands in the log, and is never asked of its model. May import: protocol.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from agi.protocol.messages import Usage
from agi.protocol.parts import Json

Isolation = Literal["auto", "worktree", "folder", "off"]
KeptApart = Literal["", "worktree", "folder"]
"""How one worker is kept apart; empty if it works in the workspace itself."""
WorkStatus = Literal["running", "completed", "failed", "blocked", "canceled"]
MergeState = Literal["none", "pending", "merged", "conflict"]
Scope = Literal["turn", "children", "all"]
"""What a cancel means: the session's own turn, that with all workers below it, or everybody from the root on."""


class WorkerPolicy(Struct, frozen=True, kw_only=True):
    """How far agents may have others work for them."""

    max_depth: int = 2
    """How many workers stand in a line below a session: 1 is workers without workers, 0 is none."""
    max_live: int = 4
    """How many workers of one session, and of its workers, are alive at the same time."""
    max_total: int = 20
    """How many may be started for one turn of the session they all work for."""
    isolate: Isolation = "auto"
    """Where a worker that can change files does so: `auto`, `worktree`, `folder`, or `off`, in the workspace itself."""


class WorkChange(Struct, frozen=True, kw_only=True):
    """A file a worker changed."""

    path: str
    status: str


class DispatchResult(Struct, frozen=True, kw_only=True):
    """What came of an autonomous run: its own words as `status` and `summary`, all else from its log."""

    agent_id: str
    status: WorkStatus
    """As the worker reports it, if it came to report; `running` if it has not ended."""
    summary: str
    """The last thing it said, or why there is nothing."""
    changes: tuple[WorkChange, ...] = ()
    """What it changed, also what is not merged."""
    artifacts: tuple[str, ...] = ()
    """Paths from the project's root."""
    verification: str = "not_run"
    usage: Usage = Usage()
    """Its own, and that of its workers."""
    stop_reason: str = ""
    """Why its turn ended, such as `end_turn` or `budget_exhausted`."""
    merge: MergeState = "none"
    """Whether its changes are in the parent's files: `none` if there is nothing to merge."""


class WorkReport(Struct, frozen=True, kw_only=True):
    """What a worker says of its work; all else in a result is taken from the log."""

    status: Literal["completed", "failed", "blocked"]
    summary: Annotated[str, Meta(max_length=100_000)]
    artifacts: Annotated[tuple[str, ...], Meta(max_length=200)] = ()


REPORT_SCHEMA: Json = {
    "type": "object",
    "properties": {
        "status": {
            "type": "string",
            "enum": ["completed", "failed", "blocked"],
            "description": "completed: all of it is done. failed: it cannot be done. blocked: something is missing.",
        },
        "summary": {
            "type": "string",
            "maxLength": 100_000,
            "description": "What was done and found, for somebody who saw nothing of it; what is open.",
        },
        "artifacts": {
            "type": "array",
            "maxItems": 200,
            "items": {"type": "string"},
            "description": "Files worth looking at, as paths from the workspace's root.",
        },
    },
    "required": ["status", "summary"],
    "additionalProperties": False,
}
"""What a worker's last answer must look like."""
