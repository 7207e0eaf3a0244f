"""Structured output: an answer that fits the JSON schema a client asked for, checked here whatever the provider says.

The provider is asked in its own way where it has one; else the schema becomes a tool, and the call to it the answer.
A value that does not fit is sent back once. What is a usable schema is `schemas`' business.
May import: errors, protocol, models.base, loop.schemas.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Raw

from agi.loop.schemas import misfits
from agi.models.base import Model, ModelRequest
from agi.protocol.parts import Json, Part, Text, plain_text
from agi.protocol.tools import ToolDefinition, ToolKind

TOOL = "final_answer"
ORIGIN = "structured_output"
_WRAPPED = "answer"
_SHARED = ("$defs", "definitions")
"""Where a schema keeps what it refers to; references begin at the root."""
_DESCRIPTION = "Give your final answer. Call this exactly once, when you are done; nothing else you say is read."
_REPAIR = (
    "Your answer does not fit the JSON schema that was asked for:\n{}\n\nAnswer again with {}, and nothing else.\n\n"
    "The schema:\n{}"
)


class Shape:
    """What one turn's answer has to look like, and how the provider is told."""

    def __init__(self, schema: Json | None) -> None:
        self.schema = schema
        self._refused = False
        self._as_tool = False

    def applied(self, request: ModelRequest, model: Model) -> ModelRequest:
        """The request with the schema put where this model heeds it."""
        if self.schema is None:
            return request
        options = {name: value for name, value in request.options.items() if name != "schema"}
        self._as_tool = self._refused or not model.takes_schema(with_tools=bool(request.tools))
        if self._as_tool:
            tools = (*request.tools, _tool(self.schema))
            return msgspec.structs.replace(request, tools=tools, options=options)
        return msgspec.structs.replace(request, options={**options, "schema": self.schema})

    def turn_into_tool(self) -> bool:
        """The provider does not take the schema: from now on it is a tool. False if it was one already."""
        self._refused = self.schema is not None
        return self._refused and not self._as_tool

    def check(self, parts: Sequence[Part]) -> tuple[Raw | None, str]:
        """The answer as JSON, or what is wrong with it; words before the value are forgiven if they stand apart."""
        if self.schema is None:
            return None, ""
        texts = [part.text for part in parts if isinstance(part, Text)]
        for text in (plain_text(tuple(parts)), *texts[-1:]):
            try:
                value = msgspec.json.decode(_bare(text))
            except (ValueError, RecursionError):
                continue
            problem = "\n".join(f"- {one}" for one in misfits(self.schema, value))
            return (None, problem) if problem else (Raw(msgspec.json.encode(value)), "")
        return None, "- It is not JSON." if any(text.strip() for text in texts) else "- It is empty."

    def complaint(self, problem: str) -> str:
        """What the model is told about an answer that does not fit."""
        how = f"one call to {TOOL}" if self._as_tool else "the JSON value alone, without a code fence"
        return _REPAIR.format(problem, how, msgspec.json.encode(self.schema).decode())


def from_call(arguments: str, schema: Json) -> str:
    """The answer's text, given by a call to the tool."""
    try:
        value = msgspec.json.decode(arguments.strip() or "{}")
    except (ValueError, RecursionError):
        return arguments
    if schema.get("type") != "object" and isinstance(value, dict) and value.keys() == {_WRAPPED}:
        value = value[_WRAPPED]
    return msgspec.json.encode(value).decode()


def _tool(schema: Json) -> ToolDefinition:
    fields = schema if schema.get("type") == "object" else _wrapped(schema)
    return ToolDefinition(name=TOOL, description=_DESCRIPTION, input_schema=fields, kind=ToolKind.READ)


def _wrapped(schema: Json) -> Json:
    """Arguments are always an object, so any other value is wrapped in one."""
    inner = {name: value for name, value in schema.items() if name not in _SHARED}
    shared = {name: value for name, value in schema.items() if name in _SHARED}
    return {
        "type": "object",
        "properties": {_WRAPPED: inner},
        "required": [_WRAPPED],
        "additionalProperties": False,
        **shared,
    }


def _bare(text: str) -> str:
    """The value without the fence models like to put around it."""
    found = text.strip()
    if found.startswith("```") and found.endswith("```") and "\n" in found:
        found = found[found.index("\n") + 1 : -3]
    return found
