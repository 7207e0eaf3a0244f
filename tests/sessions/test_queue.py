"""Messages that wait: steering the turn that runs, listing, editing, dropping. A scripted model, the rest real."""

from __future__ import annotations

import asyncio
import json

import pytest

from agi.errors import Conflict, Invalid, NotFound
from agi.models.scripted import Call, Say, ScriptedModel, Wait
from agi.protocol import commands
from agi.protocol.commands import EditMessage
from agi.protocol.search import Search

READ = Call("read_file", {"path": "notes.txt"})


def data(event) -> dict:
    return json.loads(event.raw)


def told(request) -> list[str]:
    """What a model was told: texts as they are, calls and results by their names."""
    found = []
    for message in request.messages:
        for part in message.parts:
            found.append(part.text if hasattr(part, "text") else f"{message.role}:{part.content.name}")
    return found


@pytest.fixture
async def busy(place):
    """A turn whose model waits at `gate`, then calls a tool; what comes next is the test's."""
    (place.project / "notes.txt").write_text("note\n")
    place.gate = asyncio.Event()
    place.model.plays(Wait(place.gate), READ)
    place.first = await place.say("begin")
    await place.until(lambda: len(place.model.requests) == 1)
    return place


async def steer(place, text: str):
    return await place.say(text, mode="steer")


async def test_a_message_that_steers_is_told_with_the_next_request(busy):
    """Behind the results of the step, before the model speaks again; the turn that would have answered it is over."""
    busy.model.then_says("I see.")
    posted = await steer(busy, "use tabs")
    assert posted.queued
    assert busy.harness.session(busy.session_id).queue[0].mode == "steer"

    busy.gate.set()
    turn = await busy.ended(posted)

    assert turn.id == busy.first.turn_id
    assert told(busy.model.requests[1]) == ["begin", "assistant:read_file", "tool:read_file", "use tabs"]
    assert [one.role for one in busy.messages()] == ["user", "assistant", "tool", "user", "assistant"]
    steered = busy.events("message_steered")
    assert [(event.turn_id, data(event)) for event in steered] == [
        (busy.first.turn_id, {"message_id": posted.message_id, "queued_turn_id": posted.turn_id})
    ]
    over = [event for event in busy.events("turn_canceled") if event.turn_id == posted.turn_id]
    assert [data(event)["steered_into"] for event in over] == [busy.first.turn_id]
    session = busy.harness.session(busy.session_id)
    assert (session.queue, session.last_turn_id, session.status) == ((), busy.first.turn_id, "completed")


async def test_a_message_that_steers_and_cannot_be_read_ends_the_turn_as_damage(busy):
    """It says what helps, and does not stay open."""
    posted = await steer(busy, "use tabs")
    damage = "UPDATE messages SET info='{' WHERE id=?"
    await busy.harness.log.maintain(lambda db: db.execute(damage, (posted.message_id,)))

    busy.gate.set()
    failed = await busy.heard("turn_failed")

    assert failed.turn_id == busy.first.turn_id
    assert data(failed)["error"]["code"] == "damaged"
    assert "agi repair --from-mirrors" in data(failed)["error"]["hint"]
    assert busy.harness.session(busy.session_id).status == "failed"


async def test_a_message_that_comes_too_late_is_the_next_turn(busy):
    """The model ends without another step: nothing is lost, and those that steer come before those that wait."""
    gate = asyncio.Event()
    busy.model.plays(Wait(gate), Say("Done.")).then_says("Tabs, then.").then_says("And the rest.")
    busy.gate.set()
    await busy.until(lambda: len(busy.model.requests) == 2)
    waits = await busy.say("later")
    late = await steer(busy, "use tabs")
    gate.set()

    assert (await busy.ended(late)).id == late.turn_id
    await busy.ended(waits)

    assert [message.parts[-1].text for message in busy.messages() if message.role == "user"] == [
        "begin",
        "use tabs",
        "later",
    ]
    assert not busy.events("message_steered")
    assert len(busy.model.requests) == 4


async def test_several_that_came_too_late_are_answered_together(busy):
    """The first is the next turn, which takes up the others before its model is asked."""
    gate = asyncio.Event()
    busy.model.plays(Wait(gate), Say("Done.")).then_says("Both, then.")
    busy.gate.set()
    await busy.until(lambda: len(busy.model.requests) == 2)
    one, two = await steer(busy, "one"), await steer(busy, "two")
    gate.set()

    assert (await busy.ended(two)).id == one.turn_id
    assert told(busy.model.requests[2])[-2:] == ["one", "two"]


async def test_to_an_idle_session_steering_is_saying(place):
    """There is nothing to steer, so a turn begins at once; also where messages are otherwise only kept."""
    place.model.says("Hello.")
    posted = await steer(place, "hi")
    assert (await place.ended(posted)).id == posted.turn_id
    assert not posted.queued


async def test_a_waiting_message_is_listed_edited_and_promoted(busy):
    """The model hears its last words, once; the list shows it with its text until then."""
    busy.model.then_says("I see.").then_says("Later, then.")
    queue = busy.harness.queue
    one, two = await busy.say("first"), await busy.say("secnd")
    edited = await queue.edit(busy.session_id, two.message_id, EditMessage(content="second"))
    assert (edited.text, edited.mode, edited.turn_id) == ("second", "queue", two.turn_id)

    promoted = await queue.steer(busy.session_id, two.message_id)
    again = await queue.steer(busy.session_id, two.message_id)
    assert (promoted.mode, again.mode) == ("steer", "steer")
    assert len(busy.events("steer_requested")) == 1
    assert [(row.text, row.mode) for row in queue.all(busy.session_id)] == [("second", "steer"), ("first", "queue")]
    assert busy.harness.session(busy.session_id).last_turn_id == one.turn_id

    busy.gate.set()
    await busy.ended(one)
    assert told(busy.model.requests[1])[-1] == "second"
    assert told(busy.model.requests[2])[-2:] == ["I see.", "first"]
    assert queue.all(busy.session_id) == []


async def test_a_dropped_message_is_never_told(busy):
    """Neither one that waited nor one that was to steer."""
    busy.model.then_says("Done.")
    one, two = await busy.say("not this"), await steer(busy, "nor this")
    for posted in (one, two):
        await busy.harness.queue.drop(busy.session_id, posted.message_id)
    busy.gate.set()
    await busy.ended(busy.first)

    assert told(busy.model.requests[1]) == ["begin", "assistant:read_file", "tool:read_file"]
    assert [busy.harness.turn(busy.session_id, one.turn_id).status for one in (one, two)] == ["canceled"] * 2


async def test_what_was_taken_up_cannot_be_changed_any_more(busy):
    """Whoever comes too late is told so, with a hint, and nothing is written."""
    gate = asyncio.Event()
    busy.model.plays(Wait(gate), Say("I see."))
    posted = await steer(busy, "use tabs")
    busy.gate.set()
    await busy.heard("message_steered")
    before = busy.types()
    queue = busy.harness.queue

    for change in (
        queue.edit(busy.session_id, posted.message_id, EditMessage(content="x")),
        queue.steer(busy.session_id, posted.message_id),
        queue.drop(busy.session_id, posted.message_id),
    ):
        with pytest.raises(Conflict) as refused:
            await change
        assert refused.value.code == "message_not_waiting"
        assert refused.value.hint
    with pytest.raises(NotFound) as unknown:
        await queue.drop(busy.session_id, "msg_" + "0" * 32)
    assert unknown.value.code == "message_not_found"
    assert busy.types() == before
    gate.set()
    await busy.ended(posted)


@pytest.mark.parametrize(
    "fields", [{"model": "other"}, {"options": {"temperature": 0}}, {"auto_run": False}, {"preflight": True}]
)
async def test_a_message_that_asks_for_more_than_a_running_turn_can_do_does_not_steer(busy, fields):
    """Refused before anything is written."""
    before = busy.types()
    with pytest.raises(Invalid) as refused:
        await busy.say("x", mode="steer", **fields)
    assert refused.value.code == "cannot_steer"
    assert busy.types() == before


async def test_a_waiting_message_with_a_model_of_its_own_stays_in_line(busy):
    """It would be answered by another model than it asked for."""
    posted = await busy.say("x", provider="scripted")
    with pytest.raises(Conflict) as refused:
        await busy.harness.queue.steer(busy.session_id, posted.message_id)
    assert refused.value.code == "cannot_steer"


async def test_a_message_that_interrupts_stops_the_turn_and_is_answered_before_what_waits(busy):
    """At once, so the turn that stops does not take it up; it may ask for what it likes, having a turn of its own."""
    busy.model.then_says("Something else.").then_says("And the rest.")
    waits = await busy.say("later")
    now = await busy.say("do this instead", mode="interrupt", provider="scripted")

    await busy.ended(waits)

    asked = [message.parts[0].text for message in busy.messages() if message.role == "user"]
    assert asked == ["begin", "do this instead", "later"]
    turns = [busy.harness.turn(busy.session_id, one.turn_id).status for one in (busy.first, now, waits)]
    assert turns == ["canceled", "completed", "completed"]
    assert not busy.events("message_steered")


async def test_a_message_that_interrupts_keeps_what_it_asks_for_also_behind_one_that_steers(busy):
    """The one before it in line does not take it up: it has a turn of its own, with its own options."""
    busy.model.plays(READ).then_says("Tabs.").then_says("Coldly.")
    steering = await steer(busy, "use tabs")
    now = await busy.say("do this instead", mode="interrupt", options={"temperature": 0})

    assert (await busy.ended(now)).id == now.turn_id
    assert busy.harness.turn(busy.session_id, steering.turn_id).status == "completed"
    assert not busy.events("message_steered")
    asked = [request.options.get("temperature") for request in busy.model.requests]
    assert asked == [None, None, None, 0]


async def test_one_that_interrupts_and_asks_for_nothing_is_answered_with_those_before_it(busy):
    """In the order in which it was said, in one turn."""
    busy.model.then_says("Both.")
    steering = await steer(busy, "use tabs")
    now = await busy.say("do this instead", mode="interrupt")

    assert (await busy.ended(now)).id == steering.turn_id
    assert told(busy.model.requests[-1])[-2:] == ["use tabs", "do this instead"]


async def test_a_turn_that_was_stopped_can_be_retried_after_what_waited_behind_it_was_dropped(busy):
    """What was dropped is no part of the conversation, so it is not its last turn."""
    busy.model.then_says("Here you are.")
    waits = await busy.say("later")
    await busy.harness.queue.drop(busy.session_id, waits.message_id)
    await busy.cancel(turn_id=busy.first.turn_id)
    await busy.ended(busy.first)

    session = busy.harness.session(busy.session_id)
    assert (session.last_turn_id, session.running_turn_id) == (busy.first.turn_id, None)
    again = await busy.harness.retry(busy.session_id, busy.first.turn_id)
    assert (await busy.ended(again)).status == "completed"


async def test_what_was_to_steer_when_the_turn_is_stopped_is_the_next_one(busy):
    """Only the running turn is stopped by its name; nothing that was said is lost."""
    busy.model.then_says("Tabs.")
    posted = await steer(busy, "use tabs")
    await busy.cancel(turn_id=busy.first.turn_id)

    assert (await busy.ended(posted)).id == posted.turn_id
    assert told(busy.model.requests[1])[-1] == "use tabs"


async def test_a_message_that_was_to_steer_survives_the_process(busy):
    """Cut off before it was taken up: the turn goes on after the restart and takes it up, once."""
    posted = await steer(busy, "use tabs")
    await busy.harness.close()

    busy.model = ScriptedModel([READ]).then_says("I see.")
    await busy.open()
    await busy.harness.recover()
    await busy.ended(posted)

    assert [told(request).count("use tabs") for request in busy.model.requests] == [1, 1]
    assert len(busy.events("message_steered")) == 1


async def test_a_message_that_was_taken_up_is_not_taken_up_twice(busy):
    """Cut off while the model was answering it: it is in its place after the restart, once."""
    busy.model.plays(Wait(asyncio.Event()))
    posted = await steer(busy, "use tabs")
    busy.gate.set()
    await busy.until(lambda: len(busy.model.requests) == 2)
    await busy.harness.close()

    busy.model = ScriptedModel().says("I see.")
    await busy.open()
    await busy.harness.recover()
    await busy.ended(posted)

    assert told(busy.model.requests[0]) == ["begin", "assistant:read_file", "tool:read_file", "use tabs"]
    assert len(busy.events("message_steered")) == 1


async def test_a_limit_leaves_the_message_to_the_next_turn(place):
    """A turn that may not ask its model any more does not take up what it could not tell."""
    place.configure('{"agents": {"build": {"maxSteps": 1}}}')
    gate = asyncio.Event()
    place.model.plays(Wait(gate), READ).then_says("Now I see.")
    first = await place.say("begin")
    posted = await steer(place, "use tabs")
    gate.set()

    turn = await place.ended(posted)

    assert place.harness.turn(place.session_id, first.turn_id).stop_reason == "max_steps"
    assert turn.id == posted.turn_id
    assert told(place.model.requests[-1])[-1] == "use tabs"


async def test_a_fork_tells_what_was_taken_up_where_it_was_taken_up(busy):
    """With its last words, once, and without what only waited."""
    busy.model.then_says("I see.").then_says("In the fork.")
    posted = await steer(busy, "use spces")
    await busy.harness.queue.edit(busy.session_id, posted.message_id, EditMessage(content="use spaces"))
    busy.gate.set()
    await busy.ended(posted)

    for command in (commands.ForkSession(), commands.ForkSession(message_id=posted.message_id)):
        fork = await busy.harness.fork_session(busy.session_id, command)
        found, _ = busy.harness.messages(fork.id, limit=100, before=None)
        texts = [part.text for message in found for part in message.parts if hasattr(part, "text")]
        assert texts[:2] == ["begin", "use spaces"]
        assert [message.role for message in found][:4] == ["user", "assistant", "tool", "user"]


async def test_an_edited_message_is_found_by_its_last_words(busy):
    """The words it no longer says are not found."""
    posted = await busy.say("zebra")
    await busy.harness.queue.edit(busy.session_id, posted.message_id, EditMessage(content="giraffe"))

    assert not (await busy.harness.search(Search(q="zebra"))).hits
    assert [hit.message_id for hit in (await busy.harness.search(Search(q="giraffe"))).hits] == [posted.message_id]
