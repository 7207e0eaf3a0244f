"""A request in OpenAI's Chat Completions format: our messages and tools become its bytes.

Pure, and the same input gives the same bytes. What stays the same from call to call (model, options, tools, system
prompt) comes first and messages last, so that a longer conversation only adds at the end: providers charge less for a
beginning they have seen. Sending and reading are `openai_chat`'s business. May import: errors, protocol, models.base,
models.openai_chat_parts, models.openai_chat_thoughts, models.openai_schema, models.retelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from agi.errors import Invalid
from agi.models.base import ModelRequest
from agi.models.openai_chat_parts import Content, content_of, text_of
from agi.models.openai_chat_thoughts import thoughts_of
from agi.models.openai_schema import named_schema
from agi.models.retelling import Retelling
from agi.protocol.known import Known
from agi.protocol.messages import Message
from agi.protocol.parts import Json, ToolCallPart, ToolResultPart, plain_text
from agi.protocol.tools import ToolDefinition

LimitName = Literal["max_tokens", "max_completion_tokens"]

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)
# Sorted keys: two schemas or options that are equal are sent as the same bytes.
_encode = msgspec.json.Encoder(order="deterministic").encode
_TOOLS: Known[ToolDefinition, Raw] = Known(spare=512)
"""Tools as they are sent: written once, whatever session they are offered in."""


class _Function(Struct, frozen=True):
    name: str
    description: str
    parameters: dict[str, object]


class _Tool(Struct, frozen=True):
    function: _Function
    type: str = "function"


class _CallFunction(Struct, frozen=True):
    name: str
    arguments: str


class _Call(Struct, frozen=True):
    id: str
    function: _CallFunction
    type: str = "function"


class _Message(Struct, frozen=True, kw_only=True):
    role: str
    tool_call_id: str | UnsetType = UNSET
    reasoning_content: str | UnsetType = UNSET
    reasoning: str | UnsetType = UNSET
    reasoning_details: Raw | UnsetType = UNSET
    content: Content | None
    tool_calls: list[_Call] | UnsetType = UNSET


class _StreamOptions(Struct, frozen=True):
    include_usage: bool = True


class _Body(Struct, frozen=True, kw_only=True):
    model: str
    stream: bool = True
    stream_options: _StreamOptions = _StreamOptions()
    temperature: object = UNSET
    top_p: object = UNSET
    seed: object = UNSET
    stop: object = UNSET
    max_tokens: object = UNSET
    max_completion_tokens: object = UNSET
    reasoning_effort: object = UNSET
    response_format: Json | UnsetType = UNSET
    tools: list[Raw] | UnsetType = UNSET
    messages: list[_Message | Raw]


def encode_request(
    provider: str, model: str, request: ModelRequest, *, limit_name: LimitName, retelling: Retelling | None = None
) -> bytes:
    """Write the body of `POST …/chat/completions`; `limit_name` is what this server calls `max_tokens`.

    `retelling` knows what was written before.
    """
    options = {name: value for name, value in request.options.items() if value is not None}
    limit = options.get("max_tokens", UNSET)
    body = _Body(
        model=model,
        temperature=options.get("temperature", UNSET),
        top_p=options.get("top_p", UNSET),
        seed=options.get("seed", UNSET),
        stop=options.get("stop", UNSET),
        max_tokens=limit if limit_name == "max_tokens" else UNSET,
        max_completion_tokens=limit if limit_name == "max_completion_tokens" else UNSET,
        reasoning_effort=options.get("reasoning_effort", UNSET),
        response_format=_response_format(options.get("schema")),
        tools=_TOOLS.of(request.tools, _tool) or UNSET,
        messages=[*_system(request), *_conversation((provider, model), request, retelling or Retelling())],
    )
    return _encode(body)


def _response_format(schema: object) -> Json | UnsetType:
    return {"type": "json_schema", "json_schema": named_schema(schema)} if isinstance(schema, dict) else UNSET


def _system(request: ModelRequest) -> list[_Message]:
    return [_Message(role="system", content=request.system)] if request.system else []


def _tool(tool: ToolDefinition) -> Raw:
    if not _TOOL_NAME.fullmatch(tool.name):
        raise Invalid(
            f"The tool {tool.name[:80]!r} cannot be offered to a model under this name.",
            hint="Tool names are 1 to 64 letters, digits, dashes and underscores; rename the tool or switch it off.",
            code="tool_name_invalid",
        )
    return Raw(_encode(_Tool(_Function(tool.name, tool.description, tool.input_schema))))


def _conversation(maker: tuple[str, str], request: ModelRequest, retelling: Retelling) -> Iterator[_Message | Raw]:
    told = retelling.pieces(request, maker, partial(_messages, maker), lambda one: Raw(_encode(one)))
    return chain.from_iterable(told)


def _messages(maker: tuple[str, str], message: Message, files: Mapping[str, bytes]) -> Iterator[_Message]:
    """One of our messages as the provider's: a tool message becomes one a result, an empty one none."""
    if message.role == "tool":
        yield from (_result(part, files) for part in message.parts if isinstance(part, ToolResultPart))
    elif message.role == "assistant":
        yield from _answered(message, maker)
    elif content := content_of(message.parts, files):
        yield _Message(role=message.role, content=content)


def _answered(message: Message, maker: tuple[str, str]) -> Iterator[_Message]:
    text, calls = plain_text(message.parts), [_call(p) for p in message.parts if isinstance(p, ToolCallPart)]
    if text or calls:
        thoughts = thoughts_of(message.parts, maker)
        yield _Message(
            role="assistant",
            reasoning_content=thoughts.reasoning_content,
            reasoning=thoughts.reasoning,
            reasoning_details=thoughts.reasoning_details,
            content=text or None,
            tool_calls=calls or UNSET,
        )


def _call(part: ToolCallPart) -> _Call:
    """A call as servers take it: models also call tools that nobody offered them, with arguments that are no object."""
    call, written = part.content, bytes(part.content.args)
    if not written.lstrip().startswith(b"{"):
        written = b'{"malformed":%b}' % written
    name = _UNFIT.sub("_", call.name)[:64] or "_"
    return _Call(call.id, _CallFunction(name, written.decode(errors="replace")))


def _result(part: ToolResultPart, files: Mapping[str, bytes]) -> _Message:
    """A result is text in this format: its pictures are spoken of."""
    result = part.content
    content = text_of(result.parts, files) or result.error or "(no output)"
    return _Message(role="tool", tool_call_id=result.id, content=content)
