"""A provider that is busy is waited for, visibly and for a bounded time; what waiting does not mend fails at once."""

from __future__ import annotations

import asyncio
import json

import pytest

from agi.errors import ModelError
from agi.loop import patience
from agi.models.scripted import Fail, Say


def data(event) -> dict:
    return json.loads(event.raw)


def busy(**more: object) -> ModelError:
    return ModelError("The provider is busy.", code="rate_limited", retryable=True, **more)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Pauses of a few milliseconds."""
    monkeypatch.setattr(patience, "FIRST_S", 0.002)


async def test_a_busy_provider_is_asked_again_and_the_turn_succeeds(place):
    """Each pause is an event that says why, and until when."""
    place.model.fails(busy()).fails(busy()).then_says("at last")

    turn = await place.ask("go")

    assert turn.status == "completed"
    assert place.answer() == "at last"
    waits = [data(event) for event in place.events("model_backed_off")]
    assert [(one["attempt"], one["code"]) for one in waits] == [(1, "rate_limited"), (2, "rate_limited")]
    assert json.loads(turn.outcome)["steps"] == 1


async def test_the_session_says_that_it_is_backing_off_and_can_be_canceled_then(place):
    """Waiting for a provider looks different from working."""
    place.model.fails(busy(retry_after=30))
    posted = await place.say("go")
    await place.heard("model_backed_off")
    assert place.harness.session(place.session_id).activity == "backing_off"

    await place.cancel()

    assert (await asyncio.wait_for(place.ended(posted), 5)).status == "canceled"


async def test_half_an_answer_is_not_told_twice(place):
    """What was said before the stream broke is an error in the log, and not in the next request."""
    place.model.plays(Say("Half of "), Fail(busy())).then_says("The whole.")

    await place.ask("go")

    assert place.answer() == "The whole."
    assert [message.status for message in place.messages() if message.role == "assistant"] == ["error", "complete"]
    assert [message.role for message in place.model.requests[1].messages] == ["user"]


async def test_what_waiting_does_not_mend_fails_at_once(place):
    """A wrong key stays wrong."""
    place.model.fails(ModelError("No such key.", code="provider_auth")).then_says("never asked")

    turn = await place.ask("go")

    assert turn.status == "failed"
    assert not place.events("model_backed_off")


async def test_patience_ends(place, monkeypatch):
    """A provider that asks for a day is not waited for."""
    place.model.fails(busy(retry_after=86_400))

    turn = await place.ask("go")

    assert turn.status == "failed"
    assert json.loads(turn.outcome)["error"]["code"] == "rate_limited"


async def test_a_restart_while_backing_off_asks_again(place):
    """The pause is over when the process is."""
    place.model.fails(busy(retry_after=30))
    posted = await place.say("go")
    await place.heard("model_backed_off")
    place.model.says("after the restart")
    await place.reopen()
    await place.harness.recover()

    assert (await asyncio.wait_for(place.ended(posted), 10)).status == "completed"
