"""Messages: who said what, in ordered parts; and what it cost. May import: protocol."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from agi.protocol.parts import Part

Mode = Literal["queue", "steer"]
"""How a message that has to wait is taken up: by a turn of its own, or by the running turn at its next step."""
Urgency = Literal["queue", "steer", "interrupt"]
"""The same for its sender, who may also have the running turn stopped, to be answered right after it."""
Role = Literal["system", "user", "assistant", "tool"]
MessageStatus = Literal["pending", "complete", "error"]
StopReason = Literal[
    "end_turn",
    "tool_calls",
    "max_tokens",
    "refusal",
    "max_steps",
    "budget_exhausted",
    "loop_detected",
    "canceled",
    "interrupted",
    "error",
]


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens and money of one model call, or the sum of several. An unknown price is null, never 0.

    `input_tokens` is all input; `cached_tokens` (read from the provider's cache) and `cache_write_tokens` (put into it)
    are parts of it. `output_tokens` is all output; `reasoning_tokens` is a part of it.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    requests: int = 0
    cost_usd: float | None = None

    @property
    def told(self) -> int:
        """What is sent again with the next call: all that went in, and what was said; thoughts are not."""
        return self.input_tokens + max(0, self.output_tokens - self.reasoning_tokens)

    def plus(self, other: Usage) -> Usage:
        """Add up; money stays unknown only while nothing is known."""
        known = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            requests=self.requests + other.requests,
            cost_usd=sum(known) if known else None,
        )


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing said. `origin` tells a message the harness wrote (such as `verification`) from a person's."""

    id: str
    role: Role
    parts: tuple[Part, ...]
    created_at: str
    session_id: str = ""
    turn_id: str | None = None
    status: MessageStatus
    origin: str = ""
    client: str = ""
    """Through what a person said it, such as `tui` or `web`; empty if that was not told."""
    agent: str = ""
    provider: str = ""
    model: str = ""
    stop_reason: StopReason | None = None
    usage: Usage | None = None
    reverted: bool = False
    """Whether it was taken back: kept in the log, but no part of the conversation any more."""
