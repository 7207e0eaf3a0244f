"""Which files are near others in the graph of who uses whom, as of one moment.

A reader begins at some files and follows edges either way, for three steps, each half as likely as the one before:
personalised PageRank cut short, so that it costs what lies around the start and not what the repository holds. Never
changes once it is made, so any thread may ask without waiting for one that reads files. May import: nothing of ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

MOST_DEFINERS = 10
"""A name that more files define does not say which of them is meant."""
FOLLOWING = 0.5
"""How often the reader follows an edge."""
STEPS = 3
LEAST = 0.001
"""A file where the reader is more rarely is not gone on from; with the next, what bounds the time it takes."""
MOST_EDGES = 20_000

Neighbours = tuple[Sequence[str], Sequence[float]]
_NONE: Neighbours = ((), ())


class Links(Struct, frozen=True):
    """Files with the ones each points to and is pointed to by, in shares; and who defines a name."""

    outflow: Mapping[str, Neighbours]
    inflow: Mapping[str, Neighbours]
    definers: Mapping[str, Sequence[str]]

    def defining(self, names: Iterable[str]) -> dict[str, tuple[float, str]]:
        """The files that define some of the names: what that says for each, in all, and the name that says most."""
        found: dict[str, tuple[float, str]] = {}
        most: dict[str, float] = {}
        for name in names:
            files = self.definers.get(name, ())
            for path in files if len(files) <= MOST_DEFINERS else ():
                share = 1 / len(files)
                before, told = found.get(path, (0.0, ""))
                found[path] = before + share, name if share > most.get(path, 0.0) else told
                most[path] = max(share, most.get(path, 0.0))
        return found

    def near(self, start: Mapping[str, float]) -> dict[str, float]:
        """How often a reader who begins at `start` comes to each file by an edge."""
        total = sum(start.values())
        here = {path: value / total for path, value in start.items()} if total > 0 else {}
        reached: dict[str, float] = defaultdict(float)
        room = MOST_EDGES
        for _ in range(STEPS):
            there: dict[str, float] = defaultdict(float)
            for path, value in sorted(here.items(), key=lambda one: (-one[1], one[0])):
                ways = self.outflow.get(path, _NONE), self.inflow.get(path, _NONE)
                cost = len(ways[0][0]) + len(ways[1][0])
                if value < LEAST:
                    break
                if cost > room:
                    continue  # so many use it that it leads nowhere; what comes after it may
                room -= cost
                whole = sum(ways[0][1]) + sum(ways[1][1])
                for targets, shares in ways:
                    for target, share in zip(targets, shares, strict=True):
                        there[target] += FOLLOWING * value * share / whole
            for path, value in there.items():
                reached[path] += value
            here = there
        return dict(reached)
