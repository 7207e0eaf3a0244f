"""What a server says of its tools is cleaned, bounded and checked; one that is wrong costs itself."""

from __future__ import annotations

import pytest

from agi.mcp.defining import LARGEST_SUM, MOST_TOOLS, RawTool, define, depth_of, digest


def tool(name: str = "t", description: str = "", **schema: object) -> RawTool:
    return RawTool(name=name, description=description, schema={"type": "object", **schema})


@pytest.mark.advisory("tool poisoning")
@pytest.mark.threat("T34")
def test_every_text_of_a_schema_is_cleaned():
    """A model reads all of it, not only the description."""
    hidden = {"properties": {"x": {"type": "string", "description": "a\x1b[31mb\u200b\u202ec", "enum": ["\x07v"]}}}
    (one,) = define([tool(**hidden)]).tools

    assert one.schema["properties"] == {"x": {"type": "string", "description": "abc", "enum": ["v"]}}


def test_what_a_provider_would_refuse_is_left_out_or_refused_here():
    """One schema that a provider does not take costs every request, not one tool."""
    offer = define([tool("a", anyOf=[{"required": ["x"]}], properties={"x": {}}), tool("b", properties={"x y": {}})])

    assert [one.schema for one in offer.tools] == [{"type": "object", "properties": {"x": {}}}]
    assert offer.wrong == (("b", "It has an argument that no provider takes: 'x y'."),)


def test_a_list_without_end_is_cut():
    """By number and by size, and it is said."""
    many = define(tool(f"t{number}") for number in range(MOST_TOOLS + 5))
    assert (len(many.tools), len(many.wrong)) == (MOST_TOOLS, 1)

    large = define(tool(f"t{number}", "d" * 4_000, title="s" * 3_900) for number in range(1_000))
    assert sum(len(str(one)) for one in large.tools) <= LARGEST_SUM * 1.2
    assert len(large.tools) + len(large.wrong) == 1_000


def test_the_order_of_keys_is_no_change():
    """A server may build its schema anew each time."""
    one = define([tool(title="x", properties={"a": {"type": "string"}, "b": {}})]).tools[0]
    other = define([tool(properties={"b": {}, "a": {"type": "string"}}, title="x")]).tools[0]

    assert digest(one) == digest(other)


def test_depth_is_counted_without_recursing():
    """And no further than it matters."""
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]

    assert depth_of(deep, 50) == 50
