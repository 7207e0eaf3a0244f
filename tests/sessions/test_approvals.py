"""An answer lets one call run, the very call that was shown, once; nothing else does."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time

import pytest
from msgspec import UNSET

from agi.errors import Conflict, Invalid, NotFound
from agi.models.scripted import ScriptedModel
from agi.protocol import commands
from agi.protocol.events import Event

RUN = "echo ran >> ran.txt"


def data(event: Event) -> dict[str, object]:
    return json.loads(event.raw)


async def asked(place, command: str = RUN):
    """Let the agent ask for a command; gives the posted message and the question."""
    place.configure('{"verify": {"autoVerify": false}}')
    place.model.calls("shell", command=command).then_says("ok")
    posted = await place.say("run")
    return posted, data(await place.heard("approval_requested"))


def ran(place) -> str:
    path = place.project / "ran.txt"
    return path.read_text() if path.exists() else ""


async def test_a_question_holds_what_is_needed_to_answer_it(place):
    """The exact arguments, a digest of them, the risk, and what could be remembered."""
    posted, question = await asked(place, "git status\u200b; ls")
    (pending,) = place.harness.session(place.session_id).pending_approvals

    assert question["input"] == {"command": "git status\u200b; ls"}
    assert question["shown"] == r"command: git status\u200b; ls"
    assert (question["risk"], question["rule"], "remember" in question) == ("high", "unparsed", False)
    assert question["digest"].startswith("sha256:")
    assert (pending.digest, pending.shown) == (question["digest"], question["shown"])
    await place.approve(question["tool_call_id"], "deny")
    await place.ended(posted)


@pytest.mark.threat("T30")
async def test_an_answer_that_names_the_digest_counts_for_that_and_nothing_else(place):
    """A client that saw something else is told so, and nothing runs."""
    posted, question = await asked(place)

    with pytest.raises(Conflict) as refused:
        await place.approve(question["tool_call_id"], digest="sha256:" + "0" * 64)
    assert refused.value.code == "approval_changed"
    assert place.harness.session(place.session_id).status == "waiting_approval"
    await place.approve(question["tool_call_id"], digest=question["digest"])
    await place.ended(posted)

    assert ran(place) == "ran\n"
    assert data(place.events("approval_granted")[0])["digest"] == question["digest"]


@pytest.mark.threat("T30")
async def test_arguments_that_were_changed_after_the_question_do_not_run(place):
    """Not even if the log itself was tampered with: the answer is bound to what was shown."""
    posted, question = await asked(place)
    await place.harness.close()
    with sqlite3.connect(place.project / ".agi" / "agi.sqlite") as db:
        db.execute("UPDATE message_parts SET content=replace(content, 'echo ran', 'echo evil')")
    db.close()
    place.model = ScriptedModel().says("ok")
    await place.open()
    await place.harness.recover()

    await place.approve(question["tool_call_id"])
    await asyncio.wait_for(place.ended(posted), 10)

    assert ran(place) == ""
    result = data(place.events("tool_call_completed")[0])["tool_result"]
    assert "not those that were approved" in result["error"]


@pytest.mark.threat("T30")
async def test_an_answer_cannot_be_used_twice(place):
    """Neither by sending it again, nor by asking for the same thing again."""
    posted, question = await asked(place)
    await place.approve(question["tool_call_id"])
    await place.ended(posted)
    with pytest.raises(Conflict) as refused:
        await place.approve(question["tool_call_id"])
    assert refused.value.code == "approval_answered"

    place.model.calls("shell", command=RUN).then_says("ok")
    await place.say("again")
    again = data(await place.heard("approval_requested", 2))

    assert again["digest"] == question["digest"]
    assert again["tool_call_id"] != question["tool_call_id"]
    assert ran(place) == "ran\n"


async def test_two_calls_of_one_step_need_two_answers(place):
    """Also if they are the same."""
    place.configure('{"verify": {"autoVerify": false}}')
    place.model.calls("shell", command=RUN).calls("shell", command=RUN).then_says("ok")
    posted = await place.say("run")
    first = data(await place.heard("approval_requested"))["tool_call_id"]
    await place.approve(first)
    second = data(await place.heard("approval_requested", 2))["tool_call_id"]
    await place.approve(second, "deny")
    await place.ended(posted)

    assert ran(place) == "ran\n"


@pytest.mark.threat("T30")
@pytest.mark.parametrize("call_id", ["call_x", "call_" + "0" * 32, "", "../x", "\u202e"])
async def test_an_answer_to_nothing_changes_nothing(place, call_id):
    """Unknown, empty or odd ids."""
    _, question = await asked(place)

    with pytest.raises(NotFound):
        await place.approve(call_id)
    assert [one.tool_call_id for one in place.harness.session(place.session_id).pending_approvals] == [
        question["tool_call_id"]
    ]
    assert ran(place) == ""


@pytest.mark.threat("T30")
async def test_an_answer_that_comes_too_late_runs_nothing(place):
    """The question has expired; that was its answer."""
    place.configure('{"approval": {"timeoutSeconds": 0.05}, "verify": {"autoVerify": false}}')
    place.model.calls("shell", command=RUN).then_says("nobody came")
    await asyncio.wait_for(place.ask("run"), 10)
    question = data(place.events("approval_requested")[0])

    with pytest.raises(Conflict):
        await place.approve(question["tool_call_id"])
    assert ran(place) == ""


@pytest.mark.threat("T52")
@pytest.mark.parametrize("days", [3, -3], ids=["ahead", "back"])
async def test_a_clock_that_jumps_while_questions_wait_lets_none_expire(place, monkeypatch, days):
    """Also where another one is answered meanwhile, and what is left of the time is looked at again."""
    place.configure('{"approval": {"timeoutSeconds": 60}, "verify": {"autoVerify": false}}')
    place.model.calls("shell", command=RUN).and_calls("shell", command="echo other").then_says("ok")
    posted = await place.say("run")
    await place.heard("approval_requested", 2)
    first, second = map(data, place.events("approval_requested"))
    honest = time.time
    monkeypatch.setattr(time, "time", lambda: honest() + days * 86_400)

    await place.approve(second["tool_call_id"])
    for _ in range(100):
        await asyncio.sleep(0)
    await place.approve(first["tool_call_id"])

    await place.ended(posted)
    assert not place.events("approval_denied")
    assert ran(place) == "ran\n"


@pytest.mark.threat("T30")
async def test_an_answer_after_a_cancel_runs_nothing(place):
    """The turn is over, and so is its question."""
    posted, question = await asked(place)
    await place.cancel()
    await place.ended(posted)

    with pytest.raises(Conflict):
        await place.approve(question["tool_call_id"])
    assert ran(place) == ""


@pytest.mark.threat("T30")
async def test_an_answer_in_another_session_runs_nothing(place):
    """Whoever answers must mean this one."""
    _, question = await asked(place)
    other = await place.harness.create_session(commands.CreateSession())

    answer = commands.Approve(tool_call_id=question["tool_call_id"], action="approve", digest=question["digest"])
    with pytest.raises(NotFound):
        await place.harness.approve(other.id, answer)
    assert ran(place) == ""


@pytest.mark.threat("T30", "T51")
async def test_an_answer_that_was_given_before_a_crash_runs_the_call_once(place):
    """Granted, and the harness stopped when it has run: once. tests/torture/test_approval_kill.py kills for real."""
    posted, question = await asked(place)
    await place.harness.close()
    await place.open()
    await place.approve(question["tool_call_id"])
    await place.until(lambda: ran(place) == "ran\n")
    await place.harness.close()
    place.model = ScriptedModel().says("ok").says("ok")
    await place.open()
    await place.harness.recover()
    await asyncio.wait_for(place.ended(posted), 10)

    assert ran(place) == "ran\n"
    assert len(place.events("tool_call_started")) == 1


async def test_what_cannot_be_remembered_for_a_workspace_is_refused_before_anything_runs(place):
    """A bad answer changes nothing."""
    _, question = await asked(place, "rm -rf build")

    with pytest.raises(Invalid) as refused:
        await place.approve(question["tool_call_id"], remember="workspace")
    assert refused.value.code == "cannot_be_remembered"
    assert place.harness.session(place.session_id).status == "waiting_approval"


async def test_what_destroys_is_approved_once_whatever_was_answered(place):
    """For the session means once; the log says so."""
    posted, question = await asked(place, "rm -f ran.txt")
    await place.approve(question["tool_call_id"], remember="session")
    await place.ended(posted)

    assert data(place.events("approval_granted")[0])["remember"] == "once"
    assert place.harness.grants(place.session_id) == []


async def test_an_answer_says_through_what_it_was_given(place):
    """For those who read along; where it was not told, nothing is said of it."""
    place.model.calls("shell", command="true").calls("shell", command="true").says("Done.")
    posted = await place.say("go", client="tui")
    for number, fields in enumerate(({"client": "web"}, {}), 1):
        request = await place.heard("approval_requested", number)
        await place.approve(request.data.tool_call_id, "deny", **fields)
    await place.ended(posted)

    assert [event.data.client for event in place.events("approval_denied")] == ["web", UNSET]
    assert [message.client for message in place.messages() if message.role == "user"] == ["tui"]


@pytest.mark.threat("T20")
@pytest.mark.parametrize("command", ["echo " + "x" * 10_000, "; ".join(["echo x >> ran.txt"] * 51)])
async def test_where_nobody_can_answer_a_command_too_long_to_read_does_not_run(place, command):
    """Though its first word may run unasked: what cannot be read is asked about, and no answer is a no."""
    rules = [{"tool": "shell", "command": "echo", "verdict": "allow"}]
    settings = {"approval": {"rules": rules, "allowInSandbox": False}, "verify": {"autoVerify": False}}
    place.configure(json.dumps(settings))
    place.model.calls("shell", command=command).then_says("I was not let.")
    turn = await place.ask("run", on_ask="deny")

    assert (turn.status, ran(place)) == ("completed", "")
    assert place.types().count("approval_denied") == 1
    assert "tool_call_started" not in place.types()
