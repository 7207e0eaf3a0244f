"""Budgets in a turn: at the limit not one more request leaves, and what is left is all that may be said."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import pytest

from agi.errors import ModelError
from agi.loop.spending import length_of, tokens_at_least
from agi.models.scripted import Call, Fail, Say, Stop
from agi.protocol.messages import Message, Usage
from agi.protocol.parts import Image, Reasoning, Text, ToolCallContent, ToolCallPart, ToolResultContent, ToolResultPart

SPENT = Usage(input_tokens=3000, output_tokens=1000, requests=1)
CALL_USD = 4.0
"""What such a call costs at a dollar for a thousand tokens."""
PRICES = {"scripted": {"models": {"script": {"inputUsd": 1000, "outputUsd": 1000}}}}


def outcome(turn) -> dict:
    return json.loads(turn.outcome)


def configure(place, *, prices: bool = True, **budget: object) -> None:
    settings: dict[str, object] = {"budget": budget}
    if prices:
        settings["providers"] = PRICES
    place.configure(json.dumps(settings))


def works(place, steps: int = 20, usage: Usage = SPENT) -> None:
    """A model that asks for something new at each step."""
    for number in range(steps):
        place.model.plays(Call("read_file", {"path": f"{number}.txt"}), Stop("tool_calls", usage))


def notices(place) -> list[str]:
    found = [json.loads(event.raw) for event in place.events("notice")]
    return [one["message"] for one in found if one["code"] == "price_unknown"]


class FakeTime(SimpleNamespace):
    """A clock that is moved by hand; only what is asked of it here stands still."""

    def __init__(self) -> None:
        super().__init__(time=time.time)
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> FakeTime:
    made = FakeTime()
    monkeypatch.setattr("agi.loop.turn.time", made)
    monkeypatch.setattr("agi.sessions.runner.time", made)
    return made


@pytest.mark.parametrize("scope", ["perTurn", "perSession"])
@pytest.mark.parametrize(
    ("limits", "requests", "word"),
    [
        ({"steps": 3}, 3, "3 steps"),
        # The third call alone would be within the limit, but at least what the second took is sent again.
        ({"tokens": 12_000}, 2, "12000 tokens"),
        ({"tokens": 13_000}, 3, "13000 tokens"),
        ({"usd": 3 * CALL_USD}, 2, "$12.00"),
        ({"usd": 3 * CALL_USD + 1}, 3, "$13.00"),
        ({"usd": 0}, 0, "$0.00"),
        ({"tokens": 0}, 0, "0 tokens"),
        ({"steps": 0}, 0, "0 steps"),
        ({"seconds": 0}, 0, "0 seconds"),
        ({"steps": 9, "tokens": 13_000, "usd": 1000}, 3, "tokens"),
    ],
)
async def test_at_the_limit_not_one_more_request_leaves(place, scope, limits, requests, word):
    """The turn ends as budget_exhausted, says which limit it was, and keeps what was done."""
    configure(place, **{scope: limits})
    works(place)

    turn = await place.ask("work")

    assert (turn.status, outcome(turn)["stop_reason"]) == ("completed", "budget_exhausted")
    assert word in outcome(turn)["note"]
    assert len(place.model.requests) == requests
    assert outcome(turn)["usage"]["requests"] == requests
    assert len(place.events("tool_call_completed")) == requests


@pytest.mark.parametrize("scope", ["perTurn", "perSession"])
async def test_a_limit_of_time_is_looked_at_before_each_request(place, clock, scope):
    """What the calls and the tools took counts together."""
    configure(place, **{scope: {"seconds": 10}})

    def decide(request):
        clock.now += 4
        return (Call("read_file", {"path": f"{clock.now}.txt"}),)

    place.model._decide = decide
    turn = await place.ask("work")

    assert outcome(turn)["stop_reason"] == "budget_exhausted"
    assert "10 seconds" in outcome(turn)["note"]
    assert len(place.model.requests) == 3


@pytest.mark.parametrize(
    ("limits", "first"), [({"steps": 4}, 3), ({"tokens": 17_000}, 3), ({"usd": 17}, 3), ({"seconds": 14}, 3)]
)
async def test_a_session_limit_counts_all_turns_together(place, clock, limits, first):
    """The second turn has what the first one left."""
    configure(place, perSession=limits)

    def decide(request):
        clock.now += 4
        asked = len(place.model.requests)
        return (Say("done"), Stop(usage=SPENT)) if asked == first else (Call("git_status"), Stop("tool_calls", SPENT))

    place.model._decide = decide
    assert outcome(await place.ask("one"))["stop_reason"] == "end_turn"

    turn = await place.ask("two")

    assert outcome(turn)["stop_reason"] == "budget_exhausted"
    assert len(place.model.requests) == 4


async def test_a_turn_limit_is_whole_again_in_the_next_turn(place):
    """It is about one turn."""
    configure(place, perTurn={"steps": 1})
    place.model.says("one").then_says("two")

    assert [outcome(await place.ask(word))["stop_reason"] for word in ("a", "b")] == ["end_turn", "end_turn"]


async def test_a_first_call_that_cannot_fit_is_not_made(place):
    """A prompt has a length, and a length takes at least so many tokens."""
    configure(place, prices=False, perTurn={"tokens": 20_000})
    place.model.says("never asked")

    turn = await place.ask("x" * 200_000)

    assert outcome(turn)["stop_reason"] == "budget_exhausted"
    assert not place.model.requests


async def test_a_long_result_counts_before_it_is_sent(place):
    """The next call takes it along, so it is reserved."""
    (place.project / "long.txt").write_text("words and words\n" * 1500)
    configure(place, prices=False, perTurn={"tokens": 10_000})
    place.model.plays(Call("read_file", {"path": "long.txt"}), Stop("tool_calls", SPENT)).then_says("never asked")

    turn = await place.ask("read")

    assert outcome(turn)["stop_reason"] == "budget_exhausted"
    assert len(place.model.requests) == 1


async def test_thoughts_are_not_reserved_since_they_are_not_sent_again(place):
    """A model that thought a lot may still go on."""
    configure(place, prices=False, perTurn={"tokens": 12_000})
    thought = Usage(input_tokens=1000, output_tokens=8000, reasoning_tokens=7900)
    place.model.plays(Call("git_status"), Stop("tool_calls", thought)).then_says("done")

    turn = await place.ask("think")

    assert outcome(turn)["stop_reason"] == "end_turn"


async def test_an_answer_may_say_what_is_left_and_not_more(place):
    """The provider is told a limit; an answer that is cut there ends as budget_exhausted, with its words kept."""
    configure(place, perTurn={"tokens": 10_000})
    place.model.plays(Call("git_status"), Stop("tool_calls", SPENT))
    place.model.plays(Say("As far as it we"), Stop("max_tokens", Usage(input_tokens=4100, output_tokens=1900)))

    turn = await place.ask("tell")

    first, second = (request.options.get("max_tokens") for request in place.model.requests)
    assert first is None
    assert 1500 < second < 2000
    assert outcome(turn)["stop_reason"] == "budget_exhausted"
    assert "cut off" in outcome(turn)["note"]
    assert place.answer() == "As far as it we"


async def test_money_that_is_left_becomes_a_limit_of_words_too(place):
    """At a dollar for a thousand tokens, two dollars are two thousand tokens, less what is sent."""
    configure(place, perSession={"usd": 10})
    place.model.plays(Call("git_status"), Stop("tool_calls", SPENT)).then_says("done")

    await place.ask("tell")

    assert 1500 < place.model.requests[1].options["max_tokens"] < 2000


@pytest.mark.parametrize(("asked", "told"), [(100, 100), (5000, "less")])
async def test_a_limit_the_client_asked_for_holds_where_it_is_tighter(place, asked, told):
    """And is not mistaken for the budget's when the answer is cut there."""
    configure(place, prices=False, perTurn={"tokens": 5000})
    place.model.plays(Say("cut he"), Stop("max_tokens", Usage(input_tokens=500, output_tokens=100)))

    turn = await place.ask("tell", options={"max_tokens": asked})

    sent = place.model.requests[0].options["max_tokens"]
    assert sent == told if told == 100 else sent < 5000
    assert outcome(turn)["stop_reason"] == ("max_tokens" if told == 100 else "budget_exhausted")


async def test_without_a_budget_nothing_is_told(place):
    """The provider's own limit holds."""
    place.model.says("done")

    await place.ask("tell")

    assert place.model.requests[0].options == {}


async def test_a_call_that_was_cut_off_by_the_budget_is_answered_and_not_run(place):
    """No call stays without a result, and half a file is not written."""
    configure(place, prices=False, perTurn={"tokens": 6000})
    cut = Call("write_file", '{"path": "a.txt", "content": "half of i')
    place.model.plays(cut, Stop("max_tokens", Usage(input_tokens=3000, output_tokens=3000)))

    turn = await place.ask("write")

    assert outcome(turn)["stop_reason"] == "budget_exhausted"
    done = json.loads(place.events("tool_call_completed")[0].raw)
    assert done["blocked"] is True
    assert "limit of its length" in done["tool_result"]["error"]
    assert not (place.project / "a.txt").exists()


async def test_what_a_call_cost_is_in_its_message_and_in_the_log(place):
    """Where the price is known; the sum is the turn's and the session's."""
    configure(place)
    place.model.plays(Say("done"), Stop(usage=SPENT))

    turn = await place.ask("tell")

    assert json.loads(place.events("usage_recorded")[0].raw)["usage"]["cost_usd"] == CALL_USD
    assert outcome(turn)["usage"]["cost_usd"] == CALL_USD
    assert place.harness.session(place.session_id).usage.cost_usd == CALL_USD
    assert place.messages()[-1].usage.cost_usd == CALL_USD


async def test_where_the_price_is_unknown_that_is_said_once_and_other_limits_hold(place):
    """Unknown is not zero; nobody is told twice, not in the next turn and not after a restart."""
    configure(place, prices=False, perTurn={"usd": 0.01, "tokens": 9000})
    works(place)

    turn = await place.ask("work")

    assert outcome(turn)["stop_reason"] == "budget_exhausted"
    assert outcome(turn)["usage"]["cost_usd"] is None
    assert len(place.model.requests) == 2
    assert len(notices(place)) == 1
    assert "scripted/script" in notices(place)[0]
    await place.ask("more")
    await place.reopen()
    await place.ask("and more")
    assert len(notices(place)) == 1


@pytest.mark.parametrize("budget", [{"perTurn": {"tokens": 9000}}, {"perTurn": {"usd": 100}}])
async def test_nothing_is_said_where_the_price_is_known_or_money_is_not_limited(place, budget):
    """Only what a person should know."""
    configure(place, prices="usd" in budget["perTurn"], **budget)
    place.model.says("done")

    await place.ask("work")

    assert not notices(place)


async def test_a_model_that_is_free_may_answer_where_nothing_may_be_spent(place):
    """Zero is a price."""
    free = {"scripted": {"models": {"script": {"inputUsd": 0, "outputUsd": 0}}}}
    place.configure(json.dumps({"budget": {"perTurn": {"usd": 0}}, "providers": free}))
    works(place, 1)
    place.model.says("done")

    turn = await place.ask("work")

    assert outcome(turn)["stop_reason"] == "end_turn"
    assert outcome(turn)["usage"]["cost_usd"] == 0.0


@pytest.mark.threat("T53")
async def test_a_pause_that_would_outlast_the_budget_ends_the_turn_at_once(place):
    """Nobody waits for half a minute to be told that the time is over."""
    configure(place, perTurn={"seconds": 5})
    place.model.fails(ModelError("Busy.", code="rate_limited", retryable=True, retry_after=30)).then_says("never")

    turn = await place.ask("work")

    assert outcome(turn)["stop_reason"] == "budget_exhausted"
    assert "Busy." in outcome(turn)["note"]
    assert len(place.model.requests) == 1
    assert not place.events("model_backed_off")


async def test_time_that_passes_while_a_provider_is_waited_for_counts(place, clock, monkeypatch):
    """No request leaves after the limit, also none that is only asked again."""
    configure(place, perTurn={"seconds": 60})
    busy = ModelError("Busy.", code="rate_limited", retryable=True, retry_after=0.001)

    def decide(request):
        clock.now += 25
        return (Fail(busy),)

    place.model._decide = decide
    turn = await place.ask("work")

    assert outcome(turn)["stop_reason"] == "budget_exhausted"
    assert len(place.model.requests) == 3


def test_a_text_takes_at_least_so_many_tokens():
    """Eight characters a token is more than usual text has, so that nothing is refused that would fit."""
    assert tokens_at_least(0) == 0
    assert tokens_at_least(8000) == 1000


def test_the_length_of_messages_is_that_of_their_words_calls_and_results():
    """Thoughts are not sent to everybody, and attachments are not text."""
    result = ToolResultContent(id="c", name="t", ok=True, parts=(Text(text="12345"),))
    parts = (
        Text(text="123"),
        Reasoning(text="not counted"),
        Image(ref="attachments/a.png", mime_type="image/png"),
        ToolCallPart(content=ToolCallContent(id="c", name="t", args=b"{}")),
        ToolResultPart(content=result),
    )
    message = Message(id="m", role="user", parts=parts, created_at="", status="complete")

    assert length_of([message, message]) == 20
