"""One model call: what was streamed becomes one message, with its parts, its cost and why it ended."""

from __future__ import annotations

import asyncio
import json

import pytest

from agi.errors import ModelError
from agi.loop.shaping import TOOL
from agi.models.base import ReasoningDelta, ReasoningSealed, TextDelta
from agi.models.scripted import Call, Fail, Say, Stop, Think, Wait, play
from agi.protocol.messages import Usage
from agi.protocol.parts import Reasoning, Text, ToolCallPart, plain_text

SCHEMA = {"type": "object"}


def data(event) -> dict:
    return json.loads(event.raw)


def said(place):
    return [message for message in place.messages() if message.role == "assistant"]


async def test_text_between_two_calls_makes_parts_in_the_order_they_came(place):
    """Words, a call, words, a call."""
    place.model.plays(Say("First "), Call("git_status"), Say("then "), Call("repo_tree")).then_says("done")

    await place.ask("go")

    assert [type(part) for part in said(place)[0].parts] == [Text, ToolCallPart, Text, ToolCallPart]


async def test_the_pieces_of_an_answer_add_up_to_it(place):
    """Each delta says at which character of its part it begins."""
    place.model.plays(Think("hm " * 700, size=7), Say("words " * 700, size=11))

    await place.ask("go")

    whole: dict[str, str] = {}
    for delta in (data(event) for event in place.events("model_output_delta")):
        assert delta["offset"] == len(whole.get(delta["part_id"], ""))
        whole[delta["part_id"]] = whole.get(delta["part_id"], "") + delta["delta"]
    assert whole == {part.id: part.text for part in said(place)[0].parts}


async def test_a_sealed_thought_keeps_its_seal_and_its_maker(place, monkeypatch):
    """Also one that was not thought aloud; the next thought is another part."""

    async def stream(steps):
        yield ReasoningDelta("aloud")
        yield ReasoningSealed("seal-1")
        yield ReasoningSealed("seal-2")
        yield TextDelta("done")
        async for item in play(steps):
            yield item

    monkeypatch.setattr("agi.models.scripted.play", stream)
    place.model.plays()
    await place.ask("go")

    thoughts = [part for part in said(place)[0].parts if isinstance(part, Reasoning)]
    assert [(one.text, one.signature) for one in thoughts] == [("aloud", "seal-1"), ("", "seal-2")]
    assert {(one.provider, one.model) for one in thoughts} == {("scripted", "script")}


async def test_a_stream_that_just_stops_is_an_error_that_passes(place, monkeypatch):
    """Every stream has to say how it ended."""
    monkeypatch.setattr("agi.loop.patience.FIRST_S", 0.001)

    async def stream(steps, real=play):
        if len(place.model.requests) > 1:
            async for item in real(steps):
                yield item
        else:
            yield TextDelta("and th")

    monkeypatch.setattr("agi.models.scripted.play", stream)
    place.model.plays().then_says("the whole")
    turn = await place.ask("go")

    assert turn.status == "completed"
    assert [data(event)["code"] for event in place.events("model_backed_off")] == ["stream_cut"]


async def test_a_call_before_the_stream_broke_is_not_run(place):
    """Half an answer is kept as an error, without what it asked for."""
    place.configure('{"approval": {"requireForKinds": []}}')
    broken = Fail(ModelError("Gone.", code="provider_error"))
    place.model.plays(Say("I will write."), Call("write_file", {"path": "a.txt", "content": "x"}), broken)

    turn = await place.ask("go")

    assert turn.status == "failed"
    assert not (place.project / "a.txt").exists()
    assert [(one.status, [type(part) for part in one.parts]) for one in said(place)] == [("error", [Text])]


async def test_a_canceled_answer_keeps_its_words_and_drops_its_calls(place):
    """What a person stopped is not done afterwards."""
    gate = asyncio.Event()
    place.model.plays(Say("I will"), Call("write_file", {"path": "a.txt", "content": "x"}), Wait(gate))
    posted = await place.say("go")
    await place.until(lambda: bool(place.harness.log.hub.open) or bool(place.events("model_output_delta")))

    await place.cancel()
    await place.ended(posted)

    assert [(one.stop_reason, plain_text(one.parts)) for one in said(place)] == [("canceled", "I will")]
    assert not place.events("tool_call_started", "approval_requested")


@pytest.mark.parametrize("prices", [True, False])
async def test_what_it_used_is_recorded_with_its_price_or_without(place, prices):
    """A price that nobody knows is null and not zero; the message has the same numbers."""
    known = {"inputUsd": 1_000_000, "outputUsd": 2_000_000, "cacheReadUsd": 500_000} if prices else {}
    place.configure(json.dumps({"providers": {"scripted": {"models": {"script": known}}}}))
    used = Usage(input_tokens=3, output_tokens=5, cached_tokens=2, reasoning_tokens=1)
    place.model.plays(Say("done"), Stop(usage=used))

    await place.ask("go")

    recorded = data(place.events("usage_recorded")[0])
    assert recorded["usage"]["cost_usd"] == (1 + 2 * 0.5 + 5 * 2 if prices else None)
    assert (recorded["usage"]["requests"], recorded["usage"]["cached_tokens"]) == (1, 2)
    assert said(place)[0].usage.cost_usd == recorded["usage"]["cost_usd"]


async def test_without_a_schema_the_answer_tool_is_a_tool_like_any_other(place):
    """Nobody offered it, so it is told that there is none."""
    place.model.plays(Call(TOOL, {"a": 1})).then_says("sorry")

    await place.ask("go")

    assert data(place.events("tool_call_completed")[0])["tool_result"]["ok"] is False
    assert place.answer() == "sorry"


async def test_an_answer_given_by_a_call_that_was_cut_off_says_so(place):
    """Its end is not mistaken for the end of the work."""
    place.model.schema_native = False
    place.model.plays(Call(TOOL, '{"a": [1, 2'), Stop("max_tokens")).then_plays(Call(TOOL, {"a": [1, 2]}))

    turn = await place.ask("go", options={"schema": SCHEMA})

    assert said(place)[0].stop_reason == "max_tokens"
    assert json.loads(turn.outcome)["output"] == {"a": [1, 2]}
