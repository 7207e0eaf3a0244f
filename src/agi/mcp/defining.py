"""What a server says of its tools, taken as hostile: cleaned, bounded, checked; what cannot be used is told.

A description is prompt text before any call, so nothing in it may be hidden from a person who reads it. Pure. May
import: protocol, mcp.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

import msgspec

from agi.mcp.base import Definition, Offer
from agi.protocol.parts import Json
from agi.protocol.visible import visible

LONGEST_NAME = 128
LONGEST_DESCRIPTION = 4_000
LARGEST_SCHEMA = 32 * 1024
LARGEST_SUM = 4 << 20
"""How many bytes all definitions of one server may have together."""
DEEPEST = 40
MOST_TOOLS = 2_000

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])|[\x80-\x9f]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200e\u200f\u061c\u2028\u2029\ud800-\udfff]")


_NOT_AT_THE_TOP = ("anyOf", "oneOf", "allOf", "enum", "not", "if", "then", "else")
"""What providers refuse at the top of a tool's schema, and the whole request with it. The server checks it anyway."""
_ARGUMENT = re.compile(r"[a-zA-Z0-9_.-]{1,64}\Z")
"""A name every provider takes for an argument."""


class RawTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as a server lists it, nothing of it checked."""

    name: str
    description: str
    schema: object
    read_only: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None


def clean(text: str, longest: int) -> str:
    """Text of a server without what acts on a terminal or hides from a reader, and not endless."""
    text = scrubbed(text[: 4 * longest])
    return text if len(text) <= longest else text[:longest] + " [cut]"


def scrubbed(text: str) -> str:
    """The same for a text of any length."""
    return _CONTROL.sub("", visible(_ANSI.sub("", text).replace("\r\n", "\n")))


def define(tools: Iterable[RawTool], *, resources: bool = False, prompts: bool = False) -> Offer:
    """Make of a server's list what can be used of it."""
    good: dict[str, Definition] = {}
    wrong: dict[str, str] = {}
    left = LARGEST_SUM
    for number, tool in enumerate(tools):
        if number >= MOST_TOOLS:
            wrong[""] = f"It lists more than {MOST_TOOLS:,} tools; the rest do not count."
            break
        name = clean(tool.name, LONGEST_NAME)
        if name != tool.name or not name.strip():
            wrong[name or "?"] = "Its name is empty, too long, or holds characters that cannot be seen."
        elif name in good or name in wrong:
            good.pop(name, None)
            wrong[name] = "Two tools of this server have that name, so neither counts."
        elif said := _wrong_schema(tool.schema):
            wrong[name] = said
        else:
            good[name] = _definition(name, tool)
            left -= len(msgspec.json.encode(good[name]))
            if left < 0:
                del good[name]
                wrong[name] = f"The tools before it take more than {LARGEST_SUM:,} bytes."
    return Offer(tools=tuple(good.values()), resources=resources, prompts=prompts, wrong=tuple(wrong.items()))


def digest(definition: Definition) -> str:
    """A hash of a definition, whatever order its schema's keys stand in."""
    return sha256(msgspec.json.encode(definition, order="sorted")).hexdigest()


def _definition(name: str, tool: RawTool) -> Definition:
    schema = _cleaned(tool.schema)
    assert isinstance(schema, dict)  # noqa: S101 - it was looked at before
    schema.setdefault("properties", {})
    for word in _NOT_AT_THE_TOP:
        schema.pop(word, None)
    return Definition(
        name=name,
        description=clean(tool.description, LONGEST_DESCRIPTION),
        schema=schema,
        read_only=tool.read_only,
        destructive=tool.destructive,
        open_world=tool.open_world,
    )


def _wrong_schema(schema: object) -> str:
    """Why no provider would take it; one that does not would refuse whole requests."""
    if depth_of(schema, DEEPEST + 1) > DEEPEST:
        return f"Its arguments are nested more than {DEEPEST} levels deep."
    try:
        size = len(msgspec.json.encode(schema))
    except (OverflowError, TypeError, ValueError, UnicodeEncodeError):
        return "Its arguments are described by something that is no JSON."
    if size > LARGEST_SCHEMA:
        return f"The description of its arguments is larger than {LARGEST_SCHEMA:,} bytes."
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "Its arguments are not described as a JSON object."
    if not isinstance(schema.get("properties", {}), dict) or not isinstance(schema.get("required", []), list):
        return "Its arguments are not described by a valid JSON schema."
    if unfit := [name for name in schema.get("properties", {}) if not _ARGUMENT.match(name)]:
        return f"It has an argument that no provider takes: {clean(unfit[0], 80)!r}."
    return _unusable(schema)


def _unusable(schema: Json) -> str:
    import jsonschema_rs  # late: only who lists tools needs it

    try:
        jsonschema_rs.validator_for(schema, offline=True, pattern_options=jsonschema_rs.RegexOptions())
    except (ValueError, jsonschema_rs.ReferencingError, RecursionError) as error:
        said = (str(error).splitlines() or [""])[0]
        return f"Its arguments are not described by a valid JSON schema: {clean(said, 200)}"
    return ""


def _cleaned(value: object) -> object:
    """A schema with every text in it cleaned: models read all of it."""
    if isinstance(value, str):
        return clean(value, LONGEST_DESCRIPTION)
    if isinstance(value, dict):
        return {key: _cleaned(inner) for key, inner in value.items()}
    return [_cleaned(inner) for inner in value] if isinstance(value, list) else value


def depth_of(value: object, most: int) -> int:
    """How deep a value is nested, counted no further than `most`; does not recurse."""
    depth, level = 0, [value]
    while level and depth < most:
        depth += 1
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
        ]
    return depth
