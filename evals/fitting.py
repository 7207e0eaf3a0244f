"""Figures of a ranking, and weights found on all repositories but one: whether those that ship fit too closely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from agi.index.ranking import Weights
from evals.localising import Asked

GRID = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
FITTED = ("name", "folder", "alike", "commit", "recent", "linked")
"""No question of the data names a path, so nothing can be learned about that sign."""


def flat(found: Mapping[str, Sequence[Asked]]) -> list[Asked]:
    return [one for asked in found.values() for one in asked]


def figures(ranks: Sequence[int]) -> list[float]:
    """R@1, R@5, R@10 and the mean reciprocal rank."""
    count = len(ranks) or 1
    return [sum(rank <= k for rank in ranks) / count for k in (1, 5, 10)] + [sum(1 / rank for rank in ranks) / count]


def fit(asked: Sequence[Asked]) -> Weights:
    """The weights that do best, one moved at a time over a coarse grid, from none but the text."""
    weights = msgspec.structs.replace(Weights(), **dict.fromkeys(FITTED, 0.0))
    best = _value(asked, weights)
    for _ in range(3):
        before = best
        for sign in FITTED:
            for step in GRID:
                tried = msgspec.structs.replace(weights, **{sign: step})
                value = _value(asked, tried)
                if value > best + 1e-9:
                    best, weights = value, tried
        if best == before:
            break
    return weights


def leave_one_out(found: Mapping[str, Sequence[Asked]]) -> list[tuple[int, int]]:
    """For each repository, the ranks with weights found on the others."""
    ranks = []
    for name, asked in found.items():
        weights = fit([one for other, some in found.items() if other != name for one in some])
        told = " ".join(f"{sign} {getattr(weights, sign):g}" for sign in FITTED)
        print(f"for {name}: {told}")
        ranks += [one.ranks(weights) for one in asked]
    return ranks


def _value(asked: Sequence[Asked], weights: Weights) -> float:
    """What is to be large: R@5 and MRR, of source files more than of all."""
    ranks = [one.ranks(weights) for one in asked]
    everywhere, source = (figures([rank[n] for rank in ranks]) for n in (0, 1))
    return source[3] + 0.5 * source[1] + 0.5 * everywhere[3] + 0.25 * everywhere[1]
