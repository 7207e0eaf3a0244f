"""A provider that fails for everyone is left alone, tried by one caller, and taken back; a limit holds for all."""

from __future__ import annotations

import asyncio

import pytest

from agi.errors import ModelError, StorageError
from agi.models.breaker import FIRST_REST_S, LONGEST_HOLD_S, LONGEST_REST_S, OPENS_AFTER, PROBE_S, Breaker


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock) -> Breaker:
    return Breaker("openai", clock)


def down() -> ModelError:
    return ModelError("The provider is down.", code="provider_failed", retryable=True, status=503)


def busy(seconds: float | None) -> ModelError:
    return ModelError("Slow down.", code="rate_limited", retryable=True, retry_after=seconds, status=429)


def wrong() -> ModelError:
    return ModelError("No such model.", code="model_not_found", status=404)


def ask(breaker: Breaker, error: BaseException | None = None) -> None:
    """One call that ends like this."""
    with breaker.asking():
        if error is not None:
            raise error


def fails(breaker: Breaker, times: int = 1, error: ModelError | None = None) -> None:
    for _ in range(times):
        with pytest.raises(ModelError) as failed:
            ask(breaker, error or down())
        assert failed.value.code != "provider_resting"


def refused(breaker: Breaker) -> ModelError:
    """A call that must not be made."""
    with pytest.raises(ModelError) as failed, breaker.asking():
        pytest.fail("the provider was asked")
    return failed.value


def test_it_opens_after_a_row_of_failures_and_says_when_it_asks_again(breaker, clock):
    """Not one request leaves while the provider rests; the error says that it passes, and when."""
    fails(breaker, OPENS_AFTER)

    error = refused(breaker)

    assert (error.code, error.retryable) == ("provider_resting", True)
    assert error.retry_after == FIRST_REST_S
    assert f"{OPENS_AFTER} times in a row" in error.message
    assert "fallbackModels" in error.hint


def test_one_answer_in_between_breaks_the_row(breaker):
    """Only failures in a row count."""
    fails(breaker, OPENS_AFTER - 1)
    ask(breaker)
    fails(breaker, OPENS_AFTER - 1)

    ask(breaker)


def test_after_the_rest_one_caller_tries_and_the_others_wait_a_moment(breaker, clock):
    """The one who tries is let through; nobody else is, until it is known."""
    fails(breaker, OPENS_AFTER)
    clock.now += FIRST_REST_S

    with breaker.asking():
        assert refused(breaker).retry_after == PROBE_S

    ask(breaker)
    fails(breaker, OPENS_AFTER - 1)
    ask(breaker)


def test_a_try_that_fails_makes_the_rest_longer_up_to_a_limit(breaker, clock):
    """15, 30, 60, 120, 240 and never more than 240 seconds."""
    fails(breaker, OPENS_AFTER)
    rests = []
    for _ in range(7):
        rest = refused(breaker).retry_after or 0.0
        rests.append(rest)
        clock.now += rest
        fails(breaker)

    assert rests[:5] == [15.0, 30.0, 60.0, 120.0, 240.0]
    assert max(rests) == LONGEST_REST_S


def test_after_a_success_the_rest_is_short_again(breaker, clock):
    """What is over is over."""
    fails(breaker, OPENS_AFTER)
    clock.now += FIRST_REST_S
    fails(breaker)
    clock.now += 2 * FIRST_REST_S
    ask(breaker)

    fails(breaker, OPENS_AFTER)

    assert refused(breaker).retry_after == FIRST_REST_S


def test_many_calls_that_were_under_way_and_fail_together_count_as_one_outage(breaker, clock):
    """Twenty sessions that lose their connection at one moment do not make the rest four minutes long."""
    under_way = [breaker.asking() for _ in range(20)]
    for call in under_way:
        call.__enter__()
    for call in under_way:
        error = down()
        assert not call.__exit__(type(error), error, None)

    assert refused(breaker).retry_after == FIRST_REST_S


async def test_a_try_that_is_canceled_does_not_jam_it(breaker, clock):
    """Whoever comes next tries at once."""
    fails(breaker, OPENS_AFTER)
    clock.now += FIRST_REST_S

    async def tries() -> None:
        with breaker.asking():
            await asyncio.Event().wait()

    task = asyncio.create_task(tries())
    await asyncio.sleep(0)
    refused(breaker)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    ask(breaker)
    ask(breaker)


def test_a_try_that_ends_in_an_error_of_ours_does_not_jam_it_either(breaker, clock):
    """A full disk says nothing about the provider."""
    fails(breaker, OPENS_AFTER)
    clock.now += FIRST_REST_S
    with pytest.raises(StorageError):
        ask(breaker, StorageError("The disk is full."))

    ask(breaker)


def test_a_try_that_takes_very_long_lets_others_try_too(breaker, clock):
    """A probe that hangs must not hold everyone for as long as it hangs."""
    fails(breaker, OPENS_AFTER)
    clock.now += FIRST_REST_S
    with breaker.asking():
        clock.now += PROBE_S
        ask(breaker)


def test_a_refusal_shows_that_the_provider_is_there(breaker, clock):
    """Who says no answers: nobody is kept waiting for that."""
    fails(breaker, OPENS_AFTER - 1)
    fails(breaker, 3, wrong())
    fails(breaker, OPENS_AFTER - 1)
    ask(breaker)

    fails(breaker, OPENS_AFTER)
    clock.now += FIRST_REST_S
    fails(breaker, 1, wrong())
    ask(breaker)


def test_a_limit_the_provider_named_holds_for_everyone(breaker, clock):
    """As long as it asked for, and no longer."""
    fails(breaker, 1, busy(30))

    error = refused(breaker)

    assert (error.code, error.retry_after) == ("rate_limited", 30)
    clock.now += 29.9
    refused(breaker)
    clock.now += 0.1
    ask(breaker)


def test_the_longer_of_two_limits_holds(breaker, clock):
    """Two sessions that ask at the same time may be told different things."""
    one, two = breaker.asking(), breaker.asking()
    for call in (one, two):
        call.__enter__()
    for call, error in ((one, busy(60)), (two, busy(5))):
        assert not call.__exit__(type(error), error, None)

    assert refused(breaker).retry_after == 60


def test_an_absurd_limit_holds_only_for_a_while(breaker, clock):
    """A day, or ten thousand years, is the provider's word to one caller and no law for all."""
    fails(breaker, 1, busy(1e300))

    assert refused(breaker).retry_after == LONGEST_HOLD_S


def test_a_limit_without_a_time_holds_nobody(breaker):
    """Everyone finds out and backs off by themselves; nor is it a failure."""
    fails(breaker, OPENS_AFTER * 2, busy(None))

    ask(breaker)


def test_a_quota_that_is_used_up_holds_nobody(breaker):
    """It does not pass by waiting."""
    fails(breaker, OPENS_AFTER * 2, ModelError("Pay first.", code="rate_limited", status=429, retry_after=30))

    ask(breaker)
