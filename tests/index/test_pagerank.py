"""Where a reader who follows edges spends their time."""

import random

import pytest

from agi.index.pagerank import pagerank


def turned(edges):
    """Edges by their target, with the sources in order."""
    inflow = {}
    for source in sorted(edges):
        for target in edges[source]:
            sources, shares = inflow.setdefault(target, ([], []))
            sources.append(source)
            shares.append(1 / len(edges[source]))
    return inflow


def test_no_files_have_no_ranks():
    """Nothing to rank is no error."""
    assert pagerank([], {}, {}) == {}


def test_without_edges_all_are_alike_or_as_started():
    """Ranks add up to one."""
    assert pagerank(["a", "b"], {}, {}) == {"a": 0.5, "b": 0.5}
    assert pagerank(["a", "b"], {}, {"a": 3.0, "b": 1.0}) == {"a": 0.75, "b": 0.25}


def test_who_is_pointed_to_ranks_higher():
    """A file that others use matters more than those others."""
    ranks = pagerank(["a", "b", "hub"], turned({"a": ["hub"], "b": ["hub"]}), {})

    assert ranks["hub"] > ranks["a"] == ranks["b"]
    assert sum(ranks.values()) == pytest.approx(1)


def test_the_start_pulls_its_neighbours_up():
    """What the session touched makes what that uses matter, and not what it has nothing to do with."""
    edges = {"mine": ["near"], "theirs": ["far"], "other": ["far"]}
    nodes = sorted({"mine", "near", "theirs", "far", "other"})

    ranks = pagerank(nodes, turned(edges), {"mine": 1.0})

    assert ranks["mine"] > ranks["near"] > ranks["far"] == 0


def test_starts_that_are_no_files_do_not_count():
    """A file that was mentioned may be gone."""
    assert pagerank(["a", "b"], {}, {"gone": 1.0}) == {"a": 0.5, "b": 0.5}


def test_a_few_sweeps_say_what_many_would():
    """On a random graph the best twenty are the same, in nearly the same place."""
    chance = random.Random(7)
    nodes = [f"f{n:03}" for n in range(400)]
    inflow = turned({node: chance.sample(nodes[: 1 + n // 3 + 20], 5) for n, node in enumerate(nodes)})

    few, many = pagerank(nodes, inflow, {}), pagerank(nodes, inflow, {}, sweeps=200)

    best = sorted(nodes, key=many.__getitem__)[-20:]
    assert len(set(sorted(nodes, key=few.__getitem__)[-20:]) & set(best)) >= 19
    assert all(few[node] == pytest.approx(many[node], rel=0.05) for node in best)
