"""Asking again when a provider is busy or hangs up: visibly, with growing pauses, for a bounded time.

A pause honours what the provider asked for and can be canceled like any other moment of the turn. What was half said is
in the log as an error and is not told again. May import: errors, protocol, models.base, loop.
"""

from __future__ import annotations

import asyncio
import random
import time

from agi.errors import ModelError
from agi.loop.asking import ask_model
from agi.loop.base import Journal, Plan
from agi.models.base import ModelRequest
from agi.protocol.events import ModelBackedOff
from agi.protocol.messages import Message
from agi.protocol.times import to_rfc3339

FIRST_S = 1.0
LONGEST_S = 60.0
PATIENCE_S = 900.0
"""How long all pauses of one call together may be: an outage of ten minutes is waited out."""


async def ask_patiently(plan: Plan, journal: Journal, request: ModelRequest) -> Message:
    """Ask until there is an answer, or the failure is one that waiting does not mend."""
    attempt, waited = 0, 0.0
    while True:
        try:
            return await ask_model(plan, journal, request)
        except ModelError as error:
            attempt += 1
            pause = _pause(error, attempt)
            if not error.retryable or waited + pause > PATIENCE_S:
                raise
            waited += pause
            await journal.emit(_said(plan, error, attempt, pause))
            await asyncio.sleep(pause)


def _pause(error: ModelError, attempt: int) -> float:
    """What the provider asked for, or twice as long as last time; never quite the same for two callers."""
    if error.retry_after is not None:
        return error.retry_after + random.uniform(0, FIRST_S)  # noqa: S311 - spreads callers, hides nothing
    doubled: float = FIRST_S * 2 ** (attempt - 1)
    return min(doubled, LONGEST_S) * random.uniform(0.75, 1.25)  # noqa: S311


def _said(plan: Plan, error: ModelError, attempt: int, pause: float) -> ModelBackedOff:
    return ModelBackedOff(
        provider=plan.model.provider,
        model=plan.model.name,
        code=error.code,
        reason=error.message,
        attempt=attempt,
        resume_at=to_rfc3339(time.time() + pause),
    )
