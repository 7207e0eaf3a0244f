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
    asked = [0]

    def decide(request):
        told = sum(len(plain_text(message.parts)) for message in request.messages) // 4
        if request.system.startswith("You write the record"):
            return [Say("They talked.")]
        if not window and told > 4_000:
            return [Fail(ModelError("too long", code="context_overflow"))]
        asked[0] += 1
        usage = Usage(input_tokens=2_400 + told, output_tokens=2_700)
        call = Call("read_file", {"path": f"{asked[0]}.txt"})
        return [Say("On I go. " * 1_200), call, Stop("tool_calls", usage)]

    place.model._decide = decide
    turn = await place.ask("talk")

    assert json.loads(turn.outcome)["error"]["code"] == "context_exhausted"
    assert place.events("compaction_failed")[-1].data.code == "full_again"
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
