"""A JSON schema for an answer, as OpenAI's formats want it: under a name, and strict wherever it can be.

A strict schema is enforced by the server, but only closed objects that require all their fields are taken as one;
any other is still sent, as a wish. Checking the answer is the caller's business. May import: protocol.
"""

from __future__ import annotations

import re

from agi.protocol.parts import Json

_UNFIT = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)
# https://platform.openai.com/docs/guides/structured-outputs lists what a strict schema may not say.
_NEVER_STRICT = frozenset(
    (
        "allOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "dependentRequired",
        "dependentSchemas",
        "patternProperties",
        "propertyNames",
        "unevaluatedProperties",
        "minProperties",
        "maxProperties",
        "contains",
        "uniqueItems",
        "unevaluatedItems",
        "prefixItems",
    )
)
_MAPS = ("properties", "$defs", "definitions")
_DEEPEST = 10
"""How deep OpenAI lets a strict schema nest."""


def named_schema(schema: Json) -> Json:
    """The schema with its name (its title, made fit) and whether it is to be enforced."""
    name = _UNFIT.sub("_", str(schema.get("title") or ""))[:64] or "answer"
    return {"name": name, "schema": schema, "strict": schema.get("type") == "object" and _is_strict(schema, 0)}


def _is_strict(schema: object, depth: int) -> bool:
    if not isinstance(schema, dict) or depth > _DEEPEST or _NEVER_STRICT & schema.keys() or not _is_closed(schema):
        return False
    inner = [schema["items"]] if "items" in schema else []
    inner += schema["anyOf"] if isinstance(schema.get("anyOf"), list) else []
    for name in _MAPS:
        named = schema.get(name)
        inner += named.values() if isinstance(named, dict) else []
    return all(_is_strict(one, depth + 1) for one in inner)


def _is_closed(schema: Json) -> bool:
    """Whether an object has the fields it names, all of them and no other; what is no object is closed."""
    fields, required = schema.get("properties"), schema.get("required", [])
    kind = schema.get("type")
    if fields is None and "object" not in (kind if isinstance(kind, list) else [kind]):
        return True
    if not isinstance(fields, dict) or not isinstance(required, list):
        return False
    return schema.get("additionalProperties") is False and set(fields) == {name for name in required if name in fields}
