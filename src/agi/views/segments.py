"""Which part of the log is the conversation, after some of it was taken back. Pure. May import: nothing of ours."""

from __future__ import annotations

from collections.abc import Sequence

Revert = tuple[int, int]
"""Where in the log a revert stands, and the last event before it that still counts."""
Segment = tuple[int, int]
"""A stretch of the log: after the first number, up to and with the second."""

END = 1 << 59
"""Behind every event there will be, and before every message that waits in the queue."""


def segments(reverts: Sequence[Revert], end: int = END) -> list[Segment]:
    """The stretches that make up the conversation as it stood at `end`, in order.

    A revert goes back to how things stood at a point, and at that point an earlier revert may have been in force.
    """
    found: list[Segment] = []
    while True:
        last = max((one for one in reverts if one[0] <= end), default=None)
        if last is None:
            return [(0, end), *reversed(found)]
        found.append((last[0], end))
        end = last[1]


def counts(position: int, kept: Sequence[Segment]) -> bool:
    """Whether something at this place is part of the conversation."""
    return any(first < position <= last for first, last in kept)
