"""How much of a model's window a session takes: the numbers that people are shown, by the shared estimate.

Pure. May import: protocol, context.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agi.context.tokens import BYTES, tokens_of
from agi.protocol.messages import Message
from agi.protocol.parts import Audio, ErrorPart, File, Image, Part, Reasoning, Text, ToolCallPart

MESSAGE = 6
"""Tokens around each message."""
ATTACHMENT = 1500
"""Tokens of a picture, a sound or a file; nobody knows before it was sent."""
USUAL_OUTPUT = 8192
"""What a model may say of which nothing is known."""


def size_of(messages: Iterable[Message]) -> int:
    """About how many tokens messages are."""
    return sum(MESSAGE + sum(_size(part) for part in one.parts) for one in messages)


def _size(part: Part) -> int:
    if isinstance(part, Text | Reasoning):
        return tokens_of(part.text)
    if isinstance(part, Image | Audio | File):
        return ATTACHMENT
    if isinstance(part, ToolCallPart):
        return tokens_of(part.content.name) + len(bytes(part.content.args)) // BYTES
    if isinstance(part, ErrorPart):
        return tokens_of(part.content.message)
    return sum(_size(one) for one in part.content.parts)


def request_size(told: Sequence[Message], fixed: int) -> int:
    """How much the next request is: what the provider reported last, and a guess for what came after it."""
    for place in range(len(told) - 1, -1, -1):
        usage = told[place].usage
        if usage is not None and usage.input_tokens and told[place].status == "complete":
            said = max(0, usage.output_tokens - usage.reasoning_tokens)
            return usage.input_tokens + said + size_of(told[place + 1 :])
    return fixed + size_of(told)


def reserve_of(window: int, max_output: int | None) -> int:
    """What of a window stays free for the answer."""
    return min(max_output or USUAL_OUTPUT, window // 4)
