"""Every kind of session: made by the real harness and a scripted model, exported, and played from its bytes alone.

Each is played whole and from every event on, held against its events and against every request to a model.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path

import pytest
from tests.conftest import Place
from tests.sessions.conftest import Crewed, delegates, report

from agi.errors import Invalid
from agi.models.scripted import Call, Say, ScriptedModel, Wait
from agi.protocol import commands
from agi.protocol.parts import File
from agi.protocol.policies import Budget, Budgets
from agi.replay.cassette import parse_cassette
from agi.replay.formats import exported
from agi.replay.playing import Played, play_cassette
from agi.sessions.harness import Harness
from agi.testing.box import daemon_in_a_box
from agi.testing.provider import ProviderServer, calls, fails, says
from agi.views.comparing import differing

RAW = Path(__file__).parent.parent / "mcp" / "servers" / "raw.py"
QUIET = '{"verify": {"autoVerify": false}}'
UNHELD = '{"sandbox": {"mode": "off"}, "approval": {"requireForKinds": []}}'
FREE = '{"verify": {"autoVerify": false}, "approval": {"requireForKinds": []}}'


async def assert_plays(harness: Harness, session_id: str, *, given: bool = False) -> Played:
    """The bytes of its cassette play the same, from the first event and from every other one; its tables are right."""
    data = await exported(harness, session_id, "cassette")
    assert differing(harness.log.db, session_id, parse_cassette(data).events) == ()

    def play() -> Played:
        cassette = parse_cassette(data)
        whole = play_cassette(cassette)
        assert whole.identical, whole.difference
        assert whole.events == len(cassette.events)
        assert whole.requests == whole.requests_checked
        assert bool(whole.skipped) == given
        for after in range(1, len(cassette.events) + 1):
            part = play_cassette(cassette, after=after)
            assert part.identical, (after, part.difference)
        return whole

    return await asyncio.to_thread(play)


async def plays(place, **kept) -> Played:
    return await assert_plays(place.harness, place.session_id, **kept)


async def test_a_session_with_workers_and_each_worker(crewed: Crewed) -> None:
    """The parent has drafted, awaited and merged; a worker's folder is gone by then, and its session plays too."""

    def merges(found):
        told = [one for one in found if isinstance(one, str)]
        return [Say(str(told))] if told else [Call("merge_agent", {"agent_id": found[0]["agent_id"]})]

    def writes(request):
        is_done = any(message.role == "tool" for message in request.messages)
        return report("written") if is_done else [Call("write_file", {"path": "n.txt", "content": "n\n"})]

    crewed.parts["lead"] = delegates({"role": "writer", "prompt": "write"}, then=merges)
    crewed.parts["writer"] = writes
    parent = await crewed.ask()
    (started,) = crewed.events(parent.id, "worker_started")

    assert (crewed.project / "n.txt").exists()
    assert not crewed.folders()
    await assert_plays(crewed.harness, parent.id)
    await assert_plays(crewed.harness, started.data.session_id)


async def test_a_budget_that_workers_use_up_ends_the_turn_again(crewed: Crewed) -> None:
    """What they used counts, although the session's own calls took less."""
    looks = lambda found: [Call("read_file", {"path": f"{len(found)}.txt"})]  # noqa: E731
    crewed.parts["lead"] = delegates({"role": "reader", "prompt": "read"}, then=looks)
    crewed.parts["reader"] = lambda request: report("read")
    session = await crewed.ask(budget=Budgets(per_turn=Budget(steps=6)))

    assert crewed.events(session.id, "turn_completed")[0].data.stop_reason == "budget_exhausted"
    await assert_plays(crewed.harness, session.id)


async def test_a_job_that_ends_between_two_turns(place):
    """Its end comes from elsewhere, as it did then; no command is run."""
    place.configure(FREE)
    place.model.calls("shell", command="touch ran; exit 3", background=True).says("It runs.").says("It is over.")
    await place.ask("start")
    await place.heard("job_ended")
    await place.ask("and?")
    (place.project / "ran").unlink()
    await plays(place)

    assert not (place.project / "ran").exists()


async def test_a_model_that_gives_way_to_another(tmp_path):
    """The switch is made again at the same place, for the same reason."""
    first, second = ProviderServer([fails(401, "bad key")]), ProviderServer([calls(("repo_tree", {})), says("Second.")])
    place = Place(tmp_path)
    async with first, second:
        setup = {name: {"baseUrl": one.base_url, "apiKey": "k"} for name, one in (("one", first), ("two", second))}
        chosen = {"defaultProvider": "one", "defaultModel": "m", "fallbackModels": ["two/n"]}
        place.configure(json.dumps({"providers": setup, **chosen}))
        place.model = None
        await place.open()
        await place.start()
        await place.ask("go")

    assert place.events("model_switched")
    await plays(place)
    await place.harness.close()


async def test_an_answer_by_a_schema_that_is_sent_back_once(place):
    """The complaint and the value are the same."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    place.model.says("seven").says('{"n": 7}')
    await place.ask("how many?", options={"schema": schema})

    assert bytes(place.events("turn_completed")[0].data.output) == b'{"n":7}'
    await plays(place)


async def test_steering_a_queue_and_a_cancel(place):
    """A message that is taken up, a turn that is stopped in the middle of its answer, and the one after it."""
    gate = asyncio.Event()
    place.model.plays(Wait(gate), Call("repo_tree", "{}")).plays(Say("I beg"), Wait(asyncio.Event())).says("Last.")
    first = await place.say("begin")
    await place.until(lambda: len(place.model.requests) == 1)
    await place.say("use tabs", mode="steer")
    last = await place.say("then this")
    gate.set()
    await place.heard("model_output_delta")
    await place.cancel(reason="enough", turn_id=first.turn_id)
    await place.ended(last)

    assert {"message_steered", "turn_canceled", "turn_completed"} <= {*place.types()}
    await plays(place)


async def test_questions_that_were_answered_refused_and_left_alone(place):
    """Granted for good, refused with a reason, expired, and denied since nobody was there."""
    place.configure('{"verify": {"autoVerify": false}, "approval": {"timeoutSeconds": 0.05}}')
    place.model.calls("shell", command="make").says("Nobody came.")
    await place.ask("expire")
    place.configure(QUIET)
    await place.reopen()
    place.model.calls("write_file", path="a", content="1").calls("write_file", path="a", content="2")
    place.model.calls("shell", command="rm a").says("Kept.").calls("shell", command="ls").says("Alone.")
    posted = await place.say("go")
    request = await place.heard("approval_requested", 2)
    await place.approve(request.data.tool_call_id, remember="tool")
    request = await place.heard("approval_requested", 3)
    await place.approve(request.data.tool_call_id, "deny", reason="keep it")
    await place.ended(posted)
    await place.ask("again", on_ask="deny")

    assert [one.data.cause for one in place.events("approval_denied")] == ["expired", "user", "policy"]
    await plays(place)


async def test_a_question_that_a_restart_came_between(place):
    """Asked, the process stopped, answered, and gone on with."""
    place.configure(QUIET)
    place.model.calls("write_file", path="a", content="1").says("Written.")
    posted = await place.say("go")
    request = await place.heard("approval_requested")
    await place.reopen()
    await place.harness.recover()
    await place.heard("turn_resumed")
    await place.approve(request.data.tool_call_id)
    await place.ended(posted)

    await plays(place)


async def test_verification_that_fails_is_mended_and_a_restart_within_it(place):
    """A baseline, a failure that is told, a second attempt; one command is cut off by a stop and run again."""
    slow = "test ! -f b.txt || test -f ../go || sleep 300; test ! -f bad"
    place.configure(json.dumps({"verify": {"commands": ["true", slow]}, **json.loads(UNHELD)}))
    place.model.calls("write_file", path="b.txt", content="x").says("Done.")
    posted = await place.say("write")
    await place.until(lambda: len(place.events("verification_started")) == 4)
    await place.reopen()
    (place.project.parent / "go").touch()
    (place.project / "bad").touch()
    place.model.calls("shell", command="rm bad").says("Mended.")
    await place.harness.recover()
    await place.ended(posted)

    assert place.events("turn_completed")[0].data.verification == "verified"
    await plays(place)


async def test_an_attachment_is_named_and_not_needed(place):
    """The file itself is no part of a cassette."""
    meta = await place.harness.add_attachment(place.session_id, "t.csv", "text/csv", b"one,two\n")
    place.model.says("A table.")
    said = commands.PostMessage(parts=[File(ref=meta.ref, mime_type="text/csv", name="t.csv")])
    await place.ended(await place.harness.post_message(place.session_id, said))
    shutil.rmtree(place.harness.session_folder(place.session_id) / "attachments")

    await plays(place)


async def test_a_fork_and_what_was_said_in_it(place):
    """What it carried over is given; its own turns are played."""
    place.model.calls("repo_tree").says("One.").says("Two.")
    await place.ask("one")
    fork = await place.harness.fork_session(place.session_id, commands.ForkSession())
    place.session_id = fork.id
    await place.ask("two")

    assert (await plays(place)).turns == 1


async def test_a_fork_nobody_spoke_in(place):
    """There is nothing to play in it, and nothing is different."""
    place.model.says("One.")
    await place.ask("one")
    fork = await place.harness.fork_session(place.session_id, commands.ForkSession())
    place.session_id = fork.id

    assert (await plays(place)).turns == 0


@pytest.mark.parametrize("answer", ["approved", "refused", "canceled"])
async def test_a_turn_that_begins_with_a_plan(place, answer):
    """What the model proposed is given; what follows from the answer to it is played."""
    place.configure(QUIET)
    steps = [{"description": "Write.", "toolName": "write_file", "target": "n.txt"}]
    place.model.says(json.dumps({"steps": steps}))
    place.model.calls("write_file", path="n.txt", content="n").calls("shell", command="ls").says("Done.")
    posted = await place.say("take notes", preflight=True, on_ask="wait")
    await place.heard("preflight_requested")
    if answer == "canceled":
        await place.cancel()
    else:
        command = commands.ResolvePreflight(approved=answer == "approved")
        await place.harness.resolve_preflight(place.session_id, posted.turn_id, command)
    if answer == "approved":
        request = await place.heard("approval_requested")
        await place.approve(request.data.tool_call_id, "deny")
    await place.ended(posted)
    played = await plays(place, given=True)

    assert played.turns == 1
    assert ("the plan that was proposed" in played.skipped[0]) is True


@pytest.mark.parametrize("verdict", ["person", "denied", "accept", "reject", "ask"])
async def test_a_step_of_a_plan_that_is_reviewed_as_well(place, verdict):
    """The plan lets the call run, the review has its say all the same; both are in the record of the call."""
    is_asked = verdict in ("person", "denied")
    review = {"mode": "request"} if is_asked else {"mode": "auto"}
    place.configure(json.dumps({"verify": {"autoVerify": False}, "patchReview": review}))
    steps = [{"description": "Write.", "toolName": "write_file", "target": "n.txt"}]
    place.model.says(json.dumps({"steps": steps})).calls("write_file", path="n.txt", content="n")
    if not is_asked:
        place.model.says(json.dumps({"verdict": verdict, "reason": "So it is."}))
    place.model.says("Done.")
    posted = await place.say("take notes", preflight=True, on_ask="wait")
    await place.heard("preflight_requested")
    await place.harness.resolve_preflight(place.session_id, posted.turn_id, commands.ResolvePreflight(approved=True))
    if is_asked or verdict == "ask":
        request = await place.heard("approval_requested")
        await place.approve(request.data.tool_call_id, "deny" if verdict == "denied" else "approve")
    await place.ended(posted)

    assert [one.data.preflight_step for one in place.events("tool_call_started")] == (
        [] if verdict in ("denied", "reject") else ["step_1"]
    )
    assert bool(place.events("patch_reviewed")) is not is_asked
    await plays(place, given=True)


@pytest.mark.parametrize("priced", ["neither", "first", "second"])
async def test_a_budget_in_money_and_a_model_that_gives_way_to_one_of_another_price(tmp_path, priced):
    """Whose price is not known is told once, at the model it is said of, and what may be spent is the same."""
    first, second = ProviderServer([fails(401, "bad key")]), ProviderServer([calls(("repo_tree", {})), says("Second.")])
    place = Place(tmp_path)
    async with first, second:
        price = {"inputUsd": 1.0, "outputUsd": 2.0}
        models = {"one": {"m": price} if priced == "first" else {}, "two": {"n": price} if priced == "second" else {}}
        setup = {
            name: {"baseUrl": server.base_url, "apiKey": "k", "models": models[name]}
            for name, server in (("one", first), ("two", second))
        }
        chosen = {"defaultProvider": "one", "defaultModel": "m", "fallbackModels": ["two/n"]}
        place.configure(json.dumps({"providers": setup, "budget": {"perTurn": {"usd": 0.5}}, **chosen}))
        place.model = None
        await place.open()
        await place.start()
        await place.ask("go")

    assert place.events("model_switched")
    assert [one.data.code for one in place.events("notice")].count("price_unknown") == 1
    await plays(place)
    await place.harness.close()


async def test_settings_that_changed_between_two_turns(place):
    """Each turn is played by the settings that counted for it, whatever they are when it is exported."""
    place.configure('{"verify": {"autoVerify": false}, "agents": {"build": {"maxSteps": 1}}}')
    place.model.calls("repo_tree").says("Never asked.")
    await place.ask("one")
    place.configure(
        '{"verify": {"autoVerify": false}, "agents": {"build": {"maxSteps": 5}}, "patchReview": {"mode": "request"}}'
    )
    place.model = ScriptedModel().calls("repo_tree").says("Two.")
    await place.reopen()
    await place.ask("two")
    place.configure(QUIET)
    await place.reopen()

    assert [one.data.stop_reason for one in place.events("turn_completed")] == ["max_steps", "end_turn"]
    await plays(place)


async def test_trust_that_came_and_went(place):
    """Whether verification was asked about is told by each turn: trust is what it is when the session is exported."""
    own = {"verify": {"commands": ["true"]}, "approval": {"requireForKinds": ["exec"]}}
    (place.home / "config.json").write_text(json.dumps(own))
    await place.reopen()
    place.model.calls("write_file", path="n.txt", content="n").says("One.")
    await place.ask("one", on_ask="deny")
    place.trusted = False
    place.model = ScriptedModel().calls("write_file", path="n.txt", content="m").says("Two.")
    await place.reopen()
    await place.ask("two", on_ask="deny")

    assert place.events("verification_started")
    assert [one.data.name for one in place.events("approval_requested")] == ["verify"]
    await plays(place)
    place.trusted = True
    await place.reopen()
    await plays(place)


async def test_tools_of_an_mcp_server_and_of_the_project(tmp_path):
    """Their results are the record's: the server is gone, and nothing is started."""
    (tmp_path / "home").mkdir()
    server = {"command": sys.executable, "args": ["-S", str(RAW), "plain"]}
    (tmp_path / "home" / "mcp.json").write_text(json.dumps({"mcpServers": {"mine": server}}))
    async with daemon_in_a_box(tmp_path) as daemon:
        daemon.model.calls("mcp__mine__echo", text="hello").calls("mcp__mine__echo", text="no").then_says("It echoes.")
        turn = await daemon.ask("Say hello")
        await turn.approve()
        await turn.deny(reason="once is enough")
        assert await turn.answer() == "It echoes."
        await assert_plays(daemon.harness, turn.session_id)
        (tmp_path / "home" / "mcp.json").unlink()
        await assert_plays(daemon.harness, turn.session_id)


async def test_an_answer_without_end_is_cut_off_again(place):
    """It is found out at the same character."""
    place.model.says("over and over again, " * 3000, size=7).says("Short.")
    await place.ask("go")

    assert place.messages()[1].stop_reason == "loop_detected"
    await plays(place)


@pytest.mark.parametrize("where", ["answer", "tool", "question"])
async def test_a_session_that_is_still_at_it(place, where):
    """The record ends in the middle, and so does the replay."""
    place.configure(QUIET if where == "question" else FREE)
    script = {
        "answer": (Say("I was about"), Wait(asyncio.Event())),
        "tool": (Call("shell", {"command": "sleep 60"}),),
        "question": (Call("shell", {"command": "make"}),),
    }[where]
    place.model.plays(*script)
    await place.say("go")
    kind = {"answer": "model_output_delta", "tool": "tool_call_started", "question": "approval_requested"}[where]
    await place.heard(kind)

    await plays(place)


async def test_a_log_with_a_hole_is_not_exported(place):
    """It says what finds it and what mends it."""
    place.model.says("hi")
    await place.ask("hello")
    place.harness.log.db.execute("DELETE FROM events WHERE seq=4")
    with pytest.raises(Invalid, match="is damaged") as refused:
        await exported(place.harness, place.session_id, "cassette")

    assert "agi log verify" in refused.value.hint


@pytest.mark.parametrize("format", ["cassette", "ndjson"])
async def test_a_log_with_another_end_than_its_row_knows_is_not_exported(place, format):
    """What is left fits together, and is not all there was; nor is an end that was made again."""
    place.model.says("hi")
    await place.ask("hello")
    db, last = place.harness.log.db, place.harness.state(place.session_id).last_seq
    db.execute("UPDATE sessions SET state=json_set(state, '$.head', ?)", ("0" * 64,))
    with pytest.raises(Invalid, match=f"event {last} is not as it was written"):
        await exported(place.harness, place.session_id, format)
    db.execute("DELETE FROM events WHERE seq>4")
    with pytest.raises(Invalid, match=f"nothing is left behind event 4, and there were {last}") as refused:
        await exported(place.harness, place.session_id, format)

    assert refused.value.code == "log_damaged"
