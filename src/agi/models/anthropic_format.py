"""A request in Anthropic's Messages format: our messages and tools become its bytes.

Pure, and the same input gives the same bytes. What stays the same from call to call comes first and messages last, so
that a longer conversation only adds at the end; marks for the provider's cache move along, each the last key of its
block. Sending and reading are `anthropic`'s business. May import: errors, protocol, models.base,
models.anthropic_blocks, models.anthropic_schema, models.retelling.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from agi.errors import Invalid
from agi.models.anthropic_blocks import Block, CacheControl, TextBlock, affordable, assistant_blocks, user_blocks
from agi.models.anthropic_schema import tighten
from agi.models.base import ModelRequest
from agi.models.retelling import Retelling
from agi.protocol.messages import Message
from agi.protocol.parts import Json
from agi.protocol.tools import ToolDefinition

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
_LIMITS = (
    (re.compile(r"claude-3-5-"), 8_192),
    (re.compile(r"claude-(3-(opus|sonnet|haiku)|2|instant)"), 4_096),
    (re.compile(r"claude-(3-7-|(opus|sonnet|haiku)-4(-[0-5])?([@-]20\d{6}|$))"), 32_000),
    (re.compile(r"claude-"), 64_000),
)
"""The first that is found in a model's name says how much it may say; none of them takes less."""
_LIMIT_ELSEWHERE = 8_192
_AFTER_THINKING = 4_096
_OPENING = TextBlock("(The beginning of the conversation is left out.)")
_MARK = CacheControl()
# Sorted keys: two schemas or options that are equal are sent as the same bytes.
_encode = msgspec.json.Encoder(order="deterministic").encode


class _Tool(Struct, frozen=True):
    name: str
    description: str
    input_schema: Json
    cache_control: CacheControl | UnsetType = UNSET


class _Message(Struct):
    role: str
    content: list[Block | Raw]


class _Body(Struct, frozen=True, kw_only=True):
    model: str
    max_tokens: object
    stream: bool = True
    temperature: object = UNSET
    top_p: object = UNSET
    stop_sequences: object = UNSET
    thinking: object = UNSET
    output_config: Json | UnsetType = UNSET
    tools: list[_Tool] | UnsetType = UNSET
    system: list[TextBlock] | UnsetType = UNSET
    messages: list[_Message]


def encode_request(provider: str, model: str, request: ModelRequest, retelling: Retelling | None = None) -> bytes:
    """Write the body of `POST …/v1/messages`; provider and model tell whose thoughts may be sent back.

    `retelling` knows what was written before.
    """
    options = {name: value for name, value in request.options.items() if value is not None}
    stop = options.get("stop", UNSET)
    body = _Body(
        model=model,
        max_tokens=options.get("max_tokens", _limit(model, options)),
        temperature=options.get("temperature", UNSET),
        top_p=options.get("top_p", UNSET),
        stop_sequences=[stop] if isinstance(stop, str) else stop,
        thinking=options.get("thinking", UNSET),
        output_config=_output(options) or UNSET,
        tools=_tools(request.tools) or UNSET,
        system=[TextBlock(request.system, _MARK)] if request.system.strip() else UNSET,
        messages=_messages((provider, model), request, retelling or Retelling()),
    )
    return _encode(body)


def _limit(model: str, options: Json) -> int:
    """How many tokens the answer may have where nobody said; the thoughts count too."""
    usual = next((limit for name, limit in _LIMITS if name.search(model)), _LIMIT_ELSEWHERE)
    thinking = options.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    return max(usual, budget + _AFTER_THINKING) if isinstance(budget, int) else usual


def _output(options: Json) -> Json:
    effort = options.get("reasoning_effort")
    told: Json = {} if effort is None else {"effort": "low" if effort == "minimal" else effort}
    schema = options.get("schema")
    if isinstance(schema, dict):
        told["format"] = {"type": "json_schema", "schema": tighten(schema)}
    return told


def _tools(tools: tuple[ToolDefinition, ...]) -> list[_Tool]:
    told = [_tool(tool) for tool in tools]
    if told:
        told[-1] = msgspec.structs.replace(told[-1], cache_control=_MARK)
    return told


def _tool(tool: ToolDefinition) -> _Tool:
    if not _TOOL_NAME.fullmatch(tool.name):
        raise Invalid(
            f"The tool {tool.name[:80]!r} cannot be offered to a model under this name.",
            hint="Tool names are 1 to 128 letters, digits, dashes and underscores; rename the tool or switch it off.",
            code="tool_name_invalid",
        )
    return _Tool(tool.name, tool.description, tool.input_schema)


def _messages(maker: tuple[str, str], request: ModelRequest, retelling: Retelling) -> list[_Message]:
    """Turns that alternate: what one side says in several messages is one, and the user begins."""
    told: list[_Message] = []
    files = affordable(request.messages, request.files)
    written = retelling.pieces(request, maker, partial(_blocks, maker), lambda one: Raw(_encode(one)), files)
    for message, blocks in zip(request.messages, written, strict=True):
        role = "assistant" if message.role == "assistant" else "user"
        if told and told[-1].role == role:
            told[-1].content += blocks
        elif blocks:
            told.append(_Message(role, [*blocks]))
    if told and told[0].role == "assistant":
        told.insert(0, _Message("user", [_OPENING]))
    _mark(told)
    return told


def _blocks(maker: tuple[str, str], message: Message, files: Mapping[str, bytes]) -> Sequence[Block]:
    if message.role == "assistant":
        return assistant_blocks(message.parts, *maker)
    return user_blocks(message.parts, files)


def _mark(messages: list[_Message]) -> None:
    """Mark the last two turns of the user: the later is kept, the earlier was kept by the request before."""
    for message in [message for message in messages if message.role == "user"][-2:]:
        message.content[-1] = _marked(message.content[-1])


def _marked(block: Block | Raw) -> Block | Raw:
    if isinstance(block, Raw):
        return Raw(b'%b,"cache_control":%b}' % (bytes(block)[:-1], _encode(_MARK)))
    return msgspec.structs.replace(block, cache_control=_MARK)
