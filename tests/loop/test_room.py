"""Room that is gone again at once: a turn does not pay for one summary after the other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from tests.loop.test_compacting import (
    Decide,
    config,
    counted,
    data,
    is_summary,
    outcome,
    overflow,
    reader,
    reopened,
    size,
    write_files,
)

from agi.loop.room import MOST_OWED
from agi.loop.summing import SYSTEM
from agi.models.base import ModelRequest
from agi.models.scripted import Call, Fail, Say, Step, Stop, Wait
from agi.protocol.commands import Compact
from agi.protocol.messages import Usage
from agi.testing.asked import Asked
from agi.testing.provider import ProviderServer, says
from agi.testing.replies import Reply, calls

HEAD = 2_400
"""Tokens of the tools, which the scripted provider counts too."""
TALK = "So I go on. " * 900
"""About 2,700 tokens. What the model says itself cannot be left out, only summed up."""


def talker(answers: int, talk: str = TALK, most: int | None = None, gate: tuple[int, Step] | None = None) -> Decide:
    """A model that talks with every call it makes, and tells what that took; it refuses more than `most` tokens.

    `gate` is something to be done before an answer, by its number.
    """
    done = [0]

    def decide(request: ModelRequest) -> Sequence[Step]:
        if is_summary(request):
            return (Say("Goal: talk."),)
        if most is not None and HEAD + size(request) > most:
            return (Fail(overflow()),)
        done[0] += 1
        usage = Usage(input_tokens=HEAD + size(request), output_tokens=len(talk) // 4)
        if done[0] > answers:
            return (Say("That was all."), Stop("end_turn", usage))
        before = (gate[1],) if gate is not None and gate[0] == done[0] else ()
        return (*before, Say(talk), Call("read_file", {"path": f"{done[0]}.txt"}), Stop("tool_calls", usage))

    return decide


def summaries(place) -> int:
    return sum(is_summary(one) for one in place.model.requests)


async def test_a_turn_that_is_full_again_after_every_summary_ends(place):
    """It says why and what can be done; the next turn begins with a clean slate."""
    await reopened(place, config(8_000))
    place.model._decide = talker(30)

    turn = await place.ask("talk")

    error = outcome(turn)["error"]
    assert error["code"] == "context_exhausted"
    assert "summed up again and again" in error["message"]
    assert "larger window" in error["hint"]
    assert summaries(place) == MOST_OWED
    assert [one["code"] for one in data(place, "compaction_failed")] == ["full_again"]
    place.model._decide = talker(3, "Briefly. ")
    assert (await place.ask("and now briefly")).status == "completed"
    assert summaries(place) == MOST_OWED + 1


async def test_what_the_window_still_takes_is_sent_where_no_summary_is_made_any_more(place):
    """Beyond the threshold is not beyond the window: the turn fails only where there is no room for an answer."""
    await reopened(place, config(20_000))
    place.model._decide = talker(16, " ".join(f"So I go on with {number}." for number in range(1_400)))

    turn = await place.ask("talk")

    full_again = [one["pre_tokens"] for one in data(place, "compaction_failed") if one["code"] == "full_again"]
    assert full_again
    assert all(17_000 < size < 19_500 for size in full_again)
    assert turn.status == "completed"
    assert place.answer() == "That was all."
    answers = len(place.model.requests) - summaries(place)
    assert MOST_OWED < summaries(place) <= (answers + MOST_OWED) / 2


async def test_a_provider_that_says_so_itself_ends_it_likewise(place):
    """Where nobody knows the window; the provider's words are told too."""
    place.model._decide = talker(30, most=7_000)

    turn = await place.ask("talk")

    error = outcome(turn)["error"]
    assert error["code"] == "context_exhausted"
    assert "summed up again and again" in error["message"]
    assert "longer than 4 tokens" in error["message"]
    assert summaries(place) <= MOST_OWED
    assert [one["code"] for one in data(place, "compaction_failed")] == ["full_again"]


async def test_summaries_that_hold_for_two_answers_are_made_as_often_as_it_takes(place):
    """A long turn is no fault: it goes on for as long as its summaries are worth it."""
    await reopened(place, config(12_000))
    place.model._decide = talker(30)

    turn = await place.ask("talk")

    assert turn.status == "completed"
    assert summaries(place) > 2 * MOST_OWED


async def test_outputs_are_left_out_also_where_no_summary_is_made_any_more(place):
    """That costs nothing, so a turn that only reads too much comes to its end, with a summary for every two answers."""
    await reopened(place, config(6_000))
    write_files(place, 30, lines=600)
    place.model._decide = counted(reader(30))

    turn = await place.ask("read them all")

    assert turn.status == "completed"
    assert place.answer() == "read them all"
    answers = len(place.model.requests) - summaries(place)
    assert MOST_OWED < summaries(place) <= (answers + MOST_OWED) / 2


async def test_a_crash_in_between_forgets_none_of_them(place):
    """What counts is in the log: together it is as many as without the crash."""
    await reopened(place, config(8_000))
    place.model._decide = talker(30, gate=(6, Wait(asyncio.Event())))
    posted = await place.say("talk")
    await place.until(lambda: summaries(place) == 4 and not is_summary(place.model.requests[-1]))

    await place.reopen()
    await place.harness.recover()

    turn = await asyncio.wait_for(place.ended(posted), 10)
    assert len(place.events("turn_resumed")) == 1
    assert outcome(turn)["error"]["code"] == "context_exhausted"
    assert summaries(place) == MOST_OWED


async def test_the_next_model_takes_over_before_the_turn_ends(place):
    """One with a larger window has room for what the first one could not hold."""
    async with ProviderServer([says("I had room for all of it.")]) as server:
        told = json.loads(config(8_000))
        told["providers"]["two"] = {"baseUrl": server.base_url, "apiKey": "key-of-two"}
        told |= {"defaultProvider": "scripted", "defaultModel": "script", "fallbackModels": ["two/large"]}
        await reopened(place, json.dumps(told))
        place.model._decide = talker(30)

        turn = await place.ask("talk")

        assert turn.status == "completed"
        assert place.answer() == "I had room for all of it."
        assert [one["code"] for one in data(place, "model_switched")] == ["context_exhausted"]


async def test_the_next_model_owes_nothing_for_what_the_first_one_could_not_hold(place):
    """When its own window is full it gets a summary like any other, and the turn goes on."""
    rounds: list[str] = []

    def second(asked: Asked) -> Reply:
        usage = Usage(input_tokens=len(asked.body) // 4, output_tokens=len(TALK) // 4)
        if SYSTEM.encode()[:60] in asked.body:
            rounds.append("summary")
            return says("Goal: talk.", usage=usage)
        rounds.append("answer")
        if rounds.count("answer") > 3:
            return says("I came to the end.", usage=usage)
        return calls(("read_file", {"path": f"second-{len(rounds)}.txt"}), text=TALK, usage=usage)

    async with ProviderServer(second) as server:
        told = json.loads(config(8_000))
        models = {"large": {"contextWindow": 10_000, "maxOutputTokens": 500}}
        told["providers"]["two"] = {"baseUrl": server.base_url, "apiKey": "key-of-two", "models": models}
        told |= {"defaultProvider": "scripted", "defaultModel": "script", "fallbackModels": ["two/large"]}
        await reopened(place, json.dumps(told))
        place.model._decide = talker(30)

        turn = await place.ask("talk")

    assert turn.status == "completed"
    assert place.answer() == "I came to the end."
    assert [one["code"] for one in data(place, "compaction_failed")] == ["full_again"]
    assert "summary" in rounds


async def test_what_a_person_asks_for_is_made_all_the_same(place):
    """They know what it costs."""
    await reopened(place, config(8_000))
    gate = asyncio.Event()
    place.model._decide = talker(8, gate=(8, Wait(gate)))
    posted = await place.say("talk")
    await place.until(lambda: summaries(place) == MOST_OWED and not is_summary(place.model.requests[-1]))

    queued = await place.harness.compact(place.session_id, Compact())
    gate.set()

    assert queued.status == "queued"
    assert (await place.ended(posted)).status == "completed"
    assert data(place, "context_compacted")[-1]["trigger"] == "manual"
    assert summaries(place) == MOST_OWED + 1
