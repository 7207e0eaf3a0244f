"""A function's arguments by their type hints: as a JSON schema, and as a check of what a call gives.

Runs inside the tool's own process. What the daemon knows of a tool is this schema; that a call fits it is checked here,
by the same hints. May import: nothing of ours.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Mapping
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

MOST_ARGUMENTS = 50
DEEPEST = 12
LONGEST_TEXT = 2_000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_RESERVED = ("command",)
"""Rules about commands read an argument of this name as shell, which it would not be."""
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_IN_WORDS = {"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false"}
_KINDS = "str, int, float, bool, list, dict, Literal, Optional, Union, TypedDict and Annotated"
_SECTION = re.compile(r"^(?:Args|Arguments|Parameters):\s*$")
_ENTRY = re.compile(r"^(?P<indent>\s+)\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?:\s*(?P<text>.*)$")
_FIELD = re.compile(r"^\s*:param\s+(?:[^:]*\s)?(?P<name>\w+):\s*(?P<text>.*)$")


class Unfit(Exception):
    """A function that cannot be a tool, or a call that does not fit one."""


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Describe the arguments of a function; raises Unfit for what cannot be described."""
    told = _told_of_arguments(inspect.getdoc(function) or "")
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, (hint, default) in _arguments(function).items():
        schema = _schema(hint, f"argument `{name}`", 0)
        if default is inspect.Parameter.empty:
            required.append(name)
        else:
            schema = _with_default(schema, default, name)
        if name in told and "description" not in schema:
            schema = {**schema, "description": told[name]}
        properties[name] = schema
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def bound(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call as the function takes them; raises Unfit with words for the model."""
    arguments = _arguments(function)
    unknown = [name for name in given if name not in arguments]
    if unknown:
        known = ", ".join(arguments) or "none"
        raise Unfit(f"there is no argument `{unknown[0][:80]}`; there are: {known}")
    for name, (_, default) in arguments.items():
        if default is inspect.Parameter.empty and name not in given:
            raise Unfit(f"the argument `{name}` is missing")
    return {name: _fitted(arguments[name][0], value, name) for name, value in given.items()}


def _arguments(function: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """The hint and the default of each argument."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as error:
        raise Unfit(f"its type hints cannot be read: {type(error).__name__}: {error}") from error
    found: dict[str, tuple[Any, Any]] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise Unfit(f"argument `{name}`: every argument must be one that can be given by its name")
        if not _NAME.fullmatch(name):
            raise Unfit(f"argument `{name[:80]}`: names are made of ASCII letters, digits and `_`, 64 at most")
        if name in _RESERVED:
            raise Unfit(f"argument `{name}`: choose another name; rules would read this one as a shell command")
        if name not in hints:
            raise Unfit(f"argument `{name}` has no type; there are {_KINDS}")
        found[name] = (hints[name], parameter.default)
    if len(found) > MOST_ARGUMENTS:
        raise Unfit(f"it has more than {MOST_ARGUMENTS} arguments")
    return found


def _schema(hint: Any, where: str, depth: int) -> dict[str, Any]:
    if depth > DEEPEST:
        raise Unfit(f"{where}: its type is nested too deeply")
    if hint in (Any, object):
        return {}
    if isinstance(hint, type) and hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        schema = _schema(inner[0], where, depth)
        texts = [text for text in inner[1:] if isinstance(text, str)]
        return {**schema, "description": texts[0][:LONGEST_TEXT]} if texts else schema
    if origin in (Required, NotRequired):
        return _schema(inner[0], where, depth)
    if origin is Literal:
        return _choice(inner, where)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(one, where, depth + 1) for one in inner]}
    if hint is list or origin is list:
        return {"type": "array", **({"items": _schema(inner[0], where, depth + 1)} if inner else {})}
    if hint is dict or origin is dict:
        if inner and inner[0] is not str:
            raise Unfit(f"{where}: the keys of a dict must be str")
        return {"type": "object", **({"additionalProperties": _schema(inner[1], where, depth + 1)} if inner else {})}
    if is_typeddict(hint):
        return _fields_schema(hint, where, depth)
    raise Unfit(f"{where}: {hint!r:.80} cannot be described to a model; there are {_KINDS}")


def _choice(values: tuple[Any, ...], where: str) -> dict[str, Any]:
    if not all(isinstance(value, str | int | bool | None) for value in values):
        raise Unfit(f"{where}: a Literal holds text, whole numbers, true, false or None")
    kinds = {_PLAIN[type(value)] for value in values if type(value) in _PLAIN}
    return {**({"type": kinds.pop()} if len(kinds) == 1 else {}), "enum": list(values)}


def _fields_schema(hint: Any, where: str, depth: int) -> dict[str, Any]:
    fields = get_type_hints(hint, include_extras=True)
    properties = {name: _schema(inner, f"{where}, `{name}`", depth + 1) for name, inner in fields.items()}
    return {
        "type": "object",
        "properties": properties,
        "required": _required(hint, fields),
        "additionalProperties": False,
    }


def _required(hint: Any, fields: Mapping[str, Any]) -> list[str]:
    """The fields that must be there; where annotations are text, a class does not know that of itself."""
    told = {name: get_origin(inner) for name, inner in fields.items()}
    known = hint.__required_keys__
    return [name for name in fields if told[name] is Required or (name in known and told[name] is not NotRequired)]


def _with_default(schema: dict[str, Any], default: Any, name: str) -> dict[str, Any]:
    """An argument that can be left out; one that may be None is described by its type alone."""
    if default is None:
        choices = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
        rest = {key: value for key, value in schema.items() if key != "anyOf"}
        return {**choices[0], **rest} if len(choices) == 1 else schema
    if not _is_json(default, 0):
        raise Unfit(f"argument `{name}`: its default is no JSON value")
    return {**schema, "default": default}


def _is_json(value: Any, depth: int) -> bool:
    if depth > DEEPEST:
        return False
    if isinstance(value, list):
        return all(_is_json(one, depth + 1) for one in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(one, depth + 1) for key, one in value.items())
    if isinstance(value, float):
        return value - value == 0  # neither infinite nor nothing at all
    return value is None or isinstance(value, str | int | bool)


def _fitted(hint: Any, value: Any, where: str) -> Any:
    """A value as the hint wants it; raises Unfit with where and what."""
    if hint in (Any, object):
        return value
    origin, inner = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and hint in _PLAIN:
        return _plain_fitted(hint, value, where)
    if origin in (Annotated, Required, NotRequired):
        return _fitted(inner[0], value, where)
    if origin is Literal:
        if any(value == one and type(value) is type(one) for one in inner):
            return value
        raise Unfit(f"`{where}` must be one of {', '.join(map(repr, inner))}")
    if origin in (Union, types.UnionType):
        return _any_fitted(inner, value, where)
    if hint is list or origin is list:
        _require(isinstance(value, list), where, "a list")
        return [_fitted(inner[0], one, f"{where}[{at}]") for at, one in enumerate(value)] if inner else value
    _require(isinstance(value, dict), where, "an object")
    if is_typeddict(hint):
        return _fields_fitted(hint, value, where)
    return {key: _fitted(inner[1], one, f"{where}.{key}"[:200]) for key, one in value.items()} if inner else value


def _plain_fitted(hint: type, value: Any, where: str) -> Any:
    if hint is float and type(value) is int:
        return float(value)
    _require(type(value) is hint, where, _IN_WORDS.get(_PLAIN[hint], "null"))
    return value


def _any_fitted(choices: tuple[Any, ...], value: Any, where: str) -> Any:
    problems = []
    for hint in choices:
        try:
            return _fitted(hint, value, where)
        except Unfit as unfit:
            problems += [str(unfit)] if hint is not type(None) else []
    raise Unfit(problems[0] if len(problems) == 1 else f"`{where}` fits none of its types: {'; '.join(problems)}")


def _fields_fitted(hint: Any, value: dict[str, Any], where: str) -> dict[str, Any]:
    fields = get_type_hints(hint, include_extras=True)
    for name in value:
        if name not in fields:
            raise Unfit(f"`{where}` has no field `{name[:80]}`; there are: {', '.join(fields)}")
    for name in _required(hint, fields):
        if name not in value:
            raise Unfit(f"`{where}.{name}` is missing")
    return {name: _fitted(fields[name], one, f"{where}.{name}") for name, one in value.items()}


def _require(fits: bool, where: str, what: str) -> None:
    if not fits:
        raise Unfit(f"`{where}` must be {what}")


def _told_of_arguments(doc: str) -> dict[str, str]:
    """What a docstring says of each argument, in an `Args:` section or behind `:param`."""
    told: dict[str, str] = {}
    indent, last = "", ""
    inside = False
    for line in doc.splitlines():
        if field := _FIELD.match(line):
            told[field["name"]] = field["text"].strip()[:LONGEST_TEXT]
        elif _SECTION.match(line):
            inside, indent, last = True, "", ""
        elif inside and line and not line[0].isspace():
            inside = False
        elif inside and (entry := _ENTRY.match(line)) and entry["indent"] == (indent or entry["indent"]):
            indent, last = entry["indent"], entry["name"]
            told[last] = entry["text"].strip()[:LONGEST_TEXT]
        elif inside and last and line.strip():
            told[last] = f"{told[last]} {line.strip()}"[:LONGEST_TEXT]
    return {name: text for name, text in told.items() if text}
