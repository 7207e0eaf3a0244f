"""Links: what is near in the graph of who uses whom, and who defines a name."""

import time

import pytest

from agi.index import links as module
from agi.index.graph import Graph
from agi.index.links import MOST_DEFINERS, Links
from agi.index.symbols import Definition, Symbols


def file(defines=(), uses=()):
    definitions = tuple(Definition(name, "function", n + 1, n + 1) for n, name in enumerate(defines))
    return Symbols("python", definitions, dict.fromkeys(uses, 1))


def graph_of(files):
    graph = Graph()
    for path, (defines, uses) in files.items():
        graph.put(path, file(defines, uses))
    return graph


CHAIN = {
    "a.py": (["alpha_start"], ["beta_middle"]),
    "b.py": (["beta_middle"], ["gamma_end"]),
    "c.py": (["gamma_end"], ["delta_last"]),
    "d.py": (["delta_last"], ["omega_beyond"]),
    "e.py": (["omega_beyond"], []),
    "lonely.py": (["nobody_uses_this"], []),
}


def test_what_is_nearer_is_reached_more_often_and_three_steps_away_is_the_end():
    """Along edges; what nothing leads to is not reached."""
    near = graph_of(CHAIN).links().near({"a.py": 1.0})
    assert near["b.py"] > near["c.py"] > near["d.py"] > 0
    assert not {"e.py", "lonely.py"} & near.keys()


def test_edges_are_followed_either_way():
    """Who uses a thing is as near to it as the thing to them."""
    assert graph_of(CHAIN).links().near({"c.py": 1.0}).keys() >= {"b.py", "d.py"}


@pytest.mark.parametrize("start", [{}, {"a.py": 0.0}, {"gone.py": 1.0}])
def test_a_start_that_is_nowhere_reaches_nothing(start):
    """And divides by nothing."""
    assert graph_of(CHAIN).links().near(start) == {}


def test_a_name_that_many_define_says_nothing_and_one_that_two_define_says_half():
    """`main` is in every file."""
    crowd = {f"f{n}.py": (["main"], []) for n in range(MOST_DEFINERS + 1)}
    links = graph_of({**crowd, "x.py": (["parse", "lex"], []), "y.py": (["parse"], [])}).links()
    assert links.defining(["main", "unheard"]) == {}
    assert links.defining(["parse", "lex"]) == {"x.py": (1.5, "lex"), "y.py": (0.5, "parse")}


def test_links_stay_as_they_were_when_the_graph_changes_and_the_next_ones_have_the_change():
    """Whoever asks is not disturbed by who reads."""
    graph = graph_of(CHAIN)
    before = graph.links()
    assert graph.links() is before
    graph.put("b.py", file(["other_name"], []))
    graph.remove("lonely.py")
    assert before.near({"a.py": 1.0})["b.py"] > 0
    assert before.defining(["nobody_uses_this"])
    after = graph.links()
    assert "b.py" not in after.near({"a.py": 1.0})
    assert after.defining(["nobody_uses_this", "beta_middle"]) == {}
    assert after.defining(["other_name"]) == {"b.py": (1.0, "other_name")}


def test_links_of_a_changed_graph_are_those_of_one_made_at_once():
    """Step by step or at once, the same."""
    graph = graph_of({**CHAIN, "z.py": (["gamma_end"], ["alpha_start"])})
    graph.links()
    graph.remove("z.py")
    assert graph.links() == graph_of(CHAIN).links()


def test_a_file_that_all_use_does_not_make_a_question_slow(monkeypatch):
    """So many edges are followed and no more."""
    paths = tuple(f"f{n}.py" for n in range(30_000))
    inflow = {"hub.py": (paths, (1.0,) * len(paths)), **dict.fromkeys(paths, (("hub.py",), (1.0,)))}
    links = Links(outflow={}, inflow=inflow, definers={})
    assert links.near({"hub.py": 1.0, "f1.py": 1.0}) == {"hub.py": 0.25}
    monkeypatch.setattr(module, "MOST_EDGES", 40_000)
    began = time.process_time()
    assert len(links.near({"hub.py": 1.0})) == 30_000
    assert time.process_time() - began < 1.0
