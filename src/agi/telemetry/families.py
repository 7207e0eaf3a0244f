"""Numbers by name and labels, and how they are written down for Prometheus (text format 0.0.4).

A label's values come from outside (models, tools of servers), so a family takes only so many and counts the rest as
`other`. Knows nothing of what is counted. May import: nothing of ours.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
MOST_SERIES = 500
LONGEST_LABEL = 200
OTHER = "other"
SECONDS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0)
"""The bounds of every histogram of durations."""

Labels = tuple[str, ...]


class Family:
    """Sums by labels: a counter, which only grows."""

    def __init__(self, name: str, about: str, labels: Labels = ()) -> None:
        self.name = name
        self._about = about
        self._labels = labels
        self._sums: dict[Labels, float] = {}

    def add(self, amount: float, *values: str) -> None:
        """Count `amount` under these label values."""
        key = _room_for(self._sums, values)
        self._sums[key] = self._sums.get(key, 0.0) + amount

    def lines(self) -> Iterable[str]:
        """The family as text."""
        yield from _heading(self.name, self._about, "counter")
        for values, total in sorted(self._sums.items()):
            yield f"{self.name}{_braced(self._labels, values)} {_number(total)}"


class Durations:
    """A histogram of seconds by labels."""

    def __init__(self, name: str, about: str, labels: Labels = ()) -> None:
        self.name = name
        self._about = about
        self._labels = labels
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def observe(self, seconds: float, *values: str) -> None:
        """Count one that took so long."""
        key = _room_for(self._counts, values)
        counts = self._counts.setdefault(key, [0] * (len(SECONDS) + 1))
        counts[bisect_left(SECONDS, seconds)] += 1
        self._sums[key] = self._sums.get(key, 0.0) + seconds

    def lines(self) -> Iterable[str]:
        """The family as text; each bucket holds those below it too."""
        yield from _heading(self.name, self._about, "histogram")
        for values, counts in sorted(self._counts.items()):
            so_far = 0
            for bound, count in zip((*map(_number, SECONDS), "+Inf"), counts, strict=True):
                so_far += count
                yield f"{self.name}_bucket{_braced((*self._labels, 'le'), (*values, bound))} {so_far}"
            yield f"{self.name}_sum{_braced(self._labels, values)} {_number(self._sums[values])}"
            yield f"{self.name}_count{_braced(self._labels, values)} {so_far}"


def gauge(name: str, about: str, label: str, by: Mapping[str, float]) -> Iterable[str]:
    """What stands at some number just now, by one label; without a name for it, as one number."""
    yield from _heading(name, about, "gauge")
    for value, number in sorted(by.items()):
        yield f"{name}{_braced((label,) if label else (), (value,))} {_number(number)}"


def _room_for(known: Mapping[Labels, object], values: Labels) -> Labels:
    key = tuple(value[:LONGEST_LABEL] for value in values)
    return key if key in known or len(known) < MOST_SERIES or not values else (OTHER,) * len(values)


def _heading(name: str, about: str, kind: str) -> Iterable[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"


def _braced(labels: Labels, values: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in zip(labels, values, strict=True)) + "}"


def _escaped(value: str) -> str:
    clean = value.encode(errors="replace").decode()
    return clean.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
