"""How much a request is, in tokens: what the provider reported last, and a guess for what came after it.

The same numbers decide when room is made and are shown to people. Pure. May import: protocol, context.tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from agi.context.tokens import BYTES, tokens_of
from agi.protocol.compaction import CompactionPolicy
from agi.protocol.events import ContextCompacted
from agi.protocol.known import Known
from agi.protocol.messages import Message
from agi.protocol.parts import Audio, ErrorPart, File, Image, Part, Reasoning, Text, ToolCallPart
from agi.protocol.tools import ToolDefinition

MESSAGE = 6
"""Tokens around each message."""
ATTACHMENT = 1500
"""Tokens of a picture, a sound or a file; nobody knows before it was sent."""
LEAST_SHARE = 3
"""A report of less than a third of the guess is not believed."""
USUAL_OUTPUT = 8192
"""What a model may say of which nothing is known."""


class Facts(Protocol):
    """What is known about models."""

    def window(self, provider: str, model: str) -> int | None:
        """How many tokens it takes in and gives out together."""

    def max_output(self, provider: str, model: str) -> int | None:
        """How many tokens it gives out at most."""


def limit_of(facts: Facts, provider: str, model: str, policy: CompactionPolicy, asked: object = None) -> int | None:
    """How much may be sent before room is made; None if nobody knows the model's window.

    `asked` is the longest answer that was asked for, if any.
    """
    window, room = facts.window(provider, model), room_of(facts, provider, model, policy, asked)
    if window is None or room is None:
        return None
    margin = window // 50
    return max(1, min(int(window * policy.threshold), room - margin))


def room_of(facts: Facts, provider: str, model: str, policy: CompactionPolicy, asked: object = None) -> int | None:
    """How much may be sent at most: the window without what stays free for the answer; None if nobody knows it."""
    window = facts.window(provider, model)
    if window is None:
        return None
    return max(1, window - reserve_of(window, facts.max_output(provider, model), policy, asked))


def reserve_of(window: int, max_output: int | None, policy: CompactionPolicy, asked: object = None) -> int:
    """What of a window stays free for the answer."""
    known = asked if isinstance(asked, int) else max_output or USUAL_OUTPUT
    return policy.reserve_tokens if policy.reserve_tokens is not None else min(known, window // 4)


def size_of(messages: Iterable[Message]) -> int:
    """About how many tokens messages are."""
    return sum(map(_size_of_one, messages))


def _size_of_one(message: Message) -> int:
    return MESSAGE + sum(_size(part) for part in message.parts)


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


def fixed_size(system: str, tools: Sequence[ToolDefinition]) -> int:
    """About how much goes along with every request, whatever is said."""
    described = sum(len(one.name) + len(one.description) + len(msgspec.json.encode(one.input_schema)) for one in tools)
    return tokens_of(system) + described // BYTES


def request_size(
    told: Sequence[Message],
    fixed: int,
    maker: tuple[str, str],
    compaction: ContextCompacted | None,
    known: Known[Message, int] | None = None,
) -> int:
    """How much the next request is: the last report of this model, and a guess for what came after it.

    Right after a compaction nothing is reported yet; then what it was said to leave counts. A report that cannot be
    true (some servers count only what was not cached) counts for nothing. `known` keeps how long each message is.
    """
    sizes = (Known() if known is None else known).of(told, _size_of_one)
    guess = fixed + sum(sizes)
    for place in range(len(told) - 1, -1, -1):
        one = told[place]
        if one.usage is not None and one.usage.input_tokens and one.status == "complete":
            reported = one.usage.told + sum(sizes[place + 1 :])
            is_ours = (one.provider, one.model) == maker
            return reported if is_ours and reported * LEAST_SHARE >= guess else max(reported, guess)
        if compaction is not None and one.id == compaction.last_message:
            return compaction.post_tokens + sum(sizes[place + 1 :])
    return guess
