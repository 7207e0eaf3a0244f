"""A circuit breaker: how one provider has fared lately, shared by all sessions that ask it.

After a row of failures it is left alone for a while, then one caller tries; a limit the provider named holds for
everyone who uses the same key. Time is given by a clock. May import: errors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agi.errors import ModelError

OPENS_AFTER = 5
"""Failures in a row, of all sessions together."""
FIRST_REST_S = 15.0
LONGEST_REST_S = 240.0
LONGEST_HOLD_S = 900.0
"""A provider that asks for more is asked again sooner: what it says may be absurd, and a quota may be raised."""
PROBE_S = 2.0
"""How long others wait while one caller tries whether the provider is back."""


class Breaker:
    """One provider's, behind one address and key."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._failures = 0
        self._rest = FIRST_REST_S
        self._resting_until = 0.0
        self._held_until = 0.0
        self._probing_until = 0.0

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Around one call: refuses at once while the provider is left alone, and takes note of how the call ends."""
        probes = self._enter()
        try:
            yield
        except ModelError as error:
            self._failed(error)
            raise
        else:
            self._is_well()
        finally:
            if probes:
                self._probing_until = 0.0

    def _enter(self) -> bool:
        """Whether this caller tries for all others."""
        now = self._clock()
        if now < self._held_until:
            raise self._wait("rate_limited", f"{self._name} asked to wait.", self._held_until - now)
        until = max(self._resting_until, self._probing_until)
        if now < until:
            reason = f"{self._name} is left alone for a moment: it failed {self._failures} times in a row."
            raise self._wait("provider_resting", reason, until - now)
        if self._failures < OPENS_AFTER:
            return False
        self._probing_until = now + PROBE_S
        return True

    def _wait(self, code: str, message: str, seconds: float) -> ModelError:
        hint = "It is asked again by itself; set fallbackModels to have another model answer meanwhile."
        return ModelError(message, code=code, hint=hint, retryable=True, retry_after=seconds)

    def _failed(self, error: ModelError) -> None:
        if error.code == "rate_limited" and error.retryable:
            if error.retry_after is not None:
                wanted = self._clock() + min(error.retry_after, LONGEST_HOLD_S)
                self._held_until = max(self._held_until, wanted)
        elif error.retryable:
            self._count()
        elif error.status is not None:
            self._is_well()  # it answers; what it says is about the request

    def _count(self) -> None:
        self._failures += 1
        now = self._clock()
        # Calls that were under way when it was given up say nothing new; only a try after the rest does.
        if self._failures >= OPENS_AFTER and now >= self._resting_until:
            self._resting_until = now + self._rest
            self._rest = min(self._rest * 2, LONGEST_REST_S)

    def _is_well(self) -> None:
        self._failures, self._rest, self._resting_until = 0, FIRST_REST_S, 0.0
