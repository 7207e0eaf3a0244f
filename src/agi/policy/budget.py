"""Budgets: whether what was used up reaches a limit. Counting is done elsewhere. May import: protocol."""

from __future__ import annotations

from agi.protocol.messages import Usage
from agi.protocol.policies import Budget

__all__ = ["Budget", "exceeded"]


def exceeded(budget: Budget, usage: Usage, steps: int, seconds: float) -> str | None:
    """Tell which limit is reached, in words for people, or None; asked before each model call."""
    tokens = usage.input_tokens + usage.output_tokens
    if budget.usd is not None and usage.cost_usd is not None and usage.cost_usd >= budget.usd:
        return f"The budget of ${budget.usd:.2f} is used up: ${usage.cost_usd:.2f} spent."
    if budget.tokens is not None and tokens >= budget.tokens:
        return f"The budget of {budget.tokens} tokens is used up: {tokens} used."
    if budget.steps is not None and steps >= budget.steps:
        return f"The budget of {budget.steps} steps is used up."
    if budget.seconds is not None and seconds >= budget.seconds:
        return f"The budget of {budget.seconds:g} seconds is used up."
    return None
