"""A turn survives its process: what was open is closed or goes on, and nothing with an effect runs twice.

Here the harness is stopped in this process, which leaves the log as a kill does; tests/torture kills real daemons.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import sqlite3
import sys
from contextlib import closing

import pytest

from agi.errors import Damaged
from agi.models.scripted import Call, Say, ScriptedModel, Wait
from agi.protocol import commands
from agi.protocol import events as ev
from agi.protocol.events import CancelRequested
from agi.sessions import runners
from agi.sessions.approvals import give_answer


def data(event) -> dict:
    return json.loads(event.raw)


async def test_a_turn_cut_off_while_the_model_spoke_is_asked_again(place):
    """The half answer is marked as interrupted, left out of the next request, and the turn is completed."""
    place.model.plays(Say("Half of it, " * 200, 10), Wait(asyncio.Event()))
    posted = await place.say("tell me")
    await place.heard("model_output_delta")
    await place.harness.close()

    place.model = ScriptedModel().says("The whole of it.")
    await place.open()
    assert await place.harness.recover() == 1
    turn = await asyncio.wait_for(place.ended(posted), 10)

    assert turn.status == "completed"
    assert place.answer() == "The whole of it."
    half = next(message for message in place.messages() if message.status == "error")
    assert half.stop_reason == "interrupted"
    assert half.parts[0].text.startswith("Half of it, ")
    assert "turn_resumed" in place.types()
    assert [message.role for message in place.model.requests[0].messages] == ["user"]
    assert [event.seq for event in place.events()] == list(range(1, len(place.events()) + 1))


@pytest.mark.threat("T51")
async def test_a_command_that_may_have_run_is_told_as_interrupted_and_not_run_again(place):
    """The model is told; the counter file shows one run."""
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}}')
    place.model.calls("shell", command="echo run >> count.txt; sleep 300")
    posted = await place.say("do it")
    count = place.project / "count.txt"
    await place.until(lambda: count.exists() and count.read_text() == "run\n")
    await place.harness.close()

    place.model = ScriptedModel().says("I see it was interrupted.")
    await place.open()
    await place.harness.recover()
    await asyncio.wait_for(place.ended(posted), 10)

    assert (place.project / "count.txt").read_text() == "run\n"
    completed = data(place.events("tool_call_completed")[0])
    assert completed["interrupted"] is True
    told = place.model.requests[0].messages[-1]
    assert "Interrupted" in told.parts[0].content.parts[0].text


async def test_a_question_survives_the_restart_and_is_answered_after_it(place):
    """Asked once, answered once, run once."""
    place.configure('{"verify": {"autoVerify": false}}')
    place.model.calls("shell", command="echo run >> count.txt")
    posted = await place.say("do it")
    request = data(await place.heard("approval_requested"))
    await place.harness.close()

    place.model = ScriptedModel().says("done")
    await place.open()
    await place.harness.recover()
    assert [one.tool_call_id for one in place.harness.session(place.session_id).pending_approvals] == [
        request["tool_call_id"]
    ]
    await place.approve(request["tool_call_id"])
    await asyncio.wait_for(place.ended(posted), 10)

    assert len(place.events("approval_requested")) == 1
    assert (place.project / "count.txt").read_text() == "run\n"


async def test_a_grant_given_while_nobody_was_there_is_used_once(place):
    """Granted, then killed before the start: the call runs after the restart, once."""
    place.configure('{"verify": {"autoVerify": false}}')
    place.model.calls("shell", command="echo run >> count.txt")
    posted = await place.say("do it")
    request = data(await place.heard("approval_requested"))
    await place.reopen()
    answer = commands.Approve(tool_call_id=request["tool_call_id"], action="approve")
    await give_answer(place.harness.log, place.session_id, answer)
    assert not (place.project / "count.txt").exists()
    await place.harness.close()

    place.model = ScriptedModel().says("done")
    await place.open()
    await place.harness.recover()
    await asyncio.wait_for(place.ended(posted), 10)

    assert (place.project / "count.txt").read_text() == "run\n"


async def test_a_read_that_was_cut_off_is_run_again(place):
    """Reads are safe to repeat: the call gets its real result."""
    (place.project / "a.txt").write_text("the text")
    gate = asyncio.Event()
    place.model.calls("read_file", path="a.txt").plays(Wait(gate))
    posted = await place.say("read")
    await place.heard("tool_call_completed")
    # Take the result away again, as if the process had died while the file was being read.
    await place.harness.close()
    _forget_after(place, "tool_call_started")

    place.model = ScriptedModel().says("read it")
    await place.open()
    await place.harness.recover()
    await asyncio.wait_for(place.ended(posted), 10)

    completed = data(place.events("tool_call_completed")[0])
    assert completed.get("interrupted", False) is False
    assert "the text" in completed["tool_result"]["parts"][0]["text"]
    assert len(place.events("tool_call_started")) == 1


async def test_queued_messages_are_answered_after_a_restart(place):
    """The queue is rows of the log."""
    place.model.plays(Wait(asyncio.Event()))
    await place.say("one")
    two = await place.say("two")
    await place.harness.close()

    place.model = ScriptedModel().says("first").then_says("second")
    await place.open()
    await place.harness.recover()
    await asyncio.wait_for(place.ended(two), 10)

    assert [message.parts[0].text for message in place.messages()] == ["one", "first", "two", "second"]


async def test_a_cancel_that_was_asked_for_before_the_crash_is_obeyed_after_it(place):
    """The wish is in the log."""
    place.model.plays(Wait(asyncio.Event()))
    posted = await place.say("one")
    await place.heard("turn_started")
    await place.reopen()
    await place.harness.log.append(place.session_id, [(posted.turn_id, CancelRequested())])
    await place.harness.close()

    await place.open()
    await place.harness.recover()
    turn = await asyncio.wait_for(place.ended(posted), 10)

    assert turn.status == "canceled"


async def test_a_turn_that_is_cut_off_again_and_again_is_given_up(place):
    """A turn that kills its process must not do so for ever."""
    place.model.plays(Wait(asyncio.Event()))
    posted = await place.say("one")
    await place.heard("turn_started")
    for n in range(1, 5):
        await place.harness.close()
        place.model = ScriptedModel().plays(Wait(asyncio.Event()))
        await place.open()
        await place.harness.recover()
        await place.heard("turn_resumed", n)
    turn = await asyncio.wait_for(place.ended(posted), 10)

    assert turn.status == "failed"
    assert json.loads(turn.outcome)["error"]["code"] == "interrupted"


async def test_a_turn_that_waited_for_room_again_and_again_is_not_given_up(place):
    """A full disk is no fault of the turn's, however often it comes; and the log says what it waited for."""
    place.model.plays(Wait(asyncio.Event()))
    posted = await place.say("one")
    await place.heard("turn_started")
    paused = (posted.turn_id, ev.Notice(code=ev.DISK_FULL, message="The disk is full."))
    for n in range(1, 6):
        await place.harness.log.append(place.session_id, [paused])
        await place.harness.close()
        place.model = ScriptedModel().plays(Wait(asyncio.Event())) if n < 5 else ScriptedModel().says("At last.")
        await place.open()
        await place.harness.recover()
        await place.heard("turn_resumed", n)

    assert (await asyncio.wait_for(place.ended(posted), 10)).status == "completed"
    assert {data(event)["reason"].split(";")[0] for event in place.events("turn_resumed")} == {
        "There is room on the disk again"
    }


async def test_stopping_cleanly_leaves_the_turn_to_the_next_start(place):
    """Closing the harness is no cancel."""
    place.model.plays(Call("read_file", {"path": "a.txt"})).plays(Wait(asyncio.Event()))
    posted = await place.say("one")
    await place.heard("tool_call_completed")
    place.model = ScriptedModel().says("back")
    await place.reopen()

    assert await place.harness.recover() == 1
    assert (await asyncio.wait_for(place.ended(posted), 10)).status == "completed"


async def test_a_lost_database_is_rebuilt_when_the_harness_opens(place):
    """Nothing of the session is missing, and it goes on."""
    place.model.says("one")
    await place.ask("1")
    await place.harness.close()
    before = (place.project / ".agi" / "sessions" / place.session_id / "events.ndjson").read_bytes()
    for path in (place.project / ".agi").glob("agi.sqlite*"):
        path.unlink()

    place.model = ScriptedModel().says("two")
    await place.open()

    assert place.harness.rebuilt is not None
    assert b"".join(event.line() + b"\n" for event in place.events()) == before
    assert (await place.ask("2")).status == "completed"
    assert [message.parts[0].text for message in place.messages()] == ["1", "one", "2", "two"]


def _forget_after(place, type: str) -> None:
    """Cut the log behind the first event of a type, and everything made from it, as a crash would have left it."""
    mirror = place.project / ".agi" / "sessions" / place.session_id / "events.ndjson"
    lines = mirror.read_bytes().splitlines(keepends=True)
    last = next(n for n, line in enumerate(lines) if json.loads(line)["type"] == type)
    mirror.write_bytes(b"".join(lines[: last + 1]))
    for path in (place.project / ".agi").glob("agi.sqlite*"):
        path.unlink()


async def test_what_is_said_meanwhile_without_asking_does_not_lose_an_open_question(place):
    """A message with auto_run off stands behind the open call; after a restart the question is still there."""
    place.configure('{"verify": {"autoVerify": false}}')
    place.model.calls("shell", command="echo run >> count.txt")
    posted = await place.say("do it")
    request = data(await place.heard("approval_requested"))
    await place.say("by the way", auto_run=False)
    place.model = ScriptedModel().says("done")
    await place.reopen()
    await place.harness.recover()
    await place.approve(request["tool_call_id"])

    turn = await asyncio.wait_for(place.ended(posted), 10)

    assert turn.status == "completed"
    assert (place.project / "count.txt").read_text() == "run\n"
    assert len(place.events("approval_requested")) == 1


async def test_a_question_waits_through_any_number_of_restarts(place):
    """A restart is no crash of the turn's making."""
    place.configure('{"verify": {"autoVerify": false}}')
    place.model.calls("shell", command="echo run >> count.txt")
    posted = await place.say("do it")
    request = data(await place.heard("approval_requested"))
    for n in range(1, 7):
        place.model = ScriptedModel().says("done")
        await place.reopen()
        await place.harness.recover()
        await place.heard("turn_resumed", n)

    await place.approve(request["tool_call_id"])

    assert (await asyncio.wait_for(place.ended(posted), 10)).status == "completed"


async def test_a_question_about_verification_survives_a_restart(place):
    """The same question, asked once; its answer counts."""
    place.trusted = False
    await place.reopen()
    await place.start()
    (place.project / "Makefile").write_text("test:\n\t@echo ran >> ran.txt\n")
    place.model.calls("write_file", path="b.txt", content="b").then_says("wrote")
    posted = await place.say("write")
    await place.approve(data(await place.heard("approval_requested"))["tool_call_id"])
    request = data(await place.heard("approval_requested", 2))
    place.model = ScriptedModel()
    await place.reopen()
    await place.harness.recover()
    await place.heard("turn_resumed")

    await place.approve(request["tool_call_id"])
    turn = await asyncio.wait_for(place.ended(posted), 10)

    assert json.loads(turn.outcome)["verification"] == "verified"
    assert len(place.events("approval_requested")) == 2
    assert (place.project / "ran.txt").read_text() == "ran\n"


async def test_a_stop_between_two_verification_commands_runs_the_second_after_it(place):
    """A turn is verified when all commands have passed, whoever runs them; the first still speaks for the files."""
    place.configure(
        '{"sandbox": {"mode": "off"}, "approval": {"requireForKinds": []}, '
        '"verify": {"commands": ["echo 1 >> ../ran.txt", '
        '"test ! -f b.txt || test -f ../go || sleep 300; echo 2 >> ../ran.txt"], "maxAttempts": 1}}'
    )
    place.model.calls("write_file", path="b.txt", content="b").then_says("wrote")
    posted = await place.say("write")
    await place.heard("verification_started", 4)
    await place.harness.close()
    (place.project.parent / "go").touch()
    place.model = ScriptedModel()
    await place.open()
    await place.harness.recover()

    turn = await asyncio.wait_for(place.ended(posted), 10)

    assert json.loads(turn.outcome)["verification"] == "verified"
    assert (place.project.parent / "ran.txt").read_text() == "1\n2\n1\n2\n"


async def test_a_file_changed_while_nobody_was_there_has_all_commands_run(place):
    """What the first had found was about other files."""
    place.configure(
        '{"sandbox": {"mode": "off"}, "approval": {"requireForKinds": []}, '
        '"verify": {"commands": ["echo 1 >> ../ran.txt", '
        '"test ! -f b.txt || test -f go || sleep 300; echo 2 >> ../ran.txt"], "maxAttempts": 1}}'
    )
    place.model.calls("write_file", path="b.txt", content="b").then_says("wrote")
    posted = await place.say("write")
    await place.heard("verification_started", 4)
    await place.harness.close()
    (place.project / "go").touch()
    place.model = ScriptedModel()
    await place.open()
    await place.harness.recover()

    turn = await asyncio.wait_for(place.ended(posted), 10)

    assert json.loads(turn.outcome)["verification"] == "verified"
    assert (place.project.parent / "ran.txt").read_text() == "1\n2\n1\n1\n2\n"


async def test_a_call_that_waited_for_the_baseline_is_made_after_a_restart(place):
    """It had not run, so it is not told as interrupted; what fails already is found out first."""
    place.configure(
        '{"sandbox": {"mode": "off"}, "approval": {"requireForKinds": []}, '
        '"verify": {"commands": ["echo x >> ../ran.txt; test -f ../go || sleep 300; test ! -f b.txt"]}}'
    )
    place.model.calls("shell", command="echo b >> b.txt")
    posted = await place.say("write")
    await place.heard("verification_started")
    await place.until(lambda: (place.project.parent / "ran.txt").exists())
    await place.harness.close()
    (place.project.parent / "go").touch()
    place.model = ScriptedModel().says("wrote").calls("shell", command="rm b.txt").then_says("undone")
    await place.open()
    await place.harness.recover()

    turn = await asyncio.wait_for(place.ended(posted), 10)

    (call,) = [data(event) for event in place.events("tool_call_completed")][:1]
    assert call["tool_result"]["ok"] is True
    assert "interrupted" not in call
    runs = [
        (one["baseline"], one["status"]) for event in place.events("verification_completed") if (one := data(event))
    ]
    assert runs == [(True, "not_run"), (True, "passed"), (False, "failed"), (False, "passed")]
    assert json.loads(turn.outcome)["verification"] == "verified"


async def test_what_failed_before_the_first_change_is_known_after_a_restart(place):
    """The change has been made meanwhile, so it could not be found out any more."""
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"commands": ["exit 3"], "maxAttempts": 1}}')
    place.model.calls("write_file", path="b.txt", content="b").plays(Wait(asyncio.Event()))
    posted = await place.say("write")
    await place.heard("tool_call_completed")
    place.model = ScriptedModel().says("wrote")
    await place.reopen()
    await place.harness.recover()

    turn = await asyncio.wait_for(place.ended(posted), 10)

    assert json.loads(turn.outcome)["verification"] == "pre_existing"
    assert len([event for event in place.events("verification_started") if data(event)["baseline"]]) == 1


async def test_a_clean_stop_keeps_what_was_shown(place):
    """Text that clients saw is in the log, though the answer is asked for again."""
    place.model.plays(Say("seen by somebody"), Wait(asyncio.Event()))
    await place.say("speak")
    await place.until(lambda: place.session_id in place.harness.log.hub.open)
    place.model = ScriptedModel()
    await place.reopen()

    assert [data(event)["delta"] for event in place.events("model_output_delta")] == ["seen by somebody"]


@pytest.mark.parametrize("before", [0, 2_000])
async def test_a_turn_goes_on_when_the_log_can_be_written_again(place, monkeypatch, before):
    """A disk that was full for a while stops nothing for good; nor does one that was full for a weekend."""
    monkeypatch.setattr(runners, "FIRST_PAUSE_S", 0.01)
    if before:
        monkeypatch.setattr(runners, "LONGEST_PAUSE_S", 0.01)
        place.harness.runners._failures[place.session_id] = before
    gate = asyncio.Event()
    place.model.plays(Say("one"), Wait(gate)).then_says("the whole answer")
    failures: list[str] = []
    place.harness.runners.on_failure = lambda session_id, error: failures.append(type(error).__name__)
    posted = await place.say("speak")
    await place.until(lambda: place.session_id in place.harness.log.hub.open)
    apply = place.harness.log.projection.apply

    def full(db, session_id, events):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(place.harness.log.projection, "apply", full)
    gate.set()
    await place.until(lambda: len(failures) >= 2)
    monkeypatch.setattr(place.harness.log.projection, "apply", apply)

    turn = await asyncio.wait_for(place.ended(posted), 10)

    assert turn.status == "completed"
    assert place.answer() == "the whole answer"
    assert set(failures) == {"DiskFull"}


HALFWAY = """
import asyncio, os, signal, sys
from pathlib import Path
import agi.workspace.replace as replace
from agi.models.scripted import ScriptedModel
from agi.protocol import commands
from agi.sessions.harness import Harness, HarnessSettings

real, calls = replace.exchange, 0

def exchange(*args):
    global calls
    calls += 1
    if calls == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args)

replace.exchange = exchange

async def main():
    project, home = map(Path, sys.argv[1:3])
    model = ScriptedModel()
    settings = HarnessSettings(project=project, home_config=home, env={"PATH": "/usr/bin:/bin"}, trust_once=True)
    harness = Harness(settings, stand_in=model)
    model.calls("apply_patch", patch=sys.argv[4])
    posted = await harness.post_message(sys.argv[3], commands.PostMessage(content="go"))
    await harness.wait_turn(sys.argv[3], posted.turn_id)

asyncio.run(main())
"""

PATCH = """*** Begin Patch
*** Update File: a.txt
@@
-one
+ONE
*** Update File: b.txt
@@
-two
+TWO
*** End Patch
"""


async def test_a_kill_in_the_middle_of_a_patch_is_put_back_before_the_turn_goes_on(place):
    """Half a patch is worse than none: the files are as before, and the log says so."""
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}}')
    (place.project / "a.txt").write_text("one\n")
    (place.project / "b.txt").write_text("two\n")
    await place.harness.close()
    arguments = (sys.executable, "-c", HALFWAY, str(place.project), str(place.home), place.session_id, PATCH)
    killed = await asyncio.create_subprocess_exec(*arguments)
    assert await killed.wait() == -signal.SIGKILL
    half = {(place.project / name).read_text() for name in ("a.txt", "b.txt")}
    place.model = ScriptedModel().says("It was cut off.")
    await place.open()

    await place.harness.recover()
    await place.heard("turn_completed")

    assert half == {"ONE\n", "two\n"}
    assert (place.project / "a.txt").read_text() == "one\n"
    notice = next(data(event) for event in place.events("notice") if data(event)["code"] == "put_back")
    assert "a.txt" in notice["message"]
    assert data(place.events("tool_call_completed")[0])["interrupted"] is True


@pytest.mark.threat("T50")
async def test_a_turn_that_is_open_in_an_older_copy_is_not_taken_up_and_that_is_told(place):
    """It ended long ago: nothing is asked again, and nothing is written over what came after."""
    gate = asyncio.Event()
    place.model.plays(Wait(gate)).then_says("the answer")
    database = place.project / ".agi" / "agi.sqlite"
    posted = await place.say("speak")
    await place.heard("turn_started")
    with closing(sqlite3.connect(database)) as db, closing(sqlite3.connect(place.home / "kept")) as kept:
        db.backup(kept)
        kept.execute("UPDATE leases SET expires_at=0")  # this process lives on, as the one that is played does not
        kept.commit()
    gate.set()
    await place.ended(posted)
    await place.harness.close()
    mirror = place.project / ".agi" / "sessions" / place.session_id / "events.ndjson"
    lines = mirror.read_bytes()
    for path in database.parent.glob("agi.sqlite*"):
        path.unlink()
    shutil.copyfile(place.home / "kept", database)
    place.model = ScriptedModel().says("another answer")
    failures: list[str] = []

    await place.open()
    place.harness.runners.on_failure = lambda session_id, error: failures.append(str(error))
    assert await place.harness.recover() == 1
    await place.until(lambda: failures)
    with pytest.raises(Damaged) as refused:
        await place.say("again")
    await place.harness.log.mirrored()

    assert f"lacks what {place.session_id} holds after event" in failures[0]
    assert "agi repair --from-mirrors" in refused.value.hint
    assert mirror.read_bytes() == lines
    assert place.model.requests == []
