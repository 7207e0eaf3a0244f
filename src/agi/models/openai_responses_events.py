"""The events and items of OpenAI's Responses format, as far as an answer is made of them.

Shapes to decode into, lenient because servers are, and what can be read off an item by itself. Putting an answer
together is `openai_responses_answer`'s business. May import: protocol, models.streaming, its own format's parts.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from agi.models.openai_responses_input import Sealed
from agi.models.streaming import read_count
from agi.protocol.messages import Usage

Kind = Literal["message", "reasoning", "function_call"]

BETWEEN_THOUGHTS = "\n\n"
"""What stands between two parts of a summary: they are paragraphs."""

_encode = msgspec.json.encode


class Item(Struct):
    """One item of an answer: something said, something thought, or a call."""

    type: object = None
    id: object = None
    phase: object = None
    content: object = None
    summary: object = None
    encrypted_content: object = None
    call_id: object = None
    name: object = None
    arguments: object = None


class _Details(Struct):
    cached_tokens: object = None
    cache_write_tokens: object = None
    reasoning_tokens: object = None


class _Usage(Struct):
    input_tokens: object = None
    output_tokens: object = None
    input_tokens_details: _Details | None = None
    output_tokens_details: _Details | None = None


class _Incomplete(Struct):
    reason: object = None


class Response(Struct):
    """The whole answer, as the last event has it and as a server sends it that does not stream."""

    status: object = None
    error: object = None
    incomplete_details: _Incomplete | None = None
    usage: _Usage | None = None
    output: list[Item | None] | None = None


class Event(Struct):
    """One event of any kind."""

    type: object = None
    sequence_number: object = None
    output_index: object = None
    item_id: object = None
    delta: object = None
    summary_index: object = None
    content_index: object = None
    arguments: object = None
    item: Item | None = None
    response: Response | None = None
    error: object = None
    code: object = None
    message: object = None


decode_event = msgspec.json.Decoder(Event).decode
decode_response = msgspec.json.Decoder(Response).decode


def said_in(item: Item) -> tuple[str, bool]:
    """What a message says, and whether it refuses."""
    parts = _parts(item.content)
    refuses = any(part.get("type") == "refusal" for part in parts)
    return "".join(_text(part, "text") or _text(part, "refusal") for part in parts), refuses


def thought_in(item: Item) -> str:
    """What a reasoning item lets one read: its summary, or the thoughts themselves."""
    told = [text for part in _parts(item.summary) if (text := _text(part, "text"))]
    return BETWEEN_THOUGHTS.join(told or [text for part in _parts(item.content) if (text := _text(part, "text"))])


def seal_of(item: Item) -> str:
    """A reasoning item as it is to be handed back, with the fields a request may have; or nothing.

    An id alone would be refused: the server kept nothing it could find by it.
    """
    if not (item.encrypted_content or _parts(item.content)):
        return ""
    kept = {"type": "reasoning", "id": item.id, "summary": item.summary or [], "content": item.content or None}
    kept["encrypted_content"] = item.encrypted_content
    return _encode({name: value for name, value in kept.items() if value is not None}).decode()


def phase_of(item: Item) -> str:
    """The mark that a message belongs to a phase of the answer, to be handed back before its text; or nothing."""
    phase = item.phase
    return _encode(Sealed("message", phase)).decode() if isinstance(phase, str) and phase else ""


def written_in(arguments: object) -> str:
    """Arguments as text; a few servers send the object itself."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else _encode(arguments).decode()


def read_usage(response: Response) -> Usage:
    """What it cost, as far as the server told."""
    usage = response.usage
    if usage is None:
        return Usage(requests=1)
    read, written = usage.input_tokens_details, usage.output_tokens_details
    return Usage(
        input_tokens=read_count(usage.input_tokens),
        output_tokens=read_count(usage.output_tokens),
        cached_tokens=read_count(read.cached_tokens) if read else 0,
        cache_write_tokens=read_count(read.cache_write_tokens) if read else 0,
        reasoning_tokens=read_count(written.reasoning_tokens) if written else 0,
        requests=1,
    )


def _parts(value: object) -> list[dict[str, object]]:
    if isinstance(value, str):
        return [{"text": value}]
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _text(part: dict[str, object], name: str) -> str:
    value = part.get(name)
    return value if isinstance(value, str) else ""
