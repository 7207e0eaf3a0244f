"""What a plan is going to take: a range that is ordered, grows with the plan, and is unknown where prices are."""

from __future__ import annotations

from typing import cast

import msgspec
import pytest

from agi.loop.base import Plan
from agi.loop.estimating import FOUND, SAID, estimate
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Text, ToolResultContent, ToolResultPart
from agi.protocol.preflight import PreflightStep


class Prices:
    """A model that costs 1 USD a million in, 10 out, a tenth from the cache; and twice that for long prompts."""

    def __init__(self, window: int | None = None, *, known: bool = True) -> None:
        self._window = window
        self._known = known

    def cost(self, provider: str, model: str, usage: Usage) -> float | None:
        rate = 2.0 if usage.input_tokens > 100_000 else 1.0
        fresh = usage.input_tokens - usage.cached_tokens
        usd = rate * (fresh + usage.cached_tokens / 10 + usage.output_tokens * 10) / 1e6
        return usd if self._known else None

    def window(self, provider: str, model: str) -> int | None:
        return self._window

    def max_output(self, provider: str, model: str) -> int | None:
        return None


class Named:
    provider = "p"
    name = "m"


class Shaped(msgspec.Struct):
    """As much of a plan as is looked at."""

    facts: Prices
    model: Named
    system: str = "x" * 400


def plan(window: int | None = None, *, known: bool = True) -> Plan:
    return cast("Plan", Shaped(Prices(window, known=known), Named()))


def steps(count: int, tool: str = "shell") -> list[PreflightStep]:
    return [
        PreflightStep(id=f"step_{n}", description="x", tool_name=tool, risk="low", needs_approval=True)
        for n in range(count)
    ]


def said(tokens: int) -> Message:
    usage = Usage(input_tokens=1, output_tokens=tokens)
    return Message(id="m", role="assistant", parts=(), created_at="", status="complete", usage=usage)


def found(characters: int) -> Message:
    content = ToolResultContent(id="c", name="x", ok=True, parts=(Text(text="x" * characters),))
    return Message(id="m", role="tool", parts=(ToolResultPart(content=content),), created_at="", status="complete")


ASKED = Usage(input_tokens=5000, output_tokens=100)


def test_each_step_with_a_tool_is_a_call_and_the_closing_words_are_one():
    """What is sent grows by what was said and found."""
    cost = estimate(plan(), [], [*steps(2), *steps(1, "")], ASKED)

    grown = SAID + FOUND
    assert cost.input_tokens == 5000 + (5000 + grown) + (5000 + 2 * grown)
    assert cost.output_tokens == 3 * SAID


@pytest.mark.parametrize("count", [0, 1, 5, 50])
def test_the_range_is_ordered_and_a_longer_plan_costs_more(count):
    """Low, expected, high."""
    cost, longer = estimate(plan(), [], steps(count), ASKED), estimate(plan(), [], steps(count + 1), ASKED)

    assert cost.low_usd is not None
    assert cost.estimated_usd is not None
    assert cost.high_usd is not None
    assert 0 < cost.low_usd < cost.estimated_usd < cost.high_usd
    assert longer.estimated_usd is not None
    assert longer.estimated_usd > cost.estimated_usd


def test_what_this_conversation_has_shown_counts_more_than_a_guess():
    """From three answers and three results on."""
    history = [said(1000), found(40_000)] * 3

    cost = estimate(plan(), history, steps(1), ASKED)

    assert cost.output_tokens == 2 * 1000
    assert cost.input_tokens == 5000 + 5000 + 1000 + 10_000
    assert estimate(plan(), history[:4], steps(1), ASKED).output_tokens == 2 * SAID


def test_what_came_from_the_cache_is_expected_to_do_so_again():
    """And then costs less."""
    cached = estimate(plan(), [], steps(3), Usage(input_tokens=5000, cached_tokens=4500))

    assert (cached.estimated_usd or 0) < (estimate(plan(), [], steps(3), ASKED).estimated_usd or 0)


def test_a_conversation_does_not_outgrow_the_window():
    """However long the plan is."""
    cost = estimate(plan(window=6000), [], steps(9), ASKED)

    assert cost.input_tokens <= 10 * 6000


def test_an_unknown_price_is_none_and_tokens_are_told_all_the_same():
    """Never 0."""
    cost = estimate(plan(known=False), [], steps(1), ASKED)

    assert (cost.estimated_usd, cost.low_usd, cost.high_usd) == (None, None, None)
    assert cost.input_tokens > 0


def test_a_provider_that_counts_nothing_is_counted_for():
    """By the length of what is sent."""
    assert estimate(plan(), [], [], Usage()).input_tokens == 100
