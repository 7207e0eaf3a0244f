"""JSON schemas as clients send them: whether one is usable at all, and what of a value does not fit.

A schema may come from anywhere, and so may a value: nothing is fetched, patterns are matched in linear time, and what
would take for ever to check is refused. May import: errors, protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from agi.errors import Invalid
from agi.protocol.parts import Json

LARGEST = 64 * 1024
DEEPEST = 200
MOST_STEPS = 300
"""How many references and levels there may be one inside the other."""
MOST_CHECKS = 100_000
"""How many schemas there may be once every reference is written out."""
_MOST_ERRORS = 5
_SHOWN = 300


def checked_schema(options: Json | None) -> Json | None:
    """The schema among a message's options; raises Invalid if it is none that can be used."""
    schema = (options or {}).get("schema")
    if schema is None:
        return None
    if not isinstance(schema, dict):
        raise _invalid("options.schema is not a JSON schema: expected an object.")
    if _depth(schema) > DEEPEST:
        raise _invalid(f"options.schema is nested more than {DEEPEST} levels deep.")
    if len(msgspec.json.encode(schema)) > LARGEST:
        raise _invalid(f"options.schema is larger than {LARGEST} bytes.")
    _validator(schema)
    if _Written(schema).size(schema) > MOST_CHECKS:
        raise _invalid("options.schema refers to itself so often that checking an answer would take too long.")
    return schema


def misfits(schema: Json, value: object) -> list[str]:
    """What of a value does not fit, in words for the model; empty if it does."""
    if _depth(value) > DEEPEST:
        return [f"It is nested more than {DEEPEST} levels deep."]
    try:
        found = list(islice(_validator(schema).iter_errors(value), _MOST_ERRORS))
    except ValueError as error:
        return [f"It cannot be checked: {str(error)[:_SHOWN]}"]
    return [f"{_place(error)}: {error.message[:_SHOWN]}" for error in found]


def _validator(schema: Json) -> Any:
    import jsonschema_rs  # late: only a structured answer needs it

    try:
        return jsonschema_rs.validator_for(schema, offline=True, pattern_options=jsonschema_rs.RegexOptions())
    except (ValueError, jsonschema_rs.ReferencingError, RecursionError) as error:
        raise _invalid(f"options.schema is not a usable JSON schema: {str(error).splitlines()[0][:_SHOWN]}") from error


class _Written:
    """A schema with its references written out; one that is met again inside itself counts once."""

    def __init__(self, schema: Json) -> None:
        self._schema = schema
        self._sizes: dict[str, int] = {}

    def size(self, value: object, deepest: int = MOST_STEPS) -> int:
        """How many values there are, at most a little more than MOST_CHECKS."""
        if isinstance(value, dict) and value is not self._schema and isinstance(value.get("$id"), str):
            raise _invalid("options.schema has an $id below its root: only a $ref of the form #/… is followed.")
        total = 1
        for inner in _inside(value):
            if total > MOST_CHECKS or deepest < 1:
                return MOST_CHECKS + 1
            total += self.size(inner, deepest - 1)
        return total + sum(self._size_at(place, deepest - 1) for place in _references(value))

    def _size_at(self, place: str, deepest: int) -> int:
        if place not in self._sizes:
            self._sizes[place] = 0
            self._sizes[place] = self.size(_at(self._schema, place), deepest)
        return self._sizes[place]


def _references(value: object) -> Iterator[str]:
    """The places a schema refers to; raises Invalid for other ways to refer than by a path from its root."""
    for name, place in value.items() if isinstance(value, dict) else ():
        if isinstance(place, str) and name in ("$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"):
            raise _invalid(f"options.schema has a {name}: only a $ref of the form #/… is followed.")
        if isinstance(place, str) and name == "$ref":
            yield place


def _inside(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _at(schema: object, place: str) -> object:
    """What a reference points at."""
    if place != "#" and not place.startswith("#/"):
        raise _invalid("options.schema has a $ref that is no path from its root, such as #/$defs/name.")
    for step in place.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, list) and name.isdigit() and int(name) < len(schema):
            schema = schema[int(name)]
        else:
            schema = schema.get(name) if isinstance(schema, dict) else None
    return schema


def _depth(value: object) -> int:
    """How deep it is nested, without recursing."""
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [inner for one in level for inner in _inside(one)]
    return depth


def _place(error: Any) -> str:
    path = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in error.instance_path)
    return f"`{path.lstrip('.')[:_SHOWN]}`" if path else "the value"


def _invalid(message: str) -> Invalid:
    return Invalid(message, code="schema_invalid", hint="Send a JSON schema of your own writing, without remote $refs.")
