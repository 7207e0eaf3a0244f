"""What a provider refuses is left out from then on, and the conversation goes on; the log keeps everything."""

from __future__ import annotations

import json

import pytest

from agi.errors import ModelError
from agi.loop.mending import MOST_PARTS, may_mend, to_withhold
from agi.models.scripted import Fail, Say, Think
from agi.protocol.commands import PostMessage
from agi.protocol.messages import Message
from agi.protocol.parts import Image, Reasoning, Text, ToolResultContent, ToolResultPart, plain_text
from agi.testing.files import picture


def outcome(turn) -> dict:
    return json.loads(turn.outcome)


def withheld(place) -> list[tuple[str, tuple[str, ...]]]:
    found = [json.loads(event.raw) for event in place.events("parts_withheld")]
    return [(one["code"], tuple(one["ids"])) for one in found]


def refusal(code: str, *parts: str) -> ModelError:
    return ModelError(f"The provider says: {code}.", code=code, status=400, parts=parts)


async def shows(place, text: str, *refs: str):
    """Ask about pictures and wait for the end."""
    parts = [Text(text=text), *(Image(ref=ref, mime_type="image/png") for ref in refs)]
    return await place.ended(await place.harness.post_message(place.session_id, PostMessage(parts=parts)))


async def attach(place, name: str) -> str:
    data = picture(seed=sum(name.encode()))
    return (await place.harness.add_attachment(place.session_id, name, "image/png", data)).ref


@pytest.fixture
async def poisoned(place):
    """A model that refuses a request as long as one of its poisons is in it; `poisons` is what it will not take."""
    place.poisons = []

    def decide(request):
        for ref in place.poisons:
            if ref in request.files:
                return (Fail(refusal("part_refused", ref)),)
        return (Say(f"answer {len(place.model.requests)}"),)

    place.model._decide = decide
    return place


# A poisoned part.


async def test_a_poisoned_picture_is_refused_once_and_twenty_more_turns_succeed(poisoned):
    """It comes at the third turn; nobody has to start over."""
    good, bad = await attach(poisoned, "good.png"), await attach(poisoned, "bad.png")
    poisoned.poisons.append(bad)
    for _ in range(2):
        await poisoned.ask("hello")

    turn = await shows(poisoned, "what is it?", good, bad)
    later = [await poisoned.ask("go on") for _ in range(20)]

    assert {one.status for one in (turn, *later)} == {"completed"}
    assert withheld(poisoned) == [("part_refused", (bad,))]
    assert len(poisoned.model.requests) == 2 + 2 + 20
    assert set(poisoned.model.requests[-1].files) == {good}


async def test_in_its_place_stands_a_note_and_the_log_is_not_rewritten(poisoned):
    """The model knows that something is missing; the person's message is as they wrote it."""
    bad = await attach(poisoned, "bad.png")
    poisoned.poisons.append(bad)
    before = [event.envelope() for event in poisoned.events()]
    await shows(poisoned, "what is it?", bad)
    assert [event.envelope() for event in poisoned.events()][: len(before)] == before

    told = poisoned.model.requests[-1].messages[0]
    assert bad.rpartition("/")[2] in plain_text(told.parts)
    assert "left out" in plain_text(told.parts)
    assert not [part for part in told.parts if isinstance(part, Image)]
    kept = poisoned.messages()[0]
    assert [part.ref for part in kept.parts if isinstance(part, Image)] == [bad]
    said = json.loads(poisoned.events("parts_withheld")[0].raw)
    assert "part_refused" in said["reason"]


async def test_what_is_withheld_stays_so_after_a_restart(poisoned):
    """The log knows; the provider is not bothered with it again."""
    bad = await attach(poisoned, "bad.png")
    poisoned.poisons.append(bad)
    await shows(poisoned, "what is it?", bad)
    asked = len(poisoned.model.requests)
    await poisoned.reopen()

    turn = await poisoned.ask("and now?")

    assert turn.status == "completed"
    assert len(poisoned.model.requests) == asked + 1
    assert len(withheld(poisoned)) == 1


async def test_several_poisoned_parts_are_found_one_after_the_other(poisoned):
    """Providers name one at a time."""
    refs = [await attach(poisoned, f"{number}.png") for number in range(4)]
    poisoned.poisons += refs[:3]

    turn = await shows(poisoned, "what are they?", *refs)

    assert turn.status == "completed"
    assert [ids for _, ids in withheld(poisoned)] == [(ref,) for ref in refs[:3]]
    assert set(poisoned.model.requests[-1].files) == {refs[3]}


async def test_a_provider_that_always_finds_another_part_is_given_up(poisoned):
    """After a bounded number of requests; the next turn goes on from there."""
    refs = [await attach(poisoned, f"{number}.png") for number in range(MOST_PARTS + 3)]
    poisoned.poisons += refs

    turn = await shows(poisoned, "what are they?", *refs)

    assert outcome(turn)["error"]["code"] == "part_refused"
    assert len(poisoned.model.requests) == MOST_PARTS + 1
    assert (await poisoned.ask("never mind")).status == "completed"


async def test_a_refusal_that_names_nothing_new_is_not_asked_again(place):
    """The same part cannot be left out twice, and nothing is guessed."""
    ref = await attach(place, "a.png")
    place.model.fails(refusal("part_refused", ref)).then_fails(refusal("part_refused", ref)).then_says("never")

    turn = await shows(place, "what is it?", ref)

    assert outcome(turn)["error"]["code"] == "part_refused"
    assert len(place.model.requests) == 2
    place.model.plays(Fail(refusal("part_refused")))
    assert (await place.ask("again")).status == "completed"  # what was left of the script


# Thoughts that are not taken back.


async def test_thoughts_that_are_refused_are_dropped_once_and_not_sent_again(place):
    """What the model says stays; later thoughts are new ones and are sent."""
    place.model.plays(Think("an old thought"), Say("one"))
    await place.ask("1")
    place.model.fails(refusal("reasoning_refused")).then_plays(Think("a new thought"), Say("two"))
    await place.ask("2")
    place.model.says("three")

    await place.ask("3")

    def thoughts(request) -> list[str]:
        return [part.text for message in request.messages for part in message.parts if isinstance(part, Reasoning)]

    assert [thoughts(request) for request in place.model.requests] == [
        [],
        ["an old thought"],
        [],
        ["a new thought"],
    ]
    assert [code for code, _ in withheld(place)] == ["reasoning_refused"]
    assert [part.text for part in place.messages()[1].parts if isinstance(part, Reasoning)] == ["an old thought"]


async def test_thoughts_that_are_refused_without_there_being_any_fail_the_turn(place):
    """There is nothing to leave out."""
    place.model.fails(refusal("reasoning_refused")).then_says("never asked")

    turn = await place.ask("go")

    assert outcome(turn)["error"]["code"] == "reasoning_refused"
    assert len(place.model.requests) == 1


# Which ids, by themselves.


def results(*sizes: int) -> list[Message]:
    return [
        Message(
            id=f"m{number}",
            role="tool",
            parts=(
                ToolResultPart(
                    content=ToolResultContent(id=f"c{number}", name="t", ok=True, parts=(Text(text="x" * size),))
                ),
            ),
            created_at="",
            status="complete",
        )
        for number, size in enumerate(sizes)
    ]


@pytest.mark.parametrize(
    "code", ["provider_failed", "rate_limited", "provider_auth", "schema_refused", "context_overflow"]
)
def test_other_failures_leave_nothing_out(code):
    """They are not about what was said."""
    assert to_withhold(refusal(code, "attachments/a.png"), results(400, 400), {}) == ()


def test_each_kind_of_refusal_is_mended_once_and_parts_a_few_times():
    """So that asking ends."""
    assert may_mend("schema_refused", ["part_refused", "reasoning_refused"])
    assert not may_mend("schema_refused", ["schema_refused"])
    assert may_mend("part_refused", ["part_refused"] * (MOST_PARTS - 1))
    assert not may_mend("part_refused", ["part_refused"] * MOST_PARTS)
