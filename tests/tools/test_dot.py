"""The grammar of DOT."""

import time

import pytest

from agi.errors import Invalid
from agi.tools.dot import check_dot

GOOD = [
    "graph {}",
    "digraph G { a -> b -> c; b -> {d; e} [color=red, weight=2]; }",
    'strict graph "a name" { a -- b [label="x \\" y"] c -- d }',
    "digraph { rankdir=LR; node [shape=box style=filled]; edge [dir=back]; graph [] a }",
    "digraph { subgraph cluster_0 { label = <b<i>x</i>>; a:port:n -> b:s; } subgraph x {c} -> y, z }",
    "// comment\n/* more\n*/\n# line\nDIGRAPH { é -> _x1 -> -1.5 -> .5 }",
    'graph { a [label="one " + "two"; b=c] ; ; }'.replace("; ;", ";"),
]
BAD = [
    ("", "line 1"),
    ("a -> b", "graph or digraph is expected"),
    ("digraph { a -> b", "the source ends"),
    ("digraph { a -- b }", "edges of this graph are written ->"),
    ("graph {\na -> b }", "line 2: edges of this graph are written --"),
    ("digraph { a [color=] }", "a value is missing"),
    ("digraph { a [color] }", "= is expected"),
    ("digraph { subgraph x -> y }", "{ is expected"),
    ("digraph { a -> }", "a node is expected"),
    ("digraph { node }", "attributes in [ ] are missing"),
    ('digraph { "open }', "cannot stand here"),
    ("digraph { a [label=<b<i>] }", "has no end"),
    ("digraph {} x", "follows the closing brace"),
    ("digraph { ! }", "cannot stand here"),
    ("digraph " + "{" * 100, "nested more than 50 deep"),
]


@pytest.mark.parametrize("source", GOOD)
def test_a_graph_passes(source):
    """Whatever the grammar allows."""
    check_dot(source)


@pytest.mark.parametrize(("source", "why"), BAD)
def test_what_is_none_is_refused_with_the_line(source, why):
    """So that it can be corrected."""
    with pytest.raises(Invalid) as caught:
        check_dot(source)

    assert why in caught.value.message


def test_a_hostile_source_takes_no_time():
    """Neither many brackets nor a label without end."""
    began = time.process_time()
    for source in (
        "digraph {" + "a [label=<<>>]" * 10_000 + "}",
        "digraph {" + "<" * 190_000,
        "{" * 200_000,
        "graph {" + "a," * 90_000 + "a}",
    ):
        try:
            check_dot(source)
        except Invalid:
            continue

    assert time.process_time() - began < 2
