"""Structured output: a schema gets a name, and is strict exactly where OpenAI lets it be."""

from __future__ import annotations

import pytest

from agi.models.openai_schema import named_schema

CLOSED = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


def inside(schema: object) -> dict[str, object]:
    """A strict schema around another one."""
    return {**CLOSED, "properties": {"a": schema}}


@pytest.mark.parametrize(
    ("title", "name"),
    [(None, "answer"), ("", "answer"), ("A Person!", "A_Person_"), ("x" * 99, "x" * 64), ("naïve", "na_ve")],
)
def test_the_name_is_the_title_made_fit(title, name):
    """Letters, digits, dashes and underscores, at most 64."""
    assert named_schema({**CLOSED, "title": title})["name"] == name


@pytest.mark.parametrize(
    "schema",
    [
        CLOSED,
        inside(CLOSED),
        inside({"type": "array", "items": CLOSED}),
        inside({"anyOf": [CLOSED, {"type": "null"}]}),
        inside({"type": ["object", "null"], "properties": {}, "additionalProperties": False}),
        {**CLOSED, "$defs": {"b": CLOSED}},
        {**CLOSED, "properties": {"not": {"type": "string"}}, "required": ["not"]},
    ],
)
def test_closed_objects_that_require_all_their_fields_are_strict(schema):
    """At every level; a field may be called what a keyword is called."""
    assert named_schema(schema) == {"name": "answer", "schema": schema, "strict": True}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": CLOSED},
        {**CLOSED, "additionalProperties": True},
        {**CLOSED, "required": []},
        {**CLOSED, "required": "a"},
        {**CLOSED, "properties": None},
        {"type": "object"},
        inside({"type": "object"}),
        inside({"type": "array", "items": {"type": "object", "properties": {}}}),
        inside({"anyOf": [{"type": "object", "properties": {"x": {}}}]}),
        inside({"allOf": [CLOSED]}),
        inside(True),
        {**CLOSED, "$defs": {"b": {"type": "object"}}},
    ],
)
def test_any_other_schema_is_a_wish(schema):
    """Sent as it is, but not to be enforced: the server would refuse it."""
    assert named_schema(schema) == {"name": "answer", "schema": schema, "strict": False}


def test_a_schema_nested_beyond_reason_is_not_strict():
    """And looking at it does not take the process down."""
    schema: dict[str, object] = CLOSED
    for _ in range(5000):
        schema = inside(schema)

    assert named_schema(schema)["strict"] is False
