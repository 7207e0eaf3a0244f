"""What is set aside for a worker before it starts: a share of what the one that asks for it has left.

Once it has ended, only what it used counts. Pure, apart from what the log tells. May import: config, errors, protocol,
views, sessions.turns.
"""

from __future__ import annotations

import sqlite3
from typing import TypeVar

from msgspec import Struct

from agi.config import Config
from agi.errors import Conflict
from agi.protocol.messages import Usage
from agi.protocol.policies import Budget
from agi.sessions.turns import limits
from agi.views.delegated import delegated
from agi.views.state import SessionState

N = TypeVar("N", int, float)

LEAST_TOKENS = 16
"""With fewer nothing of use can be said."""


class Left(Struct, frozen=True, kw_only=True):
    """What is left of each limit; None is no limit."""

    usd: float | None = None
    tokens: int | None = None
    steps: int | None = None
    seconds: float | None = None


def left_of(db: sqlite3.Connection, state: SessionState, config: Config) -> Left:
    """What a session has left for its turn: of the turn's own limits and of the session's, whichever is less."""
    per_turn, per_session = limits(state.budget, config)
    whole = _left(per_session, state.usage.plus(delegated(db, state.id)), state.seconds)
    turn = state.turn
    if turn is None:
        return whole
    return _lesser(_left(per_turn, turn.usage.plus(delegated(db, state.id, turn.id)), 0.0), whole)


def share(left: Left, parts: int, most: Budget) -> Budget:
    """One of so many parts of what is left, and no more than `most`; time passes for all at once, so is not divided."""
    return Budget(
        usd=_capped(None if left.usd is None else left.usd / parts, most.usd),
        tokens=_capped(None if left.tokens is None else left.tokens // parts, most.tokens),
        steps=_capped(None if left.steps is None else left.steps // parts, most.steps),
        seconds=_capped(left.seconds, most.seconds),
    )


def refuse_too_little(budget: Budget) -> None:
    """Raise if a worker with this budget could not make one call."""
    nothing = (
        (budget.usd is not None and budget.usd <= 0)
        or (budget.tokens is not None and budget.tokens < LEAST_TOKENS)
        or (budget.steps is not None and budget.steps < 1)
        or (budget.seconds is not None and budget.seconds <= 0)
    )
    if nothing:
        raise Conflict(
            "The budget has no room for another worker.",
            code="budget_exhausted",
            hint="Await the workers there are, whose unused part comes back, or do it yourself.",
        )


def fits(budget: Budget, left: Left) -> bool:
    """Whether there still is as much left as is to be set aside."""
    pairs = ((budget.usd, left.usd), (budget.tokens, left.tokens), (budget.steps, left.steps))
    return all(asked is None or there is None or asked <= there for asked, there in pairs)


def more(budget: Budget, used: Usage, seconds: float) -> Budget:
    """The same for a worker that works on: on top of what it has used."""
    return Budget(
        usd=None if budget.usd is None else budget.usd + (used.cost_usd or 0.0),
        tokens=None if budget.tokens is None else budget.tokens + used.input_tokens + used.output_tokens,
        steps=None if budget.steps is None else budget.steps + used.requests,
        seconds=None if budget.seconds is None else budget.seconds + seconds,
    )


def is_limited(budget: Budget) -> bool:
    """Whether it limits anything."""
    return budget != Budget()


def _left(budget: Budget, used: Usage, seconds: float) -> Left:
    return Left(
        usd=None if budget.usd is None else budget.usd - (used.cost_usd or 0.0),
        tokens=None if budget.tokens is None else budget.tokens - used.input_tokens - used.output_tokens,
        steps=None if budget.steps is None else budget.steps - used.requests,
        seconds=None if budget.seconds is None else budget.seconds - seconds,
    )


def _lesser(one: Left, other: Left) -> Left:
    return Left(
        usd=_capped(one.usd, other.usd),
        tokens=_capped(one.tokens, other.tokens),
        steps=_capped(one.steps, other.steps),
        seconds=_capped(one.seconds, other.seconds),
    )


def _capped(value: N | None, most: N | None) -> N | None:
    if value is None or most is None:
        return most if value is None else value
    return min(value, most)
