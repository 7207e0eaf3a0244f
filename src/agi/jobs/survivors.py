"""Processes of a job whose daemon was killed: found by the mark in their environment, and ended.

Where the sandbox ends a command with its parent there are none. May import: sandbox.
"""

from __future__ import annotations

from collections.abc import Collection

from agi.sandbox.survivors import end_marked, marked

MARKER = "AGI_JOB"
"""The variable that holds the id of the job, in every process of a command that does not clear its environment."""


def survivors(job_ids: Collection[str]) -> set[int]:
    """The processes that carry one of these ids. Slow: every process must be asked."""
    return marked(MARKER, job_ids)


def end_survivors(job_ids: Collection[str]) -> int:
    """Kill every process that carries one of these ids, until none is left; says how many there were."""
    return end_marked(MARKER, job_ids)
