"""A request in OpenAI's Responses format: options, tools and the conversation become its bytes.

Pure, and the same input gives the same bytes. What stays the same from call to call (model, options, tools,
instructions) comes first and the conversation last, so that a longer one only adds at the end: providers charge less
for a beginning they have seen. Sending and reading are `openai_responses`' business. May import: errors, protocol,
models.base, models.openai_schema, models.retelling and its own parts.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import UNSET, Struct, UnsetType

from agi.errors import Invalid
from agi.models.base import ModelRequest
from agi.models.openai_responses_input import InputItem, input_items
from agi.models.openai_schema import named_schema
from agi.models.retelling import Retelling
from agi.protocol.parts import Json
from agi.protocol.tools import ToolDefinition

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
# These refuse a request that asks for sealed thoughts, which they do not have.
_NEVER_THINKS = re.compile(r"(ft:)?(gpt-3|gpt-4|chatgpt-|gpt-5[0-9.]*-chat)", re.ASCII)
# Sorted keys: two schemas or options that are equal are sent as the same bytes.
_encode = msgspec.json.Encoder(order="deterministic").encode


class _Tool(Struct, frozen=True):
    name: str
    description: str
    parameters: Json
    strict: bool = False
    type: str = "function"


class _Body(Struct, frozen=True, kw_only=True):
    model: str
    stream: bool = True
    store: bool = False
    include: list[str] | UnsetType = UNSET
    reasoning: Json | UnsetType = UNSET
    temperature: object = UNSET
    top_p: object = UNSET
    max_output_tokens: object = UNSET
    text: Json | UnsetType = UNSET
    tools: list[_Tool] | UnsetType = UNSET
    instructions: str | UnsetType = UNSET
    input: list[InputItem]


def encode_request(provider: str, model: str, request: ModelRequest, retelling: Retelling | None = None) -> bytes:
    """Write the body of `POST …/responses`; only this provider's and model's own thoughts are sent back.

    `retelling` knows what was written before.
    """
    options = {name: value for name, value in request.options.items() if value is not None}
    thinking = {"effort": options.get("reasoning_effort"), "summary": options.get("reasoning_summary")}
    schema = options.get("schema")
    body = _Body(
        model=model,
        include=UNSET if _NEVER_THINKS.match(model) else ["reasoning.encrypted_content"],
        reasoning={name: value for name, value in thinking.items() if value is not None} or UNSET,
        temperature=options.get("temperature", UNSET),
        top_p=options.get("top_p", UNSET),
        max_output_tokens=options.get("max_tokens", UNSET),
        text={"format": {"type": "json_schema", **named_schema(schema)}} if isinstance(schema, dict) else UNSET,
        tools=[_tool(tool) for tool in request.tools] or UNSET,
        instructions=request.system or UNSET,
        input=[*input_items(request, (provider, model), retelling or Retelling())],
    )
    return _encode(body)


def _tool(tool: ToolDefinition) -> _Tool:
    if not _TOOL_NAME.fullmatch(tool.name):
        raise Invalid(
            f"The tool {tool.name[:80]!r} cannot be offered to a model under this name.",
            hint="Tool names are 1 to 64 letters, digits, dashes and underscores; rename the tool or switch it off.",
            code="tool_name_invalid",
        )
    return _Tool(tool.name, tool.description, tool.input_schema)
