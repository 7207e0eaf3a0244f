"""The scripted model plays what it was told, is always called scripted, and says when its script is over."""

from __future__ import annotations

import asyncio

import pytest

from agi.errors import ModelError
from agi.models.base import CallMade, Finished, Model, ModelRequest, ReasoningDelta, StreamItem, TextDelta
from agi.models.scripted import Call, Fail, Say, ScriptedModel, Stop, Think, Wait
from agi.protocol.ids import is_id
from agi.protocol.messages import Usage

REQUEST = ModelRequest(system="s", messages=())
ONE = Usage(requests=1)


async def ask(model: Model, request: ModelRequest = REQUEST) -> list[StreamItem]:
    return [item async for item in model.stream(request)]


async def test_each_request_plays_the_next_group():
    """A script reads as the conversation it makes."""
    model = ScriptedModel().calls("shell", command="true").then_says("Done.")

    first, ended = await ask(model)
    assert (first.name, first.arguments) == ("shell", '{"command":"true"}')
    assert is_id(first.id, "call")
    assert ended == Finished(stop_reason="tool_calls", usage=ONE)
    assert await ask(model) == [TextDelta("Done."), Finished(stop_reason="end_turn", usage=ONE)]


async def test_several_calls_may_be_made_in_one_answer():
    """As a model does that wants two things at once."""
    model = ScriptedModel().calls("read_file", path="a").and_calls("read_file", path="b")

    assert [item.arguments for item in (await ask(model))[:2]] == ['{"path":"a"}', '{"path":"b"}']


async def test_steps_may_be_given_as_values():
    """A step alone is a group of one; text comes in pieces of the size wanted."""
    model = ScriptedModel([(Think("hm"), Say("abcde", 2), Call("t", "{bad", "call_x")), Say("end")], name="play")

    assert await ask(model) == [
        ReasoningDelta("hm"),
        TextDelta("ab"),
        TextDelta("cd"),
        TextDelta("e"),
        CallMade("call_x", "t", "{bad"),
        Finished(stop_reason="tool_calls", usage=ONE),
    ]
    assert (model.provider, model.name) == ("scripted", "play")


async def test_an_ending_may_be_chosen():
    """A length limit and a cost, as a provider would tell them."""
    model = ScriptedModel().plays(Say("cut"), Stop("max_tokens", Usage(input_tokens=5, requests=1)))

    assert (await ask(model))[-1] == Finished(stop_reason="max_tokens", usage=Usage(input_tokens=5, requests=1))


async def test_a_failure_comes_where_the_script_has_it():
    """Before anything is said, or in the middle."""
    failure = ModelError("down", retryable=True)
    model = ScriptedModel().fails(failure).then_plays(Say("half"), Fail(failure))
    with pytest.raises(ModelError):
        await ask(model)

    stream = model.stream(REQUEST)
    assert await anext(stream) == TextDelta("half")
    with pytest.raises(ModelError):
        await anext(stream)


async def test_a_script_waits_until_its_gate_opens():
    """A test decides when the model goes on."""
    gate = asyncio.Event()
    stream = ScriptedModel().plays(Say("a"), Wait(gate), Say("b")).stream(REQUEST)
    assert await anext(stream) == TextDelta("a")
    going_on = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    assert not going_on.done()

    gate.set()
    assert await going_on == TextDelta("b")
    await stream.aclose()


async def test_a_script_that_is_over_fails():
    """More was asked than scripted: said, not invented."""
    with pytest.raises(ModelError, match="request 1") as caught:
        await ask(ScriptedModel())

    assert caught.value.code == "script_over"
    assert not caught.value.retryable


async def test_a_function_may_decide():
    """And what was asked is kept, either way."""
    model = ScriptedModel.from_function(lambda request: [Say(request.system)])

    assert (await ask(model))[0] == TextDelta("s")
    assert model.requests == [REQUEST]
