"""A request in Gemini's format: our messages, tools and files become its bytes.

Pure, and the same input gives the same bytes. What stays the same from call to call (system prompt, tools, options)
comes first and the conversation last, so that a longer one only adds at the end: the provider charges less for a
beginning it has seen. Sending and reading are `gemini`'s business. May import: errors, protocol, models.base,
models.gemini_parts, models.retelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from agi.errors import Invalid
from agi.models.base import ModelRequest
from agi.models.gemini_parts import Piece, is_tool_name, write_answer, write_input, write_result
from agi.models.retelling import Retelling
from agi.protocol.messages import Message
from agi.protocol.parts import Json, ToolResultPart
from agi.protocol.tools import ToolDefinition

# Aliases such as `gemini-flash-latest` are newer.
_OLD = re.compile(r"(models/)?(gemini-(live-)?[12]\b|gemma|learnlm)", re.ASCII)
_BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576, "xhigh": 24576}
_LEVELS = {"none": "MINIMAL", "xhigh": "HIGH"}
# Sorted keys: two schemas or options that are equal are sent as the same bytes.
_encode = msgspec.json.Encoder(order="deterministic").encode


class _Content(Struct, frozen=True):
    role: str
    parts: list[Piece | Raw]


_OPENING = _Content("user", [Piece(text="(The beginning of the conversation is left out.)")])


class _Instruction(Struct, frozen=True):
    parts: list[Piece]


class _Function(Struct, frozen=True, rename="camel"):
    name: str
    description: str
    parameters_json_schema: Json


class _Tools(Struct, frozen=True, rename="camel"):
    function_declarations: list[_Function]


class _Config(Struct, frozen=True, kw_only=True, rename="camel"):
    temperature: object = UNSET
    top_p: object = UNSET
    seed: object = UNSET
    stop_sequences: object = UNSET
    max_output_tokens: object = UNSET
    response_mime_type: str | UnsetType = UNSET
    response_json_schema: object = UNSET
    thinking_config: Json | UnsetType = UNSET


class _Body(Struct, frozen=True, kw_only=True, rename="camel"):
    system_instruction: _Instruction | UnsetType = UNSET
    tools: list[_Tools] | UnsetType = UNSET
    generation_config: _Config | UnsetType = UNSET
    contents: list[_Content]


def encode_request(provider: str, model: str, request: ModelRequest, retelling: Retelling | None = None) -> bytes:
    """Write the body of `POST …:streamGenerateContent`; only this provider's and model's own thoughts are sent back.

    `retelling` knows what was written before.
    """
    new = is_new(model)
    told = (retelling or Retelling()).pieces(
        request, (provider, model), partial(_pieces, (provider, model), new), lambda one: Raw(_encode(one))
    )
    config = _config(request, new)
    body = _Body(
        system_instruction=_Instruction([Piece(text=request.system)]) if request.system else UNSET,
        tools=[_Tools([_function(tool) for tool in request.tools])] if request.tools else UNSET,
        generation_config=config if config != _Config() else UNSET,
        contents=_turns(_contents(request.messages, told)),
    )
    return _encode(body)


def is_new(model: str) -> bool:
    """Whether a model is of the third generation or later, which takes more and wants its signatures back."""
    return _OLD.match(model) is None


def _config(request: ModelRequest, new: bool) -> _Config:
    options = {name: value for name, value in request.options.items() if value is not None}
    stop = options.get("stop", UNSET)
    # Older models refuse a schema beside tools.
    schema = options.get("schema", UNSET) if new or not request.tools else UNSET
    return _Config(
        temperature=options.get("temperature", UNSET),
        top_p=options.get("top_p", UNSET),
        seed=options.get("seed", UNSET),
        stop_sequences=[stop] if isinstance(stop, str) else stop,
        max_output_tokens=options.get("max_tokens", UNSET),
        response_mime_type=UNSET if schema is UNSET else "application/json",
        response_json_schema=schema,
        thinking_config=_thinking(options, new) or UNSET,
    )


def _thinking(options: Json, new: bool) -> Json:
    """How much to think, and whether aloud; nothing unless asked, as models that do not think refuse the question."""
    asked: Json = {"includeThoughts": True} if options.get("reasoning_summary") else {}
    effort = options.get("reasoning_effort")
    if isinstance(effort, str) and new:
        asked["thinkingLevel"] = _LEVELS.get(effort, effort.upper())
    elif isinstance(effort, str) and effort in _BUDGETS:
        asked["thinkingBudget"] = _BUDGETS[effort]
    return asked


def _function(tool: ToolDefinition) -> _Function:
    if not is_tool_name(tool.name):
        raise Invalid(
            f"The tool {tool.name[:80]!r} cannot be offered to a model under this name.",
            hint="Tool names are 1 to 64 letters, digits, dashes and underscores; rename the tool or switch it off.",
            code="tool_name_invalid",
        )
    return _Function(tool.name, tool.description, tool.input_schema)


def _turns(contents: Iterable[_Content]) -> list[_Content]:
    """The model speaks only after somebody else: what it says in several messages is one turn, and the user begins."""
    told: list[_Content] = []
    for content in contents:
        if told and told[-1].role == content.role == "model":
            told[-1].parts.extend(content.parts)
        elif content.parts:
            told.append(content)
    return [_OPENING, *told] if told and told[0].role == "model" else told


def _contents(messages: Iterable[Message], told: Iterable[Sequence[Piece | Raw]]) -> Iterator[_Content]:
    """Our messages as the provider's; all results of one step go together, as it wants them."""
    for role, group in groupby(zip(messages, told, strict=True), key=lambda one: one[0].role):
        if role == "tool":
            yield from _results([piece for _, pieces in group for piece in pieces])
        else:
            yield from (_Content("model" if role == "assistant" else "user", [*pieces]) for _, pieces in group)


def _results(pieces: Sequence[Piece | Raw]) -> Iterator[_Content]:
    """The results of one step, and after them the media that cannot stand inside one."""
    results: list[Piece | Raw] = []
    media: list[Piece | Raw] = []
    for piece in pieces:
        is_beside = isinstance(piece, Piece) and piece.function_response is UNSET  # what was kept shows no media
        (media if is_beside else results).append(piece)
    yield _Content("user", results)
    yield _Content("user", media)


def _pieces(maker: tuple[str, str], new: bool, message: Message, files: Mapping[str, bytes]) -> list[Piece]:
    if message.role == "assistant":
        return write_answer(message.parts, maker, is_new=new)
    if message.role != "tool":
        return write_input(message.parts, files)
    results = [part.content for part in message.parts if isinstance(part, ToolResultPart)]
    written = [write_result(content, files, is_new=new) for content in results]
    return [piece for result, after in written for piece in (result, *after)]
