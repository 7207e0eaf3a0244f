"""Playing a session again: the real loop, offline, and the same events to the byte; or the first that is another."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from agi.errors import ModelError
from agi.loop import patience
from agi.models.scripted import Call, Fail, Say, Think, Wait
from agi.protocol import commands
from agi.protocol.events import Event
from agi.replay.cassette import Cassette
from agi.replay.exporting import make_cassette
from agi.replay.playing import Played, play, play_cassette

QUIET = '{"verify": {"autoVerify": false}}'


async def taped(place) -> Cassette:
    return await make_cassette(place.harness, place.session_id)


async def replayed(place, **kept) -> Played:
    return await asyncio.to_thread(play_cassette, await taped(place), **kept)


async def assert_identical(place) -> Played:
    """It plays the same, all of it, with every request the same."""
    played = await replayed(place)
    assert played.identical, played.difference
    assert played.events == len(place.events())
    assert played.requests == played.requests_checked
    assert not played.skipped
    return played


async def test_an_answer_is_given_again_to_the_byte(place):
    """Every event that the turn made is made again; the rest is given."""
    place.model.plays(Think("Who is it?"), Say("Hello, and welcome."))
    await place.ask("hi")
    played = await assert_identical(place)

    assert (played.turns, played.requests) == (1, 1)
    assert played.compared >= 4


async def test_tools_are_not_run_again(place):
    """Their results are those of the record, and no file is touched."""
    place.configure(QUIET)
    place.model.calls("read_file", path="a.txt").and_calls("repo_tree").calls("write_file", path="b.txt", content="x")
    place.model.says("Done.")
    (place.project / "a.txt").write_text("one")
    posted = await place.say("go")
    request = await place.heard("approval_requested")
    await place.approve(request.data.tool_call_id)
    await place.ended(posted)
    (place.project / "b.txt").unlink()
    (place.project / "a.txt").unlink()
    played = await assert_identical(place)

    assert played.requests == 3
    assert not (place.project / "b.txt").exists()


async def test_a_refused_call_is_refused_again(place):
    """By a person, and by nobody being there."""
    place.model.calls("shell", command="rm x").says("As you like.").calls("shell", command="ls").says("All right.")
    posted = await place.say("tidy up")
    request = await place.heard("approval_requested")
    await place.approve(request.data.tool_call_id, "deny", reason="keep it")
    await place.ended(posted)
    await place.ask("again", on_ask="deny")

    assert (await assert_identical(place)).turns == 2


async def test_a_call_of_no_tool_and_one_with_bad_arguments_fail_again(place):
    """What the loop itself answers is answered again."""
    place.model.plays(Call("nothing_such", "{}"), Call("read_file", "[1")).says("Sorry.")
    await place.ask("go")

    await assert_identical(place)


async def test_a_provider_that_failed_fails_again_without_being_waited_for(place, monkeypatch):
    """Busy twice, then half an answer that broke off, then an answer."""
    monkeypatch.setattr(patience, "FIRST_S", 0.001)
    busy = ModelError("It is busy.", code="overloaded", retryable=True)
    place.model.fails(busy).fails(busy).plays(Say("Half an"), Fail(busy)).says("Whole.")
    await place.ask("hi")
    monkeypatch.undo()  # the pauses of the replay are as long as they are

    played = await asyncio.wait_for(assert_identical(place), 20)
    assert played.requests == 4


async def test_a_turn_that_failed_fails_again(place):
    """With the same words."""
    place.model.fails(ModelError("No such model.", code="model_not_found", hint="Choose another."))
    await place.ask("hi")

    await assert_identical(place)


@pytest.mark.parametrize("where", ["stream", "tool", "question"])
async def test_a_cancel_comes_at_the_same_place(place, where):
    """In the middle of an answer, of a call, or of a question."""
    place.configure('{"verify": {"autoVerify": false}, "approval": {"requireForKinds": []}}')
    if where == "stream":
        place.model.plays(Say("Let me"), Wait(asyncio.Event()))
    elif where == "tool":
        place.model.plays(Say("I run it."), Call("shell", '{"command": "sleep 60"}'))
    else:
        place.configure(QUIET)
        place.model.calls("shell", command="make")
    posted = await place.say("go")
    kind = {"stream": "model_output_delta", "tool": "tool_call_started", "question": "approval_requested"}[where]
    await place.heard(kind)
    await place.cancel(reason="enough")
    await place.ended(posted)

    assert place.events("turn_canceled")
    await assert_identical(place)


async def test_what_people_said_meanwhile_is_taken_up_at_the_same_place(place):
    """Two messages that steer, and one that waits for its own turn."""
    (place.project / "a.txt").write_text("one")
    gate = asyncio.Event()
    place.model.plays(Wait(gate), Call("read_file", {"path": "a.txt"})).says("I see.").says("And that.")
    first = await place.say("begin")
    await place.until(lambda: len(place.model.requests) == 1)
    for text in ("use tabs", "and short names"):
        await place.say(text, mode="steer")
    last = await place.say("then tell me more")
    gate.set()
    await place.ended(first)
    await place.ended(last)

    assert place.types().count("message_steered") == 2
    assert (await assert_identical(place)).turns == 2


async def test_a_conversation_that_was_made_shorter_is_made_shorter_again(place):
    """Asked for in the middle of a turn: the summary is the one that was written then."""
    place.configure('{"verify": {"autoVerify": false}, "compaction": {"keepRecentTokens": 10}}')
    for n in range(4):
        place.model.says(f"{n} " + "word " * 1500)
        await place.ask(f"{n} " + "long " * 1500)
    gate = asyncio.Event()
    place.model.plays(Wait(gate), Call("repo_tree", "{}")).says("The user said much.").says("Done.")
    posted = await place.say("and now?")
    await place.heard("turn_started", 5)
    compacting = asyncio.create_task(place.harness.compact(place.session_id, commands.Compact(focus="words")))
    await place.heard("compaction_requested")
    gate.set()
    await place.ended(posted)
    await compacting

    assert place.events("context_compacted")
    await assert_identical(place)


async def test_verification_shows_the_same_again(place):
    """Its commands are not run, and what they showed counts."""
    place.configure('{"verify": {"commands": ["test -f b.txt"]}, "approval": {"requireForKinds": []}}')
    place.model.calls("write_file", path="b.txt", content="x").says("Done.")
    await place.ask("write it")

    assert place.events("verification_completed")
    await assert_identical(place)


async def test_a_turn_that_was_cut_off_is_cut_off_there_and_goes_on(place):
    """After a stop of the process the loop begins anew from the log, then as now; it is one turn all the same."""
    place.model.plays(Say("I was about"), Wait(asyncio.Event()))
    await place.say("hi")
    await place.heard("model_output_delta")
    await place.reopen()
    place.model.says("Here I am again.")
    await place.harness.recover()
    await place.until(lambda: bool(place.events("turn_completed")))

    assert place.events("turn_resumed")
    assert (await assert_identical(place)).turns == 1


async def test_it_can_begin_at_any_event_and_end_at_any(place):
    """The state is folded up to there; within an answer it begins before it."""
    place.configure(QUIET)
    place.model.plays(Say("Look."), Call("repo_tree", "{}")).says("Nothing there.").says("Again.")
    await place.ask("one")
    await place.ask("two")
    cassette = await taped(place)
    last = len(cassette.events)
    for after in range(last + 1):
        played = await asyncio.to_thread(play_cassette, cassette, after=after)
        assert played.identical, (after, played.difference)
        assert played.started_at <= after
    for until in range(1, last + 1):
        played = await asyncio.to_thread(play_cassette, cassette, until=until)
        assert played.identical, (until, played.difference)
        assert played.events == until


def changed(event: Event, old: bytes, new: bytes) -> Event:
    assert old in event.raw
    return Event(event.seq, event.ts, event.session_id, event.turn_id, event.type, event.raw.replace(old, new))


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("tool_call_started", b'"kind":"read"', b'"kind":"exec"'),
        ("usage_recorded", b'"input_tokens":', b'"input_tokens":9'),
        ("turn_completed", b'"steps":2', b'"steps":3'),
        ("tool_call_completed", b'"name":"repo_tree"', b'"name":"repo_tre"'),
    ],
)
async def test_what_would_not_come_out_is_shown_as_the_first_difference(place, kind, old, new):
    """A record that says something else than the loop would do is caught, and where."""
    place.model.calls("repo_tree").says("Nothing there.")
    await place.ask("look")
    cassette = await taped(place)
    events = [changed(one, old, new) if one.type == kind else one for one in cassette.events]
    played = await asyncio.to_thread(play, events, cassette.head.conditions)
    first = next(one.seq for one in events if one.type == kind)

    assert not played.identical
    assert played.difference is not None
    assert played.difference.seq == (first - 1 if kind == "usage_recorded" else first)  # the message says it too
    assert played.difference.made != played.difference.recorded


@pytest.mark.parametrize("told_by", ["the log", "the cassette"])
async def test_settings_that_decide_otherwise_are_seen(place, told_by):
    """With fewer steps the turn would have ended earlier; a log that tells no settings goes by the cassette's."""
    place.model.calls("repo_tree").says("Nothing there.")
    await place.ask("look")
    cassette = await taped(place)
    conditions, events = cassette.head.conditions, cassette.events
    settings = next(msgspec.json.encode(one.data.settings) for one in events if one.type == "turn_started")
    if told_by == "the log":
        swap = (b'"max_steps":100', b'"max_steps":1')
    else:
        swap = (b',"settings":' + settings, b"")
        conditions = msgspec.structs.replace(conditions, max_steps={"build": 1})
    events = [changed(one, *swap) if one.type == "turn_started" else one for one in events]
    played = await asyncio.to_thread(play, events, conditions)

    assert not played.identical
