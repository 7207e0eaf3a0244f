"""Asking until there is an answer: making room, waiting for a busy provider, mending what it refuses, asking others.

Pauses are visible, honour what the provider asked for, and can be canceled like any other moment of the turn. What was
half said is in the log as an error and is not told again. May import: errors, protocol, models.base, loop.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import msgspec

from agi.errors import ModelError
from agi.loop.asking import Hearer, ask_model
from agi.loop.base import Plan, Ports
from agi.loop.compacting import Compactor, exhausted
from agi.loop.history import Heard, normalise
from agi.loop.mending import may_mend, to_withhold
from agi.loop.shaping import Shape
from agi.loop.spending import Allowance, allowance, outlasts, price_notice
from agi.models.base import ModelRequest
from agi.protocol.events import ModelBackedOff, ModelSwitched, PartsWithheld
from agi.protocol.known import Known
from agi.protocol.messages import Message
from agi.protocol.times import to_rfc3339

FIRST_S = 1.0
LONGEST_S = 60.0
PATIENCE_S = 900.0
"""How long all pauses of one call together may be: an outage of ten minutes is waited out."""
SWITCH_AFTER = 3
"""Failed attempts after which another model is asked, if there is one."""
SWITCH_PAUSE_S = 20.0
"""A pause nobody has to wait for if there is another model."""


class Asked(NamedTuple):
    """What came of asking: an answer, or the limit that forbids it."""

    message: Message | None
    allowed: Allowance
    """What the last request was allowed, or why none was made any more."""


async def _nobody() -> bool:
    """Where nobody joins in."""
    return False


class Asker:
    """Asks for one turn; remembers which model answers by now. `worked` tells how long the turn has worked.

    `hearer` is told what the model says; None is the journal.
    """

    def __init__(
        self, plan: Plan, ports: Ports, shape: Shape, worked: Callable[[], float], hearer: Hearer | None = None
    ) -> None:
        self.plan = plan
        self._hearer = hearer or ports.journal
        self._ports = ports
        self._shape = shape
        self._worked = worked
        self._room = Compactor(ports, worked)
        self._heard: Known[Message, Heard] = Known()

    async def ask(
        self, history: Sequence[Message], beside: Sequence[Message] = (), join: Callable[[], Awaitable[bool]] = _nobody
    ) -> Asked:
        """Ask until there is an answer, or a limit is reached; raises what neither waiting nor mending helps.

        `beside` is told behind the conversation this once, and is no part of it. Right before a request that may be
        made, `join` lets people have their say in `history`; True if somebody had.
        Limits are looked at before every request: time passes while waiting, and another model costs something else.
        """
        attempt, waited = 0, 0.0
        mended: list[str] = []
        self._room.begin()
        while True:
            try:
                allowed, told = await self._allowed(history, beside)
                if not allowed.stop and await join():
                    allowed, told = await self._allowed(history, beside)
                if allowed.stop:
                    return Asked(None, allowed)
                return Asked(await self._once(told, allowed), allowed)
            except ModelError as error:
                attempt += 1
                pause = _pause(error, attempt)
                if await self._mend(error, history, mended):
                    continue
                if await self._switch(error, attempt, pause):
                    attempt, waited = 0, 0.0
                    mended.clear()
                    self._room.begin()
                    continue
                if error.code == "context_overflow":
                    raise exhausted(self.plan, error, grew_back=self._room.grew_back) from error
                if not error.retryable or waited + pause > PATIENCE_S:
                    raise
                if outlasts(self.plan, self._worked(), pause):
                    return Asked(None, _out_of_time(error))
                waited += pause
                await self._ports.journal.emit(_said(self.plan, error, attempt, pause))
                await asyncio.sleep(pause)

    async def _allowed(self, history: Sequence[Message], beside: Sequence[Message]) -> tuple[Allowance, list[Message]]:
        """What may be said, and what is told for it: limits come first, since making room costs something too."""
        told = [*self._room.told(history), *beside]
        allowed = allowance(self.plan, self._ports, told, self._worked())
        if allowed.stop or not await self._room.before_call(self.plan, history):
            return allowed, told
        told = [*self._room.told(history), *beside]
        return allowance(self.plan, self._ports, told, self._worked()), told

    async def _once(self, history: Sequence[Message], allowed: Allowance) -> Message:
        notice = price_notice(self.plan, self._ports)
        if notice is not None:
            self._ports.journal.defer(notice)
        request = await self._request(history, allowed.max_tokens)
        with self.plan.breaker(self.plan.model.provider).asking():
            return await ask_model(self.plan, self._hearer, request)

    async def _request(self, history: Sequence[Message], max_tokens: int | None) -> ModelRequest:
        request = ModelRequest(
            system=self.plan.system,
            messages=normalise(history, self._ports.journal.withheld(), self._heard),
            tools=self._ports.toolbox.definitions(),
            options=self.plan.options if max_tokens is None else {**self.plan.options, "max_tokens": max_tokens},
        )
        shown = await self.plan.media.shown(request, self.plan.model)
        return self._shape.applied(shown, self.plan.model)

    async def _mend(self, error: ModelError, history: Sequence[Message], mended: list[str]) -> bool:
        """Change what the provider refuses; False if that cannot be done, or did not help before."""
        if error.code == "context_overflow":
            return await self._room.after_overflow(self.plan, history)
        if not may_mend(error.code, mended):
            return False
        mended.append(error.code)
        if error.code == "schema_refused":
            return self._shape.turn_into_tool()
        ids = to_withhold(error, history, self._ports.journal.withheld())
        if ids:
            await self._ports.journal.emit(PartsWithheld(ids=ids, code=error.code, reason=error.message))
        return bool(ids)

    async def _switch(self, error: ModelError, attempt: int, pause: float) -> bool:
        """Turn to the next model, where waiting for this one is no use or would take long."""
        rests = error.code == "provider_resting"
        if error.retryable and not rests and attempt < SWITCH_AFTER and pause < SWITCH_PAUSE_S:
            return False
        before = self.plan.model
        model = self.plan.fallback(before.provider, before.name)
        if model is None:
            return False
        switched = ModelSwitched(
            from_provider=before.provider,
            from_model=before.name,
            provider=model.provider,
            model=model.name,
            code=error.code,
            reason=error.message,
        )
        await self._ports.journal.emit(switched)
        self.plan = msgspec.structs.replace(self.plan, model=model)
        return True


def _pause(error: ModelError, attempt: int) -> float:
    """What the provider asked for, or twice as long as last time; never quite the same for two callers."""
    if error.retry_after is not None:
        return error.retry_after + random.uniform(0, FIRST_S)  # noqa: S311 - spreads callers, hides nothing
    doubled: float = FIRST_S * 2 ** min(attempt - 1, 20)
    return min(doubled, LONGEST_S) * random.uniform(0.75, 1.25)  # noqa: S311


def _out_of_time(error: ModelError) -> Allowance:
    note = f"The budget of seconds ends before the provider is asked again: {error.message}"
    return Allowance(stop="budget_exhausted", note=note)


def _said(plan: Plan, error: ModelError, attempt: int, pause: float) -> ModelBackedOff:
    return ModelBackedOff(
        provider=plan.model.provider,
        model=plan.model.name,
        code=error.code,
        reason=error.message,
        attempt=attempt,
        resume_at=to_rfc3339(time.time() + pause),
    )
