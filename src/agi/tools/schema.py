"""The input of a tool: read from the JSON a model wrote, and described to it as a JSON schema.

One struct says both. May import: protocol.
"""

from __future__ import annotations

from typing import TypeVar, cast

import msgspec
from msgspec import Struct

from agi.protocol.parts import Json
from agi.protocol.tools import ToolCall

_Input = TypeVar("_Input", bound=Struct)


def read_input(call: ToolCall, kind: type[_Input]) -> _Input:
    """Read a call's input; raises msgspec.DecodeError, or ValidationError if it does not fit."""
    return msgspec.json.decode(call.input, type=kind)


def input_schema(kind: type[Struct]) -> Json:
    """Describe an input struct as one JSON schema without references, which not every provider understands."""
    (top,), definitions = msgspec.json.schema_components([kind])
    return cast(Json, _plain(top, definitions))


def _plain(node: object, definitions: dict[str, Json]) -> object:
    """Put definitions in the place of references, and leave out what says nothing to a model."""
    if isinstance(node, list):
        return [_plain(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = str(node["$ref"]).rpartition("/")[2]
        return _plain(definitions[name], definitions)
    plain = {key: _plain(value, definitions) for key, value in node.items() if key != "title"}
    return _without_null(plain)


def _without_null(node: Json) -> Json:
    """Write an optional field as its type alone: that it may be left out is said by `required`."""
    choices = node.get("anyOf")
    if not isinstance(choices, list) or {"type": "null"} not in choices or len(choices) != 2:
        return node
    (only,) = (choice for choice in choices if choice != {"type": "null"})
    rest = {key: value for key, value in node.items() if key != "anyOf" and (key, value) != ("default", None)}
    return {**only, **rest}
