"""The columns of the table, and how one is got from what was measured. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from bench.peers.measuring import CHUNKS, STEPS

Samples = Mapping[str, Sequence[float]]
"""What was measured of one peer, by figure, one number a round."""


class Column(NamedTuple):
    """What is shown of every peer; less is better everywhere."""

    key: str
    head: str
    of: Callable[[Samples], list[float]]
    """The rounds' figures; empty where there is none."""
    resolves: float
    """Differences below this are none: half of what the clock or the method can tell apart."""


def _plain(figure: str) -> Callable[[Samples], list[float]]:
    return lambda samples: list(samples.get(figure, ()))


def _over(plain: str, figure: str, parts: int = 1, scale: float = 1) -> Callable[[Samples], list[float]]:
    """What a run cost over a plainer one, a part of it."""

    def of(samples: Samples) -> list[float]:
        if not samples.get(plain):
            return []
        before = statistics.median(samples[plain])
        return [(found - before) * scale / parts for found in samples.get(figure, ())]

    return of


COLUMNS = (
    Column("start_cpu", "cold start, CPU ms", _plain("start_cpu"), 1.0),
    Column("start_wall", "cold start, wall ms", _plain("start_wall"), 2.0),
    Column("shot_cpu", "one-shot, CPU ms", _plain("shot_cpu"), 5.0),
    Column("shot_wall", "one-shot, wall ms", _plain("shot_wall"), 10.0),
    Column("shot_peak", "one-shot, peak RSS MB", _plain("shot_peak"), 0.5),
    Column("called_cpu", "one-shot with one call, CPU ms", _plain("first_cpu"), 5.0),
    Column("step_cpu", "further tool step, CPU ms", _over("first_cpu", "loop_cpu", STEPS), 0.5),
    Column("step_gap", "tool step, gap ms", _plain("step_gap"), 0.5),
    Column("chunk_cpu", "streamed chunk, CPU µs", _over("shot_cpu", "stream_cpu", CHUNKS, 1000), 1.0),
    Column("ready_cpu", "server ready, CPU ms", _plain("ready_cpu"), 10.0),
    Column("ready_wall", "server ready, wall ms", _plain("ready_wall"), 10.0),
    Column("idle", "idle RSS MB", _plain("idle"), 0.5),
    Column("session", "RSS a session KB", _plain("session"), 1.0),
    Column("crowd_cpu", "20 × 10 steps, CPU s", _plain("crowd_cpu"), 0.05),
    Column("crowd_wall", "20 × 10 steps, wall s", _plain("crowd_wall"), 0.05),
    Column("disk", "disk a turn KB", _plain("disk"), 4.0),
    Column("request", "request KB", _plain("request"), 0.05),
)


def median(column: Column, samples: Samples) -> float | None:
    """One figure for a peer, or none."""
    found = column.of(samples)
    return statistics.median(found) if found else None
