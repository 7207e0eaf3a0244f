"""Which compaction is in force, as a rule; pure. Reading what it says, and what is told after it, is `told`'s business.

A compaction counts like anything else in the log: one that was taken back with the conversation is not in force, and
neither is one that was undone, unless the undoing was taken back. Pure. May import: views.segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from agi.views.segments import END, Revert, Segment, counts, segments

Mark = tuple[int, str, bool]
"""Where in the log a compaction stands, or where one was undone: the event, the compaction's id, whether undone."""

MOST_MARKS = 64
"""How many are remembered with a session; whoever goes back further than that is told all there is."""


def in_force(marks: Sequence[Mark], reverts: Sequence[Revert], end: int = END) -> int:
    """The event of the compaction that says what models are told as things stood at `end`; 0 if there is none."""
    return _walked(marks, reverts, end)[-1][1] if marks else 0


def told_otherwise(marks: Sequence[Mark], reverts: Sequence[Revert], end: int = END) -> list[Segment]:
    """Where in the conversation models were told less or more than they are at `end`, where one was undone.

    What was reported there says nothing about what is told now. Where none was undone that is so only before the
    compaction in force, which says for itself up to which message. What was taken back is nobody's matter: it may be
    in between.
    """
    if not any(undone for _, _, undone in marks):
        return []
    walked = _walked(marks, reverts, end)
    now = walked[-1][1]
    return [(first, last) for (first, standing), (last, _) in pairwise(walked) if standing != now]


def _walked(marks: Sequence[Mark], reverts: Sequence[Revert], end: int) -> list[tuple[int, int]]:
    """From which event on which compaction is in force, in the conversation as it stood at `end`.

    At a place that is part of it, things stood as those marks before the place say that are part of it, too.
    """
    kept = segments(reverts, end)
    standing: dict[str, int] = {}
    found = [(0, 0)]
    for seq, compaction_id, undone in marks:
        if not counts(seq, kept):
            continue
        if undone:
            standing.pop(compaction_id, None)
        else:
            standing[compaction_id] = seq
        found.append((seq, max(standing.values(), default=0)))
    return found
