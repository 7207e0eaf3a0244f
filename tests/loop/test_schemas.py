"""Schemas of clients: what is usable is used, what would harm or never end is refused with words."""

from __future__ import annotations

import time

import pytest

from agi.errors import Invalid
from agi.loop.schemas import DEEPEST, LARGEST, checked_schema, misfits

NESTED: dict[str, object] = {}
for _ in range(DEEPEST + 5):
    NESTED = {"not": NESTED}
DOUBLING = {
    "$ref": "#/$defs/a0",
    "$defs": {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(60)} | {"a60": {"type": "string"}},
}
TREE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["name"],
}


@pytest.mark.parametrize(
    ("schema", "word"),
    [
        ("object", "expected an object"),
        (True, "expected an object"),
        ([], "expected an object"),
        ({"type": "strange"}, "not a usable"),
        ({"type": "object", "required": "name"}, "not a usable"),
        ({"enum": ["x" * LARGEST]}, "larger than"),
        (NESTED, "nested more than"),
        (DOUBLING, "take too long"),
        ({"$ref": "http://127.0.0.1:9/schema.json"}, "not a usable"),
        ({"$ref": "file:///etc/passwd"}, "not a usable"),
        ({"$ref": "#/$defs/missing"}, "not a usable"),
        ({"$schema": "http://example.invalid/meta"}, "not a usable"),
        ({"$defs": {"a": {"$anchor": "here"}}, "$ref": "#here"}, "$anchor"),
        ({"$defs": {"a": {"$id": "http://example.invalid/a"}}}, "$id"),
        ({"type": "string", "pattern": "(?=x)y"}, "not a usable"),
        ({"type": "string", "pattern": "(a{1000}){1000}"}, "not a usable"),
        ({"type": "string", "pattern": "("}, "not a usable"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_a_reason(schema, word):
    """Nothing is fetched for it, and saying no takes no time."""
    began = time.monotonic()
    with pytest.raises(Invalid) as refused:
        checked_schema({"schema": schema})

    assert refused.value.code == "schema_invalid"
    assert word in refused.value.message
    assert refused.value.hint
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("options", [None, {}, {"temperature": 1}, {"schema": None}])
def test_no_schema_is_none(options):
    """It is an option like any other."""
    assert checked_schema(options) is None


@pytest.mark.parametrize("schema", [{}, {"type": "string"}, TREE, {"type": "string", "pattern": "^(a+)+$"}])
def test_a_usable_schema_is_given_back_as_it_is(schema):
    """Also one that refers to itself."""
    assert checked_schema({"schema": schema}) is schema


def test_a_pattern_takes_linear_time():
    """What makes other engines hang for years is a moment here."""
    began = time.monotonic()

    assert misfits({"type": "string", "pattern": "^(a+)+$"}, "a" * 5000 + "!")
    assert time.monotonic() - began < 1


def test_what_does_not_fit_is_said_with_its_place():
    """At most a few things at once, each with where it is."""
    value = {"name": "top", "children": [{"name": 7}, {}]}

    found = misfits(TREE, value)

    assert any("`children[0].name`" in one for one in found)
    assert any("`children[1]`" in one and "name" in one for one in found)
    assert len(misfits({"type": "array", "items": {"type": "string"}}, list(range(100)))) == 5


def test_a_value_that_fits_has_no_misfits():
    """Very large numbers included."""
    assert misfits(TREE, {"name": "a", "children": [{"name": "b", "children": []}]}) == []
    assert misfits({"type": "integer"}, 10**40) == []


def test_a_value_that_is_nested_without_end_does_not_fit():
    """It is told so, and nothing breaks."""
    value: list[object] = []
    for _ in range(5000):
        value = [value]

    assert "nested" in misfits({}, value)[0]
