"""Budgets: whether what was used up, with what the next call takes at least, reaches a limit. Pure.

Counting is done elsewhere. May import: protocol.
"""

from __future__ import annotations

import math

from msgspec import Struct

from agi.protocol.messages import Usage
from agi.protocol.policies import Budget

__all__ = ["LEAST_ANSWER", "Budget", "Reserve", "exceeded", "output_room"]

LEAST_ANSWER = 16
"""Tokens. With room for fewer nothing of use can be said, and some providers refuse to be asked for so few."""

_PLENTY = 1e12
"""Tokens. Where each costs next to nothing, dividing by that gives more than a number can be."""


class Reserve(Struct, frozen=True, kw_only=True):
    """What the next call takes before it has said a word; money is None where the price is not known."""

    tokens: int = 0
    usd: float | None = None
    usd_per_output_token: float | None = None

    @property
    def is_free(self) -> bool:
        """Whether the call is known to cost nothing."""
        return self.usd == 0 and self.usd_per_output_token == 0


NOTHING_RESERVED = Reserve()


def exceeded(
    budget: Budget, usage: Usage, steps: int, seconds: float, reserve: Reserve = NOTHING_RESERVED
) -> str | None:
    """Tell which limit is reached, in words for people, or None; asked before each model call."""
    if budget.steps is not None and steps >= budget.steps:
        return f"The budget of {budget.steps} steps is used up."
    if budget.seconds is not None and seconds >= budget.seconds:
        return f"The budget of {budget.seconds:g} seconds is used up."
    return _tokens_exceeded(budget, usage, reserve) or _money_exceeded(budget, usage, reserve)


def _tokens_exceeded(budget: Budget, usage: Usage, reserve: Reserve) -> str | None:
    room = _token_room(budget, usage, reserve)
    if budget.tokens is None or room is None or room >= LEAST_ANSWER:
        return None
    used = usage.input_tokens + usage.output_tokens
    if used >= budget.tokens:
        return f"The budget of {budget.tokens} tokens is used up: {used} used."
    return f"The budget of {budget.tokens} tokens does not allow one more call: {used} are used."


def _money_exceeded(budget: Budget, usage: Usage, reserve: Reserve) -> str | None:
    if budget.usd is None or reserve.is_free:
        return None
    spent = usage.cost_usd or 0.0
    if usage.cost_usd is not None and spent >= budget.usd:
        return f"The budget of ${_dollars(budget.usd)} is used up: ${spent:.4f} spent."
    room = _money_room(budget, usage, reserve)
    if room is not None and room < LEAST_ANSWER:
        return f"The budget of ${_dollars(budget.usd)} does not pay for one more call: ${spent:.4f} is spent."
    return None


def output_room(budget: Budget, usage: Usage, reserve: Reserve) -> int | None:
    """How many tokens the next call may say before a limit is reached; None if no limit says so."""
    rooms = (_token_room(budget, usage, reserve), _money_room(budget, usage, reserve))
    return min((room for room in rooms if room is not None), default=None)


def _token_room(budget: Budget, usage: Usage, reserve: Reserve) -> int | None:
    if budget.tokens is None:
        return None
    return budget.tokens - usage.input_tokens - usage.output_tokens - reserve.tokens


def _money_room(budget: Budget, usage: Usage, reserve: Reserve) -> int | None:
    if budget.usd is None or reserve.usd is None or reserve.usd_per_output_token is None or reserve.is_free:
        return None
    left = budget.usd - (usage.cost_usd or 0.0) - reserve.usd
    if reserve.usd_per_output_token <= 0:
        return 0 if left < 0 else None  # only what is sent costs something
    return math.floor(min(left / reserve.usd_per_output_token, _PLENTY))


def _dollars(usd: float) -> str:
    """Two places, or four where two would hide what a worker's share is."""
    return f"{usd:.2f}" if usd == round(usd, 2) else f"{usd:.4f}"
