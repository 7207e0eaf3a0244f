"""Who uses whom, and how much that says."""

import random

import pytest

from agi.index.graph import MOST_DEFINERS, MOST_EDGES, Graph, specificity
from agi.index.symbols import Definition, Symbols


def symbols(defines=(), **uses):
    return Symbols("python", tuple(Definition(name, "function", 1, 1) for name in defines), uses)


def edges(graph, path):
    return dict(zip(*graph.edges()[path], strict=True))


def test_a_file_points_to_the_one_that_defines_what_it_uses():
    """All of it goes there; names that nobody defines, and its own, lead nowhere."""
    graph = Graph()
    graph.put("a.py", symbols(["own_helper"], open_ledger=3, unknown=5, own_helper=9))
    graph.put("b.py", symbols(["open_ledger"]))

    assert edges(graph, "a.py") == {"b.py": 1.0}
    assert edges(graph, "b.py") == {}
    assert graph.inflow() == {"b.py": (("a.py",), (1.0,))}


def test_names_lead_to_files_of_the_same_language_only():
    """`append` of a script says nothing about a Python file; TypeScript and JavaScript are one."""
    graph = Graph()
    graph.put("page.js", symbols(["append"]))
    graph.put("a.py", symbols(append=3))
    graph.put("b.ts", symbols(append=3))

    assert edges(graph, "a.py") == {}
    assert edges(graph, "b.ts") == {"page.js": 1.0}


def test_a_rare_name_says_more_than_one_that_many_define():
    """`get` is everywhere; what only one file defines leads there."""
    graph = Graph()
    for n in range(5):
        graph.put(f"common{n}.py", symbols(["getter"]))
    graph.put("rare.py", symbols(["ledger"]))
    graph.put("user.py", symbols(getter=1, ledger=1))

    told = edges(graph, "user.py")

    assert told["rare.py"] == pytest.approx(5 * told["common0.py"])


@pytest.mark.parametrize(
    ("more", "less"), [("open_ledger", "ledger"), ("openLedger", "ledgers"), ("ledger", "_ledger"), ("open", "fd")]
)
def test_specific_names_are_worth_more_than_private_or_short_ones(more, less):
    """A long, composed name is seldom meant by chance."""
    assert specificity(more) > specificity(less)


def test_a_name_defined_nearly_everywhere_says_nothing():
    """It makes no edge at all."""
    graph = Graph()
    for n in range(MOST_DEFINERS + 1):
        graph.put(f"f{n}.py", symbols(["handle_request"]))
    graph.put("user.py", symbols(handle_request=1))

    assert edges(graph, "user.py") == {}


def test_only_the_strongest_edges_are_kept():
    """A file that uses everything points to what it uses most."""
    graph = Graph()
    for n in range(MOST_EDGES + 10):
        graph.put(f"f{n:02}.py", symbols([f"open_ledger_{n}"]))
    graph.put("user.py", symbols(**{f"open_ledger_{n}": n + 1 for n in range(MOST_EDGES + 10)}))

    told = edges(graph, "user.py")

    assert len(told) == MOST_EDGES
    assert "f00.py" not in told
    assert sum(told.values()) == pytest.approx(1)


def test_a_graph_changed_step_by_step_is_the_one_made_at_once():
    """Whatever was put, changed and removed on the way, in whatever order."""
    chance = random.Random(3)
    names = [f"name_{n}" for n in range(30)]
    grown, last = Graph(), {}
    for _ in range(400):
        path = f"f{chance.randrange(25)}.py"
        if chance.random() < 0.2:
            grown.remove(path)
            last.pop(path, None)
        else:
            uses = {name: chance.randrange(1, 9) for name in sorted(chance.sample(names, 6))}
            last[path] = symbols(chance.sample(names, 2), **uses)
            grown.put(path, last[path])
        if chance.random() < 0.3:
            grown.edges()
    fresh = Graph()
    for path, one in last.items():
        fresh.put(path, one)

    assert grown.edges() == fresh.edges()
    assert grown.inflow() == fresh.inflow()
    assert set(grown.names()) == set(fresh.names())


def test_what_did_not_change_is_no_change():
    """An edit that touches no name leaves everything that was worked out."""
    graph = Graph()
    graph.put("a.py", symbols(["one"], two=1))
    before = graph.version

    graph.put("a.py", symbols(["one"], two=1))
    graph.remove("never.py")

    assert graph.version == before
