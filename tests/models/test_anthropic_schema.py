"""Schemas for structured output, in the words Anthropic knows."""

from __future__ import annotations

import pytest

from agi.models.anthropic_schema import tighten


def test_objects_are_closed_wherever_they_stand():
    """In properties, items, choices and definitions; an open object becomes a closed one."""
    inner = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True}
    closed = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"one": inner, "many": {"type": "array", "items": inner}, "ref": {"$ref": "#/$defs/x"}},
        "required": ["one"],
        "anyOf": [inner],
        "$defs": {"x": inner},
    }

    assert tighten(schema) == {
        "type": "object",
        "properties": {"one": closed, "many": {"type": "array", "items": closed}, "ref": {"$ref": "#/$defs/x"}},
        "required": ["one"],
        "anyOf": [closed],
        "$defs": {"x": closed},
        "additionalProperties": False,
    }


def test_what_cannot_be_enforced_is_said_in_the_description():
    """The model may read what the provider cannot check."""
    schema = {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many."}

    assert tighten(schema) == {"type": "integer", "description": 'How many.\n\n{"maximum":9,"minimum":1}'}
    assert tighten({"type": "string", "pattern": "a+"}) == {"type": "string", "description": '{"pattern":"a+"}'}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "format": "date-time"},
        {"type": "array", "items": {"type": "null"}, "minItems": 1},
        {"enum": ["a", 1, None]},
        {"const": 7},
        {"type": ["string", "null"], "title": "t", "default": "x"},
        {"type": "object", "additionalProperties": {"type": "number"}},
        {},
    ],
)
def test_what_is_known_stays(schema):
    """Also a map: closing it would leave it empty, so the provider is to say that it takes none."""
    assert tighten(schema) == schema


def test_one_of_is_any_of():
    """The only choice there is."""
    assert tighten({"oneOf": [{"type": "string"}, {"type": "null"}]}) == {
        "anyOf": [{"type": "string"}, {"type": "null"}]
    }


def test_odd_schemas_are_left_to_the_provider():
    """It says better what is wrong with them."""
    odd = {"type": "object", "properties": [1], "items": 7, "anyOf": "x", "$defs": None}

    assert tighten(odd)["additionalProperties"] is False


def test_a_schema_nested_beyond_reason_is_not_followed_for_ever():
    """A bounded depth, no crash."""
    schema: dict[str, object] = {"type": "object", "minimum": 1}
    for _ in range(150):
        schema = {"type": "array", "items": schema}

    assert tighten(schema)["type"] == "array"
