"""Sessions whose conversation was made shorter, in a turn or between two: played again like every other kind."""

from __future__ import annotations

import json

import pytest
from tests.replay.test_kinds import plays

from agi.errors import ModelError
from agi.models.scripted import Call, Fail, Say, Stop
from agi.protocol import commands
from agi.protocol.messages import Usage
from agi.protocol.parts import plain_text
from agi.testing.provider import ProviderServer, says


def talks(most=None, answers=30):
    """A model that talks with every call; it refuses what is longer than `most` tokens, in words of its own."""
    asked = [0]

    def decide(request):
        told = sum(len(plain_text(message.parts)) for message in request.messages) // 4
        if request.system.startswith("You write the record"):
            return [Say("They talked.")]
        if most is not None and told > most:
            return [Fail(ModelError("This takes so many tokens, and not one more.", code="context_overflow"))]
        if asked[0] == answers:
            return [Say("That was all.")]
        asked[0] += 1
        usage = Usage(input_tokens=2_400 + told, output_tokens=2_700)
        call = Call("read_file", {"path": f"{asked[0]}.txt"})
        return [Say("On I go. " * 1_200), call, Stop("tool_calls", usage)]

    return decide


async def test_a_conversation_that_gets_too_long_in_the_middle(place):
    """The window is full, a summary is asked for, and the turn goes on with it."""
    place.configure('{"verify": {"autoVerify": false}, "compaction": {"keepRecentTokens": 10}}')
    place.model.says("a " * 1500).says("b " * 1500)
    await place.ask("one " * 1500)
    await place.ask("two " * 1500)
    overflow = ModelError("too long", code="context_overflow")
    place.model.fails(overflow).says("They counted.").says("Three.")
    await place.ask("three")

    assert place.events("context_compacted")
    await plays(place)


@pytest.mark.parametrize("window", [8_000, None])
async def test_a_conversation_that_is_full_again_after_every_summary(place, window):
    """Whether the window is known or the provider has to say so: the turn ends as it did."""
    models = {"script": {"contextWindow": window, "maxOutputTokens": 500}} if window else {}
    place.configure(json.dumps({"verify": {"autoVerify": False}, "providers": {"scripted": {"models": models}}}))
    place.model._decide = talks(most=None if window else 4_000)
    turn = await place.ask("talk")

    assert json.loads(turn.outcome)["error"]["code"] == "context_exhausted"
    assert place.events("compaction_failed")[-1].data.code == "full_again"
    await plays(place)


@pytest.mark.parametrize(
    ("most", "window", "failed", "switched"),
    [
        (0, None, "not_shrunk", "context_overflow"),
        (4_000, None, "full_again", "context_overflow"),
        (None, 8_000, "full_again", "context_exhausted"),
    ],
    ids=["refused at once", "refused after six summaries", "full after six summaries"],
)
async def test_a_model_that_gives_way_since_the_conversation_is_too_long_for_it(place, most, window, failed, switched):
    """What it said then is said again, whatever its words were, and the next one answers."""
    async with ProviderServer([says("I had room for all of it.")]) as server:
        models = {"script": {"contextWindow": window, "maxOutputTokens": 500}} if window else {}
        providers = {"scripted": {"models": models}, "two": {"baseUrl": server.base_url, "apiKey": "key-of-two"}}
        chosen = {"defaultProvider": "scripted", "defaultModel": "script", "fallbackModels": ["two/large"]}
        place.configure(json.dumps({"verify": {"autoVerify": False}, "providers": providers, **chosen}))
        await place.reopen()
        place.model._decide = talks(most)
        turn = await place.ask("talk")

    assert turn.status == "completed"
    assert place.answer() == "I had room for all of it."
    assert place.events("compaction_failed")[-1].data.code == failed
    assert [one.data.code for one in place.events("model_switched")] == [switched]
    await plays(place)


async def test_a_turn_that_goes_on_between_the_threshold_and_the_window(place):
    """No summary is made any more, and the model is asked all the same."""
    models = {"script": {"contextWindow": 9_000, "maxOutputTokens": 500}}
    place.configure(json.dumps({"verify": {"autoVerify": False}, "providers": {"scripted": {"models": models}}}))
    place.model._decide = talks(answers=8)
    turn = await place.ask("talk")

    assert turn.status == "completed"
    assert [one.data.code for one in place.events("compaction_failed")] == ["full_again"]
    await plays(place)


async def test_a_conversation_that_was_made_shorter_and_is_whole_again(place):
    """What was reported in between counts for nothing, here as there."""
    place.configure('{"verify": {"autoVerify": false}, "compaction": {"keepRecentTokens": 10}}')
    place.model.says("a " * 1500).says("b " * 1500).says("They counted.").says("three").says("four")
    await place.ask("one " * 1500)
    await place.ask("two " * 1500)
    await place.harness.compact(place.session_id, commands.Compact())
    await place.ask("three")
    await place.harness.compact(place.session_id, commands.Compact(undo=True))
    await place.ask("four")

    assert place.events("compaction_undone")
    await plays(place)
