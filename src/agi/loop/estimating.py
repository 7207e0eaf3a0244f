"""What a plan is going to take, as a range: a small model of how a turn grows, filled with what is known already.

Each step with a tool is one model call, and the closing words are another. Every call sends again what the calls before
it sent, said and found. What one says and what a tool gives back are this conversation's averages, else a guess. The
low case says and finds half as much, and all that was sent before comes from the provider's cache; the high case takes
twice the calls, each twice as long. Pure. May import: protocol, loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from agi.loop.base import Plan
from agi.loop.spending import length_of
from agi.protocol.messages import Message, Usage
from agi.protocol.preflight import EstimatedCost, PreflightStep

SAID = 400
"""Tokens one call says, where nothing is known."""
FOUND = 800
"""Tokens one tool gives back, likewise."""
CHARACTERS = 4
"""Of usual text in a token."""
ENOUGH = 3
"""Answers, or results, from which an average is worth more than a guess."""


class _Case(Struct, frozen=True, kw_only=True):
    calls: int
    first: int
    said: int
    found: int
    cached: float
    """Which part of what was sent before comes from the cache."""


def estimate(plan: Plan, history: Sequence[Message], steps: Sequence[PreflightStep], asked: Usage) -> EstimatedCost:
    """What the steps take; `asked` is what proposing them took, which tells how much each call sends at least."""
    calls = sum(bool(step.tool_name) for step in steps) + 1
    first = asked.input_tokens or _sent(plan, history)
    said, found = _average([one.usage.output_tokens for one in history if one.usage], SAID), _found(history)
    share = asked.cached_tokens / asked.input_tokens if asked.input_tokens else 0.0
    usual = _Case(calls=calls, first=first, said=said, found=found, cached=share)
    low = _Case(calls=calls, first=first, said=said // 2, found=found // 2, cached=1.0)
    high = _Case(calls=2 * calls, first=first, said=2 * said, found=2 * found, cached=0.0)
    uses = _uses(plan, usual)
    return EstimatedCost(
        input_tokens=sum(one.input_tokens for one in uses),
        output_tokens=sum(one.output_tokens for one in uses),
        estimated_usd=_cost(plan, uses),
        low_usd=_cost(plan, _uses(plan, low)),
        high_usd=_cost(plan, _uses(plan, high)),
    )


def _uses(plan: Plan, case: _Case) -> list[Usage]:
    """What each call takes; a conversation does not outgrow the model's window."""
    window = plan.facts.window(plan.model.provider, plan.model.name)
    uses: list[Usage] = []
    before = 0
    for number in range(case.calls):
        sent = case.first + number * (case.said + case.found)
        sent = sent if window is None else min(sent, window)
        known = before if number else (case.first if case.cached else 0)
        uses.append(
            Usage(input_tokens=sent, output_tokens=case.said, cached_tokens=int(min(known, sent) * case.cached))
        )
        before = sent
    return uses


def _cost(plan: Plan, uses: Sequence[Usage]) -> float | None:
    """Call by call, since some prices rise with the length of one."""
    costs = [plan.facts.cost(plan.model.provider, plan.model.name, one) for one in uses]
    known = [cost for cost in costs if cost is not None]
    return round(sum(known), 6) if len(known) == len(costs) else None


def _sent(plan: Plan, history: Sequence[Message]) -> int:
    return (len(plan.system) + length_of(history)) // CHARACTERS


def _found(history: Sequence[Message]) -> int:
    return _average([length_of([one]) // CHARACTERS for one in history if one.role == "tool"], FOUND)


def _average(seen: Sequence[int], guess: int) -> int:
    return guess if len(seen) < ENOUGH else max(1, sum(seen) // len(seen))
