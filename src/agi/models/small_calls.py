"""Tool calls that local models write into their text: bare or fenced JSON, or JSON between tags, instead of a call.

Only a text that is nothing but such calls, and calls of tools that were offered, is taken for them; anything else is
text. Pure and bounded. May import: nothing of ours.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

import msgspec

MOST_TEXT = 100_000
MOST_CALLS = 8
_NAMES = ("name", "tool", "action", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input")
_NOT_GIVEN = ("id", "type", *_ARGUMENTS)

_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_WRAPPED = re.compile(
    r"```[A-Za-z_]*[ \t]*\n(?P<fenced>.*?)\n?[ \t]*```"
    r"|<(?P<tag>tool_call|tool_calls|tools|function_call)>(?P<tagged>.*?)(?:</(?P=tag)>|\Z)"
    r"|<function=(?P<name>[\w.-]{1,64})>(?P<body>.*?)(?:</function>|\Z)",
    re.DOTALL,
)
_MISTRAL = "[TOOL_CALLS]"


class WrittenCall(NamedTuple):
    """A call as it was written: the tool's name, and the arguments as a JSON object."""

    name: str
    arguments: str


def written_calls(text: str, offered: Collection[str]) -> tuple[WrittenCall, ...]:
    """The calls a text consists of; none if it says anything else, or names a tool that was not offered."""
    if len(text) > MOST_TEXT:
        return ()
    body = _THOUGHT.sub("", text).strip().removeprefix(_MISTRAL)
    found: list[WrittenCall] = []
    for name, piece in _pieces(body):
        calls = list(_read(piece, name)) if piece is not None else []
        if not calls or len(found) + len(calls) > MOST_CALLS:
            return ()
        found += calls
    return tuple(found) if all(call.name in offered for call in found) else ()


def _pieces(body: str) -> Iterator[tuple[str, str | None]]:
    """The JSON in a text with the name its tag gives it; None for what stands between and is no JSON at all."""
    at = 0
    for match in _WRAPPED.finditer(body):
        if body[at : match.start()].strip():
            yield "", None
        inner = next(part for part in (match["fenced"], match["tagged"], match["body"]) if part is not None)
        yield match["name"] or "", inner
        at = match.end()
    if rest := body[at:].strip():
        yield "", rest if at == 0 else None


def _read(piece: str, name: str) -> Iterator[WrittenCall]:
    """The calls in one piece: an object, a list of them, or one a line."""
    wrapped = _WRAPPED.fullmatch(piece.strip())
    if wrapped and not name:  # a fence inside tags, or the other way round
        piece = next(part for part in (wrapped["fenced"], wrapped["tagged"], wrapped["body"]) if part is not None)
        name = wrapped["name"] or ""
    values = _values(piece.strip())
    for value in values:
        call = _call(value, name)
        if call is None:
            return
        yield call


def _values(piece: str) -> list[object]:
    try:
        value = msgspec.json.decode(piece)
    except (msgspec.DecodeError, RecursionError):
        lines = [line for line in piece.splitlines() if line.strip()]
        if not 1 < len(lines) <= MOST_CALLS:
            return []
        try:
            return [msgspec.json.decode(line) for line in lines]
        except (msgspec.DecodeError, RecursionError):
            return []
    return value if isinstance(value, list) else [value]


def _call(value: object, name: str) -> WrittenCall | None:
    if not isinstance(value, dict):
        return None
    if name:
        return WrittenCall(name, _encoded(value))
    inner = value.get("function")
    written: dict[str, object] = inner if isinstance(inner, dict) else value
    key = next((key for key in _NAMES if isinstance(written.get(key), str)), "")
    given = _arguments(written, key)
    return WrittenCall(str(written[key]), _encoded(given)) if key and isinstance(given, dict) else None


def _arguments(written: dict[str, object], key: str) -> object:
    """What a call is given: under a name of its own, as text or not, or beside the tool's name."""
    given = next((written[name] for name in _ARGUMENTS if name in written), None)
    if given is None:
        return {field: one for field, one in written.items() if field not in (key, *_NOT_GIVEN)}
    return _object(given) if isinstance(given, str) else given


def _object(text: str) -> object:
    try:
        return msgspec.json.decode(text) if text.strip() else {}
    except (msgspec.DecodeError, RecursionError):
        return None


def _encoded(value: object) -> str:
    return msgspec.json.encode(value).decode()
