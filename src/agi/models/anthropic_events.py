"""The events of Anthropic's Messages format, as far as they are understood, and the seal of a thinking block.

Values only. Fields are `object` where a server's oddity must not cost the answer. What the events amount to is
`anthropic_answer`'s business. May import: nothing of ours.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct


class SealedThinking(Struct, frozen=True, tag_field="type", tag="thinking"):
    """What proves a thinking block; its text is the reasoning itself."""

    signature: str = ""


class SealedRedacted(Struct, frozen=True, tag_field="type", tag="redacted_thinking"):
    """A thinking block nobody but its maker can read."""

    data: str = ""


class Block(Struct):
    """A block of content as it begins, or whole."""

    type: object = None
    text: object = None
    thinking: object = None
    signature: object = None
    data: object = None
    id: object = None
    name: object = None
    input: Raw = Raw(b"")


class Delta(Struct):
    """What an event adds to a block, or tells of the end."""

    type: object = None
    text: object = None
    thinking: object = None
    partial_json: object = None
    signature: object = None
    stop_reason: object = None
    stop_details: object = None


class Spent(Struct):
    """Tokens so far; each count is a total."""

    input_tokens: object = None
    cache_creation_input_tokens: object = None
    cache_read_input_tokens: object = None
    output_tokens: object = None
    output_tokens_details: object = None


class Whole(Struct):
    """A message: at the beginning of a stream empty, without a stream all of the answer."""

    type: object = None
    content: list[Block] | None = None
    stop_reason: object = None
    stop_details: object = None
    usage: Spent | None = None


class Event(Struct):
    """One event; which fields it has goes by its type."""

    type: object = None
    index: int | None = None
    content_block: Block | None = None
    delta: Delta | None = None
    message: Whole | None = None
    usage: Spent | None = None
    error: object = None


decode_event = msgspec.json.Decoder(Event).decode
decode_whole = msgspec.json.Decoder(Whole).decode
decode_seal = msgspec.json.Decoder(SealedThinking | SealedRedacted).decode
