"""A JSON schema as Anthropic's structured output takes it: closed objects, and no constraint it does not know.

What it cannot enforce goes into the description, for the model to read; whoever asked checks the answer anyway. Pure.
See https://platform.claude.com/docs/en/build-with-claude/structured-outputs. May import: protocol.
"""

from __future__ import annotations

import msgspec

from agi.protocol.parts import Json

_KEPT = frozenset(
    ("type", "enum", "const", "title", "description", "default", "required", "additionalProperties", "$ref")
)
_CHOICES = {"anyOf": "anyOf", "oneOf": "anyOf", "allOf": "allOf"}
_NAMED = frozenset(("properties", "$defs", "definitions"))
_FORMATS = frozenset(("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"))
_DEEPEST = 100
_encode = msgspec.json.Encoder(order="deterministic").encode


def tighten(schema: Json, depth: int = 0) -> Json:
    """Give the same schema in the words the provider knows; one that is nested beyond reason is left as it is."""
    if depth > _DEEPEST:
        return schema
    told: Json = {}
    unknown: Json = {}
    for name, value in schema.items():
        if name == "items" and isinstance(value, dict):
            told[name] = tighten(value, depth + 1)
        elif name in _CHOICES and isinstance(value, list):
            told[_CHOICES[name]] = _each(value, depth)
        elif name in _NAMED and isinstance(value, dict):
            told[name] = dict(zip(value, _each([*value.values()], depth), strict=True))
        elif name in _KEPT or _is_enforced(name, value):
            told[name] = value
        elif not name.startswith("$"):
            unknown[name] = value
    if "properties" in told or told.get("type") == "object":
        _close(told)
    if unknown:
        _describe(told, unknown)
    return told


def _each(schemas: list[object], depth: int) -> list[object]:
    return [tighten(schema, depth + 1) if isinstance(schema, dict) else schema for schema in schemas]


def _is_enforced(name: str, value: object) -> bool:
    return (name == "format" and value in _FORMATS) or (name == "minItems" and value in (0, 1))


def _close(told: Json) -> None:
    """Objects have the properties they name and no other, unless the schema says what others look like."""
    if not isinstance(told.get("additionalProperties"), dict):
        told["additionalProperties"] = False


def _describe(told: Json, unknown: Json) -> None:
    said = told.get("description")
    words = f"{said}\n\n" if isinstance(said, str) and said else ""
    told["description"] = words + _encode(unknown).decode()
