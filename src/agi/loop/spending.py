"""Before each model call: may it be made at all, and how much may it say. Pure apart from what the journal tells.

What the call takes at least is known: most of it was sent the last time, since a conversation only grows, and what is
new has a length. That much counts as reserved. May import: protocol, policy, loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from agi.loop.base import Plan, Ports
from agi.policy.budget import Budget, Reserve, exceeded, output_room
from agi.protocol.events import Notice
from agi.protocol.messages import Message, StopReason, Usage
from agi.protocol.parts import Text, ToolCallPart, ToolResultPart, plain_text

SMALLEST_KNOWN = 8192
"""What any model may say; a larger allowance is told only to a model that is known to take it."""
MOST_CHARACTERS = 8
"""Of usual text there are fewer of them in a token, so that dividing by it gives what a text takes at least."""
PRICE_UNKNOWN = "price_unknown"


class Allowance(Struct, frozen=True, kw_only=True):
    """What the next call may do: nothing, for a reason, or say up to `max_tokens`."""

    stop: StopReason | None = None
    note: str = ""
    max_tokens: int | None = None


def allowance(plan: Plan, ports: Ports, history: Sequence[Message], seconds: float) -> Allowance:
    """Look at every limit; asked before each request."""
    turn = ports.journal.turn()
    if turn.steps >= plan.max_steps:
        return Allowance(stop="max_steps", note=f"The limit of {plan.max_steps} steps is reached.")
    reserve = _reserve(plan, history) if _is_limited(plan) else Reserve()
    in_turn, in_session = plan.delegated()
    by_turn, used = turn.usage.plus(in_turn), ports.journal.session_usage().plus(in_session)
    note = exceeded(plan.turn_budget, by_turn, turn.steps + in_turn.requests, seconds, reserve) or exceeded(
        plan.session_budget, used, used.requests, plan.session_seconds + seconds, reserve
    )
    if note:
        return Allowance(stop="budget_exhausted", note=note)
    rooms = (output_room(plan.turn_budget, by_turn, reserve), output_room(plan.session_budget, used, reserve))
    return Allowance(max_tokens=_told(plan, [room for room in rooms if room is not None]))


def outlasts(plan: Plan, seconds: float, pause: float) -> bool:
    """Whether a limit of time is reached before a pause is over."""
    in_turn, in_session = plan.turn_budget.seconds, plan.session_budget.seconds
    worked = seconds + pause
    return (in_turn is not None and worked >= in_turn) or (
        in_session is not None and plan.session_seconds + worked >= in_session
    )


def price_notice(plan: Plan, ports: Ports) -> Notice | None:
    """What a person should know, once a session: money is limited, and what the model costs is not known."""
    if plan.turn_budget.usd is None and plan.session_budget.usd is None:
        return None
    provider, model = plan.model.provider, plan.model.name
    if plan.facts.cost(provider, model, Usage()) is not None or ports.journal.was_noticed(PRICE_UNKNOWN):
        return None
    return Notice(
        code=PRICE_UNKNOWN,
        message=f"A budget in USD is set, but the price of {provider}/{model} is not known, so it does not bind; "
        f"limits of tokens, steps and seconds do. providers.{provider}.models.{model} sets the price.",
    )


def tokens_at_least(characters: int) -> int:
    """What a text of this length takes at least."""
    return characters // MOST_CHARACTERS


def length_of(messages: Iterable[Message]) -> int:
    """How many characters a model is told by messages; what is attached to them does not count."""
    return sum(_length(part) for message in messages for part in message.parts)


def _length(part: object) -> int:
    if isinstance(part, ToolResultPart):
        return len(plain_text(part.content.parts))
    if isinstance(part, ToolCallPart):
        return len(bytes(part.content.args))
    return len(part.text) if isinstance(part, Text) else 0


def _is_limited(plan: Plan) -> bool:
    return any(_counts(budget) for budget in (plan.turn_budget, plan.session_budget))


def _counts(budget: Budget) -> bool:
    return budget.tokens is not None or budget.usd is not None


def _reserve(plan: Plan, history: Sequence[Message]) -> Reserve:
    provider, model = plan.model.provider, plan.model.name
    tokens = _sent_at_least(plan, history)
    cached = Usage(input_tokens=tokens, cached_tokens=tokens)  # the least it can cost
    thousand = plan.facts.cost(provider, model, Usage(output_tokens=1000))
    return Reserve(
        tokens=tokens,
        usd=plan.facts.cost(provider, model, cached),
        usd_per_output_token=thousand / 1000 if thousand is not None else None,
    )


def _sent_at_least(plan: Plan, history: Sequence[Message]) -> int:
    """What the last call took in and said, but for what it thought, is sent again; with whatever came after it."""
    for place in range(len(history) - 1, -1, -1):
        last, usage = history[place], history[place].usage
        if usage is not None and last.status == "complete":
            known = usage.input_tokens + max(0, usage.output_tokens - usage.reasoning_tokens)
            return known + tokens_at_least(length_of(history[place + 1 :]))
    return tokens_at_least(len(plan.system) + length_of(history))


def _told(plan: Plan, rooms: list[int]) -> int | None:
    """The limit to send along: only where it is tighter than what holds anyway."""
    if not rooms:
        return None
    asked = plan.options.get("max_tokens")
    known = plan.facts.max_output(plan.model.provider, plan.model.name) or SMALLEST_KNOWN
    holds = asked if isinstance(asked, int) else known
    return min(rooms) if min(rooms) < holds else None
