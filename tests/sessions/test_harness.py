"""The verbs: sessions, messages, the queue, cancel, retry. A scripted model, everything else real."""

from __future__ import annotations

import asyncio
import json
import os
import time

import pytest
from tests.conftest import processes_named

from agi.errors import ConfigError, Conflict, Invalid, ModelError, NotFound
from agi.models.scripted import Call, Say, Wait
from agi.protocol import commands
from agi.protocol.resources import ResourceTag
from agi.views import queries


def data(event) -> dict:
    return json.loads(event.raw)


async def test_a_session_is_on_disk_when_it_is_created(place):
    """`session.json` and the log's mirror are there, readable by their owner only."""
    folder = place.harness.session_folder(place.session_id)

    assert json.loads((folder / "session.json").read_text())["id"] == place.session_id
    assert (folder / "events.ndjson").read_bytes() == b"".join(event.line() + b"\n" for event in place.events())
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "session.json").stat().st_mode & 0o777 == 0o600


async def test_who_begins_a_session_is_told_what_everybody_is_told_of_it(place):
    """What was just written is folded, and no row is read; the answer is the same."""
    said = commands.CreateSession(title="A title", system_prompt="Be brief.", auto_run=False)
    begun = await place.harness.create_session(said)

    assert begun == place.harness.session(begun.id)
    assert (begun.title, begun.last_seq, begun.status) == ("A title", len(place.harness.log.read(begun.id)), "active")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"workspace_path": "/nowhere/at/all"}, "workspace_missing"),
        ({"workspace_path": "relative"}, "workspace_not_absolute"),
        ({"workspace_path": "/a", "project_path": "/b"}, "workspace_ambiguous"),
        ({"agent": "bild"}, "unknown_agent"),
        ({"provider": "nobody"}, "unknown_provider"),
    ],
)
async def test_a_session_that_cannot_be_is_refused_and_nothing_is_made(place, fields, code):
    """A bad request changes nothing."""
    before = len(place.harness.sessions())
    with pytest.raises(Invalid) as refused:
        await place.harness.create_session(commands.CreateSession(**fields))
    assert refused.value.code == code
    assert refused.value.hint
    assert len(place.harness.sessions()) == before


async def test_a_file_is_no_workspace(place):
    """It is said what is wrong with it."""
    path = place.project / "file.txt"
    path.write_text("x")
    with pytest.raises(Invalid) as refused:
        await place.harness.create_session(commands.CreateSession(workspace_path=str(path)))
    assert refused.value.code == "workspace_not_a_directory"


async def test_a_message_to_a_busy_session_waits_its_turn(place):
    """It says so, is answered next, and the model sees the conversation in order."""
    gate = asyncio.Event()
    place.model.plays(Wait(gate), Say("first")).then_says("second")
    one = await place.say("one")
    two = await place.say("two")
    assert (one.queued, two.queued) == (False, True)
    assert [queued.turn_id for queued in place.harness.session(place.session_id).queue] == [two.turn_id]
    assert place.harness.session(place.session_id).activity == "running"

    gate.set()
    await place.ended(two)

    texts = [message.parts[0].text for message in place.messages()]
    assert texts == ["one", "first", "two", "second"]
    assert [message.parts[0].text for message in place.model.requests[1].messages] == ["one", "first", "two"]
    endings = [event.type for event in place.events("turn_completed", "session_completed")]
    assert endings == ["turn_completed", "turn_completed", "session_completed"]


async def test_with_auto_run_off_a_message_is_only_kept(place):
    """It is answered together with the next one that runs."""
    posted = await place.say("for later", auto_run=False)
    assert posted.turn_id is None
    assert place.harness.session(place.session_id).status == "active"
    place.model.says("both seen")

    await place.ask("now")

    assert [message.parts[0].text for message in place.model.requests[0].messages] == ["for later", "now"]


async def test_cancel_stops_the_turn_and_keeps_what_was_said(place):
    """The half answer stays, the session is canceled and takes the next message."""
    gate = asyncio.Event()
    place.model.plays(Say("As far as I c"), Wait(gate)).then_says("again")
    posted = await place.say("tell")
    await place.until(lambda: bool(place.harness.log.hub.open) or "model_output_delta" in place.types())

    assert await place.cancel(reason="enough") == (posted.turn_id,)
    turn = await asyncio.wait_for(place.ended(posted), 5)

    assert turn.status == "canceled"
    assert place.types()[-2:] == ["turn_canceled", "session_canceled"]
    assert place.answer() == "As far as I c"
    assert place.messages()[-1].stop_reason == "canceled"
    assert (await place.ask("go on")).status == "completed"


async def test_cancel_kills_a_running_command_and_closes_its_call(place):
    """No process is left, and the call is told as interrupted."""
    place.configure('{"approval": {"requireForKinds": []}}')
    mark = f"sleep 9{time.time_ns()}"
    place.model.calls("shell", command=f"setsid {mark} & exec {mark}")
    posted = await place.say("run")
    await place.until(lambda: len(processes_named(mark)) == 2)

    await place.cancel()
    await asyncio.wait_for(place.ended(posted), 10)

    completed = data(place.events("tool_call_completed")[0])
    assert completed["interrupted"] is True
    assert completed["tool_result"]["ok"] is False
    await place.until(lambda: not processes_named(mark))


async def test_cancel_answers_the_open_question(place):
    """An approval that was pending is closed as canceled, and answering it later is refused."""
    place.model.plays(Call("shell", {"command": "echo 1"}), Call("shell", {"command": "echo 2"}))
    posted = await place.say("run")
    request = data(await place.heard("approval_requested", 2))

    await place.cancel()
    await asyncio.wait_for(place.ended(posted), 5)

    assert [data(event)["cause"] for event in place.events("approval_denied")] == ["canceled", "canceled"]
    assert len(place.events("tool_call_completed")) == 2
    with pytest.raises(Conflict) as refused:
        await place.approve(request["tool_call_id"])
    assert refused.value.code == "approval_answered"


async def test_cancel_drops_the_queue_unless_one_turn_is_named(place):
    """Stop does not silently run what was queued; naming a queued turn drops just that one."""
    gate = asyncio.Event()
    place.model.plays(Wait(gate), Say("one")).then_says("three").then_says("four")
    one = await place.say("1")
    two = await place.say("2")
    three = await place.say("3")

    assert await place.cancel(turn_id=two.turn_id) == (two.turn_id,)
    gate.set()
    await place.ended(three)

    status = [place.harness.turn(place.session_id, posted.turn_id).status for posted in (one, two, three)]
    assert status == ["completed", "canceled", "completed"]


async def test_canceling_when_nothing_runs_is_a_conflict(place):
    """And changes nothing."""
    before = place.types()
    with pytest.raises(Conflict) as refused:
        await place.cancel()
    assert refused.value.code == "nothing_to_cancel"
    assert place.types() == before


async def test_a_failed_turn_is_retried_with_the_same_message(place):
    """The new turn answers the same message; a completed turn cannot be retried."""
    place.model.fails(ModelError("down")).then_says("up again")
    failed = await place.ask("are you there?")
    assert failed.status == "failed"

    posted = await place.harness.retry(place.session_id, failed.id)
    turn = await place.ended(posted)

    assert turn.status == "completed"
    assert turn.retry_of == failed.id
    assert [message.parts[0].text for message in place.messages()] == ["are you there?", "up again"]
    with pytest.raises(Conflict) as refused:
        await place.harness.retry(place.session_id, turn.id)
    assert refused.value.code == "turn_not_retryable"
    with pytest.raises(Conflict) as refused:
        await place.harness.retry(place.session_id, failed.id)
    assert refused.value.code == "turn_not_last"


async def test_unknown_ids_are_not_found(place):
    """Sessions, turns, approvals: each says so with a hint."""
    with pytest.raises(NotFound):
        await place.harness.post_message("sess_x", commands.PostMessage(content="hi"))
    with pytest.raises(NotFound):
        await place.harness.retry(place.session_id, "turn_x")
    with pytest.raises(NotFound) as unknown:
        await place.approve("call_x")
    assert unknown.value.code == "approval_not_found"


@pytest.mark.threat("T30")
async def test_the_first_answer_counts_and_the_second_is_told_so(place):
    """Two clients race: one wins, the call runs at most once."""
    place.model.calls("shell", command="echo ran >> ran.txt").then_says("ok")
    posted = await place.say("run")
    call_id = data(await place.heard("approval_requested"))["tool_call_id"]

    outcomes = await asyncio.gather(
        place.approve(call_id), place.approve(call_id, "deny"), place.approve(call_id), return_exceptions=True
    )
    await place.ended(posted)

    assert [isinstance(outcome, Conflict) for outcome in outcomes] == [False, True, True]
    assert (place.project / "ran.txt").read_text() == "ran\n"


async def test_an_answer_for_another_turn_or_session_is_refused(place):
    """A call id alone does not open another session's door."""
    place.model.calls("shell", command="echo 1").then_says("ok")
    await place.say("run")
    call_id = data(await place.heard("approval_requested"))["tool_call_id"]
    with pytest.raises(NotFound):
        await place.approve(call_id, turn_id="turn_other")
    other = await place.harness.create_session(commands.CreateSession())
    with pytest.raises(NotFound):
        await place.harness.approve(other.id, commands.Approve(tool_call_id=call_id, action="approve"))
    assert place.harness.session(place.session_id).status == "waiting_approval"


async def test_remembered_for_the_session_means_not_asked_again_except_for_destruction(place):
    """`session` covers that tool for the rest of the session, but never a destructive command."""
    place.model.calls("shell", command="echo 1")
    place.model.calls("shell", command="echo 2")
    place.model.calls("shell", command="rm -rf build").then_says("ok")
    posted = await place.say("run")
    first = data(await place.heard("approval_requested"))
    await place.approve(first["tool_call_id"], remember="session")

    second = data(await place.heard("approval_requested", 2))
    assert "rm -rf" in second["input"]["command"]
    assert second["rule"] == "destructive"
    await place.approve(second["tool_call_id"], "deny")
    await place.ended(posted)

    assert len(place.events("tool_call_started")) == 2


async def test_an_unanswered_question_expires_and_is_not_called_a_refusal(place):
    """With a time-out configured, the cause is `expired`."""
    place.configure('{"approval": {"timeoutSeconds": 0.05}}')
    place.model.calls("shell", command="echo 1").then_says("nobody came")

    await asyncio.wait_for(place.ask("run"), 10)

    assert data(place.events("approval_denied")[0])["cause"] == "expired"
    assert place.answer() == "nobody came"


async def test_a_session_can_be_renamed_and_deleted(place):
    """Deleting removes rows and files; a running session must be canceled first."""
    renamed = await place.harness.update_session(place.session_id, commands.UpdateSession(title="New name"))
    assert renamed.title == "New name"
    gate = asyncio.Event()
    place.model.plays(Wait(gate), Say("x"))
    posted = await place.say("1")
    with pytest.raises(Conflict):
        await place.harness.delete_session(place.session_id)
    gate.set()
    await place.ended(posted)
    await place.until(lambda: place.harness.session(place.session_id).activity == "idle")

    await place.harness.delete_session(place.session_id)
    await place.harness.log.mirrored()

    with pytest.raises(NotFound):
        place.harness.session(place.session_id)
    assert not place.harness.session_folder(place.session_id).exists()


async def test_many_sessions_run_at_once(place):
    """Each has its own turn; none waits for another."""
    sessions = [await place.harness.create_session(commands.CreateSession()) for _ in range(20)]
    for _ in sessions:
        place.model.says("hello")
    posted = [await place.harness.post_message(one.id, commands.PostMessage(content="hi")) for one in sessions]
    turns = await asyncio.gather(
        *(place.harness.wait_turn(one.id, two.turn_id) for one, two in zip(sessions, posted, strict=True))
    )
    assert {turn.status for turn in turns} == {"completed"}


async def test_secrets_never_reach_the_log(tmp_path, place):
    """A configured key that a tool prints is stars in every file of the data folder."""
    key = "sk-canary-0123456789abcdef"
    place.home.mkdir(parents=True, exist_ok=True)
    (place.home / "config.json").write_text(json.dumps({"providers": {"openai": {"apiKey": key, "enabled": True}}}))
    (place.home / "config.json").chmod(0o600)
    place.configure('{"approval": {"requireForKinds": []}, "defaultProvider": "scripted"}')
    (place.project / "leak.txt").write_text(f"key is {key}\n")
    await place.start()
    place.model.calls("read_file", path="leak.txt").then_says(f"It is {key}.")

    await place.ask("what is the key?")
    await place.harness.log.mirrored()

    for path in (place.project / ".agi").rglob("*"):
        if path.is_file():
            assert key.encode() not in path.read_bytes(), path


async def test_a_retry_asks_for_what_the_message_asked_for(place):
    """The agent, the options and what to do where a person would be asked are the message's own."""
    place.model.fails(ModelError("down"))
    failed = await place.ask("plan it", agent="plan", on_ask="deny", options={"temperature": 0.5})
    place.model.calls("write_file", path="x.txt", content="no").then_says("may not")

    turn = await place.ended(await place.harness.retry(place.session_id, failed.id))

    assert turn.status == "completed"
    started = data(place.events("turn_started")[1])
    assert (started["agent"], started["on_ask"], started["options"]) == ("plan", "deny", {"temperature": 0.5})
    assert not (place.project / "x.txt").exists()


async def test_of_two_retries_at_once_one_runs(place):
    """The second finds that the turn is not the last any more."""
    place.model.fails(ModelError("down"))
    failed = await place.ask("go")
    place.model.says("up").then_says("never asked for")

    outcomes = await asyncio.gather(
        *(place.harness.retry(place.session_id, failed.id) for _ in range(3)), return_exceptions=True
    )

    assert sorted(isinstance(outcome, Conflict) for outcome in outcomes) == [False, True, True]


async def test_a_cancel_says_why_and_an_unknown_turn_is_not_found(place):
    """The reason is in the turn's last event."""
    place.model.plays(Wait(asyncio.Event()))
    posted = await place.say("one")
    await place.heard("turn_started")
    with pytest.raises(NotFound):
        await place.cancel(turn_id="turn_unknown")

    await place.cancel(reason="changed my mind")
    await place.ended(posted)

    assert data(place.events("turn_canceled")[0])["reason"] == "changed my mind"
    with pytest.raises(Conflict):
        await place.cancel(turn_id=posted.turn_id)


async def test_a_message_dropped_from_the_queue_keeps_its_place_and_is_not_told(place):
    """It stands where it was dropped; the model never hears of it."""
    gate = asyncio.Event()
    place.model.plays(Wait(gate), Say("one")).then_says("three")
    await place.say("A")
    dropped = await place.say("B")
    last = await place.say("C")
    await place.cancel(turn_id=dropped.turn_id)
    gate.set()
    await place.ended(last)

    assert [message.parts[0].text for message in place.messages()] == ["A", "B", "one", "C", "three"]
    assert [message.parts[0].text for message in place.model.requests[1].messages] == ["A", "one", "C"]


async def test_waiting_for_a_turn_ends_when_its_session_is_deleted(place):
    """By this process or another; nobody waits for ever."""
    place.model.plays(Wait(asyncio.Event()))
    await place.say("one")
    two = await place.say("two")
    waiting = asyncio.create_task(place.ended(two))
    await place.cancel()
    await place.until(lambda: place.harness.session(place.session_id).activity == "idle")
    assert (await asyncio.wait_for(waiting, 5)).status == "canceled"


async def test_a_folder_put_in_a_workspaces_place_is_another_workspace(place, tmp_path):
    """Tools work where the rules were read."""
    work = tmp_path / "work"
    work.mkdir()
    await place.start(workspace_path=str(work))
    place.configure("{}")
    place.model.calls("write_file", path="a.txt", content="1").then_says("ok")
    posted = await place.say("write")
    asked = data(await place.heard("approval_requested"))
    work.rename(tmp_path / "old")
    work.mkdir()
    await place.approve(asked["tool_call_id"])
    await place.ended(posted)
    place.model.calls("write_file", path="b.txt", content="2").then_says("ok")
    posted = await place.say("write again")
    await place.approve(data(await place.heard("approval_requested", 2))["tool_call_id"])
    await place.ended(posted)

    assert (tmp_path / "old" / "a.txt").exists()
    assert (work / "b.txt").exists()


async def test_a_broken_config_costs_no_handles(place, tmp_path):
    """However often it is asked for."""
    broken = tmp_path / "broken"
    (broken / ".agi").mkdir(parents=True)
    (broken / ".agi" / "config.json").write_text("{")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        with pytest.raises(ConfigError):
            await place.harness.create_session(commands.CreateSession(workspace_path=str(broken)))
    assert len(os.listdir("/proc/self/fd")) <= before + 1


async def test_a_damaged_row_hides_its_own_session_and_no_other(place):
    """The rest is listed, page by page to the end; who asks for that very session is told."""
    ids = [(await place.harness.create_session(commands.CreateSession(title=f"{n}"))).id for n in range(4)]
    await place.harness.log.maintain(lambda db: db.execute("UPDATE sessions SET state='{\"bro' WHERE id=?", (ids[2],)))

    found = queries.list_sessions(place.harness.log.db, limit=3)
    here = queries.sessions_of(place.harness.log.db, ResourceTag("repositories", "x"), str(place.project), 3)

    assert [state.id for state in found] == [ids[3], ids[1], ids[0]]
    assert [state.id for state in here] == [ids[3], ids[1], ids[0]]
    assert queries.sessions_with_jobs(place.harness.log.db) == []
