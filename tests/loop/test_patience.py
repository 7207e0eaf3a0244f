"""A provider that is busy is waited for, visibly and for a bounded time; what waiting does not mend goes to another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import msgspec
import pytest

from agi.config.values import ProviderSettings, Secret
from agi.errors import ModelError
from agi.loop import patience
from agi.models import breaker
from agi.models.breaker import OPENS_AFTER, Breaker
from agi.models.scripted import Fail, Say
from agi.testing.provider import ProviderServer, calls, fails, says
from agi.testing.replies import Called, Sealed, Thought, Written, answers, waits


def data(event) -> dict:
    return json.loads(event.raw)


def outcome(turn) -> dict:
    return json.loads(turn.outcome)


def busy(**more: object) -> ModelError:
    return ModelError("The provider is busy.", code="rate_limited", retryable=True, **more)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Pauses of a few milliseconds."""
    monkeypatch.setattr(patience, "FIRST_S", 0.002)


# One model: wait for it.


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


@pytest.mark.threat("T53")
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


@pytest.fixture
def clock(monkeypatch) -> SimpleNamespace:
    """Pauses take no time and move this clock, by which breakers go too."""
    made = SimpleNamespace(now=0.0, slept=[])

    async def sleep(seconds: float) -> None:
        made.now += seconds
        made.slept.append(seconds)

    monkeypatch.setattr(patience, "FIRST_S", 1.0)
    monkeypatch.setattr(patience, "asyncio", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr("agi.models.breaker.Breaker", lambda name: Breaker(name, lambda: made.now))
    return made


async def test_an_outage_of_ten_minutes_is_waited_out(place, clock):
    """With a few dozen requests at most, and a turn that ends well."""

    def decide(request):
        down = ModelError("Bad gateway.", code="provider_failed", retryable=True, status=502)
        return (Fail(down),) if clock.now < 600 else (Say("back again"),)

    place.model._decide = decide
    turn = await place.ask("go")

    assert turn.status == "completed"
    assert place.answer() == "back again"
    assert len(place.model.requests) < 20
    assert sum(clock.slept) < patience.PATIENCE_S


@pytest.mark.threat("T53")
async def test_an_outage_that_does_not_end_does_end_the_turn(place, clock):
    """After a quarter of an hour of pauses, with the provider's own words."""
    down = ModelError("Bad gateway.", code="provider_failed", retryable=True, status=502)
    place.model._decide = lambda request: (Fail(down),)

    turn = await place.ask("go")

    assert turn.status == "failed"
    assert outcome(turn)["error"]["code"] in ("provider_failed", "provider_resting")
    assert 600 < sum(clock.slept) <= patience.PATIENCE_S


# Another model answers.


@asynccontextmanager
async def providers(place, **scripts) -> AsyncIterator[dict[str, ProviderServer]]:
    """A server for each script, set up as a provider of that name in the order given; the first one answers."""
    servers = {name: ProviderServer(script) for name, script in scripts.items()}
    for server in servers.values():
        await server.__aenter__()
    setup = {
        name: {"baseUrl": server.url if name == "claude" else server.base_url, "apiKey": f"key-of-{name}"}
        for name, server in servers.items()
    }
    if "claude" in setup:
        setup["claude"]["api"] = "messages"
    names = list(scripts)
    settings = {
        "providers": setup,
        "defaultProvider": names[0],
        "defaultModel": f"model-of-{names[0]}",
        "fallbackModels": [f"{name}/model-of-{name}" for name in names[1:]],
    }
    place.configure(json.dumps(settings))
    try:
        yield servers
    finally:
        for server in servers.values():
            await server.__aexit__()


def switches(place) -> list[tuple[str, str, str]]:
    found = [data(event) for event in place.events("model_switched")]
    return [(one["from_provider"], one["provider"], one["code"]) for one in found]


async def test_a_failure_that_does_not_pass_brings_the_next_model(place):
    """It is said who answers now and why; the message names its maker."""
    async with providers(place, one=[fails(401, "bad key")], two=[says("I am the second.")]) as servers:
        turn = await place.ask("go")

        assert turn.status == "completed"
        assert place.answer() == "I am the second."
        assert switches(place) == [("one", "two", "provider_auth")]
        said = data(place.events("model_switched")[0])
        assert (said["from_model"], said["model"]) == ("model-of-one", "model-of-two")
        assert "bad key" in said["reason"]
        assert (place.messages()[-1].provider, place.messages()[-1].model) == ("two", "model-of-two")
        assert servers["two"].requests[0].json["model"] == "model-of-two"
        assert not place.events("model_backed_off")


async def test_the_rest_of_the_turn_is_the_new_models_and_the_next_turn_the_old_ones(place):
    """Nobody is asked again who just failed; but a new message gets its chance."""
    script = [calls(("git_status", {})), says("done")]
    async with providers(place, one=[fails(400, "no"), says("well again")], two=script) as servers:
        await place.ask("go")
        assert (len(servers["one"].requests), len(servers["two"].requests)) == (1, 2)

        await place.ask("again")

        assert place.answer() == "well again"
        assert len(switches(place)) == 1


async def test_after_a_restart_the_turn_goes_on_with_the_new_model(place):
    """The switch is in the log, so it survives the process."""
    held = waits(says("too late"), 1, asyncio.Event())
    async with providers(place, one=[fails(403, "no")], two=[held, says("after the restart")]) as servers:
        posted = await place.say("go")
        await place.until(lambda: bool(servers["two"].requests))
        await place.reopen()
        await place.harness.recover()

        turn = await asyncio.wait_for(place.ended(posted), 10)

        assert turn.status == "completed"
        assert place.answer() == "after the restart"
        assert len(servers["one"].requests) == 1


async def test_a_failure_that_may_pass_is_waited_for_three_times_before_another_is_asked(place):
    """A hiccup is no reason to change the model."""
    async with providers(place, one=lambda asked: fails(503, "overloaded"), two=[says("second")]) as servers:
        await place.ask("go")

        assert len(servers["one"].requests) == patience.SWITCH_AFTER
        assert len(place.events("model_backed_off")) == patience.SWITCH_AFTER - 1
        assert place.answer() == "second"


async def test_a_long_pause_is_not_waited_for_where_another_can_answer(place):
    """A minute is long for somebody who sits there."""
    slow = fails(429, "slow down", headers={"retry-after": "60"})
    async with providers(place, one=[slow], two=[says("second")]) as servers:
        await place.ask("go")

        assert place.answer() == "second"
        assert len(servers["one"].requests) == 1
        assert not place.events("model_backed_off")


async def test_a_provider_that_is_left_alone_is_not_waited_for_either(place):
    """Its breaker is open: the next model answers at once, and the provider is not even asked."""
    async with providers(place, one=lambda asked: fails(500, "down"), two=lambda asked: says("second")) as servers:
        await place.ask("go")
        await place.ask("go")
        assert len(servers["one"].requests) == OPENS_AFTER

        await place.ask("go")

        assert len(servers["one"].requests) == OPENS_AFTER
        assert switches(place)[-1] == ("one", "two", "provider_resting")
        assert place.answer() == "second"


async def test_models_are_asked_in_order_and_if_all_fail_the_last_word_counts(place):
    """Each is asked once, none twice."""
    scripts = {"one": [fails(401, "first")], "two": [fails(402, "second")], "three": [fails(404, "third")]}
    async with providers(place, **scripts) as servers:
        turn = await place.ask("go")

        assert turn.status == "failed"
        assert "third" in outcome(turn)["error"]["message"]
        assert [(one, two) for one, two, _ in switches(place)] == [("one", "two"), ("two", "three")]
        assert [len(server.requests) for server in servers.values()] == [1, 1, 1]


async def test_a_stream_that_breaks_goes_on_elsewhere_without_its_half_answer(place):
    """What was half said is in the log as an error and is told to nobody."""
    broken = answers(*says("Half an ans").content.pieces, msgspec.structs.replace(fails(400, "oops").refusal))
    async with providers(place, one=[broken], two=[says("The whole.")]) as servers:
        await place.ask("go")

        said = [message for message in place.messages() if message.role == "assistant"]
        assert [message.status for message in said] == ["error", "complete"]
        assert b"Half an ans" not in servers["two"].requests[0].body


async def test_the_thoughts_of_the_first_are_not_sent_to_the_second(place):
    """Only their maker understands them; the call and its result are everybody's."""
    thinking = answers(
        Thought("a secret thought"),
        Sealed("c2VhbA=="),
        Called(0, "call_1", "git_status"),
        Written(0, "{}"),
        finish="tool_calls",
    )
    scripts = {"claude": [thinking, fails(401, "revoked")], "two": [says("done")]}
    async with providers(place, **scripts) as servers:
        await place.ask("go")

        assert place.answer() == "done"
        assert b"a secret thought" in servers["claude"].requests[1].body
        assert b"a secret thought" not in servers["two"].requests[0].body
        assert b"c2VhbA==" not in servers["two"].requests[0].body
        assert b"git_status" in servers["two"].requests[0].body


async def test_another_models_price_is_looked_at_before_it_is_asked(place):
    """A budget that pays for the first may not pay for the second: then nobody is asked."""
    async with providers(place, one=[fails(401, "no")], two=[says("too dear")]) as servers:
        path = place.project / ".agi" / "config.json"
        settings = json.loads(path.read_text())
        settings["providers"]["one"]["models"] = {"model-of-one": {"inputUsd": 0, "outputUsd": 0.1}}
        settings["providers"]["two"]["models"] = {"model-of-two": {"inputUsd": 10_000, "outputUsd": 10_000}}
        settings["budget"] = {"perTurn": {"usd": 0.05}}
        path.write_text(json.dumps(settings))

        turn = await place.ask("go")

        assert outcome(turn)["stop_reason"] == "budget_exhausted"
        assert (len(servers["one"].requests), len(servers["two"].requests)) == (1, 0)


# All sessions together.


async def test_a_provider_that_fails_for_one_session_is_left_alone_by_the_others(place, monkeypatch):
    """After five failures in a row, whoever's they are; then it is tried again and everybody goes on."""
    monkeypatch.setattr(breaker, "FIRST_REST_S", 0.1)
    replies = [fails(500, "down")] * OPENS_AFTER + [says("one")] + [says("two")]
    async with providers(place, one=replies) as servers:
        first = await place.say("go")
        await place.heard("model_backed_off", OPENS_AFTER)
        mine = place.session_id
        await place.start()
        second = await place.say("go")
        resting = data(await place.heard("model_backed_off"))
        assert resting["code"] == "provider_resting"

        await place.ended(second)
        place.session_id = mine
        await place.ended(first)

        assert place.answer() in ("one", "two")
        assert len(servers["one"].requests) == OPENS_AFTER + 2


async def test_a_limit_that_one_session_is_told_holds_for_the_others_too(place):
    """They share the key, so the second does not even ask."""
    slow = fails(429, "slow down", headers={"retry-after": "30"})
    async with providers(place, one=[slow, says("never asked")]) as servers:
        await place.say("go")
        await place.heard("model_backed_off")
        await place.start()
        await place.say("go")

        held = data(await place.heard("model_backed_off"))

        assert held["code"] == "rate_limited"
        assert len(servers["one"].requests) == 1


async def test_another_key_or_another_address_is_another_breaker(place):
    """Who has their own key is not held by the limit of somebody else's."""
    site = place.harness.site()

    def found(**settings: object) -> Breaker:
        config = msgspec.structs.replace(site.config, providers={"one": ProviderSettings(**settings)})
        return place.harness.sites.breaker(msgspec.structs.replace(site, config=config), "one")

    mine = found(api_key=Secret("a"))

    assert found(api_key=Secret("a")) is mine
    assert found(api_key=Secret("b")) is not mine
    assert found(api_key=Secret("a"), base_url="http://127.0.0.1:1") is not mine
