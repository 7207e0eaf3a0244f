"""Personalised PageRank: where a reader who starts at certain files and follows the edges spends their time.

Power iteration over adjacency lists, each node with the newest ranks of the others, which takes half the sweeps.
Always the same steps, so that the same graph gives the same numbers. May import: nothing of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import mul

DAMPING = 0.7
"""How often the reader follows an edge instead of starting again."""
SWEEPS = 6
"""Enough for the order to stand; a test compares with many more."""


def pagerank(
    nodes: Sequence[str],
    inflow: Mapping[str, tuple[Sequence[str], Sequence[float]]],
    start: Mapping[str, float],
    *,
    sweeps: int = SWEEPS,
) -> dict[str, float]:
    """The rank of every node; `start` says how likely each is begun at, everywhere alike if it is empty.

    `inflow` names, for a node, those that point to it and the share each gives. Ranks add up to 1: a reader at a node
    that points nowhere starts again.
    """
    if not nodes:
        return {}
    total = sum(start.get(node, 0.0) for node in nodes)
    even = 1.0 / len(nodes)
    rank = {node: start.get(node, 0.0) / total if total > 0 else even for node in nodes}
    ways = [(node, rank[node], *inflow[node]) for node in nodes if node in inflow]
    look = rank.__getitem__
    for _ in range(sweeps):
        ways.reverse()  # now from one end, now from the other: whichever way edges lead, one of them follows them
        for node, begin, sources, shares in ways:
            rank[node] = begin + DAMPING * sum(map(mul, shares, map(look, sources)))
    whole = sum(rank.values())
    return {node: one / whole for node, one in rank.items()}
