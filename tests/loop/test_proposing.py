"""What was shown is what is done: a change that was asked about is made as it was shown, in part if so answered."""

from __future__ import annotations

import asyncio
import json

import pytest

from agi.errors import Invalid
from agi.models.scripted import Call, ScriptedModel
from agi.protocol.parts import plain_text

LINES = "".join(f"line {number}\n" for number in range(40))
EDITS = {"path": "a.txt", "old_text": "9\n", "new_text": "nine\n", "replace_all": True}
NO_CHECKS = '{"verify": {"autoVerify": false}}'
REVIEWED = '{"approval": {"requireForKinds": []}, "patchReview": {"mode": "request"}, "verify": {"autoVerify": false}}'


def data(event) -> dict:
    return json.loads(event.raw)


def nine(*numbers: int) -> str:
    text = LINES
    for number in numbers:
        text = text.replace(f"line {number}\n", f"line {str(number)[:-1]}nine\n")
    return text


def told(place) -> str:
    """What the model was told about its last call."""
    return plain_text(place.model.requests[-1].messages[-1].parts[0].content.parts)


@pytest.fixture
async def asked(place):
    """An agent asks to change four lines far apart in one file; gives the posted message and the question."""
    place.configure(REVIEWED)
    (place.project / "a.txt").write_text(LINES)
    place.model.calls("edit", **EDITS).then_says("ok")
    posted = await place.say("count in words")
    return posted, data(await place.heard("approval_requested"))


def content(place) -> str:
    return (place.project / "a.txt").read_text()


async def test_a_file_that_changed_after_the_question_is_left_alone(place, asked):
    """The answer was about what was shown; the model is told, and the user's words stay."""
    posted, question = asked
    (place.project / "a.txt").write_text("mine\n" + LINES)

    await place.approve(question["tool_call_id"])
    await place.ended(posted)

    assert content(place) == "mine\n" + LINES
    assert "changed since this change was approved" in told(place)
    assert question["preview_digest"]


async def test_a_change_is_bound_to_what_was_shown_also_after_a_restart(place, asked):
    """Asked, stopped, changed by its user, started, approved: the log still knows what the question was about."""
    posted, question = asked
    await place.harness.close()
    (place.project / "a.txt").write_text(LINES + "mine\n")
    place.model = ScriptedModel().says("ok")
    await place.open()
    await place.harness.recover()

    await place.approve(question["tool_call_id"])
    await asyncio.wait_for(place.ended(posted), 10)

    assert content(place) == LINES + "mine\n"
    assert "changed since this change was approved" in told(place)


async def test_nothing_of_the_kind_hinders_a_change_that_is_as_it_was_shown(place, asked):
    """Also after a restart."""
    posted, question = asked
    await place.harness.close()
    place.model = ScriptedModel().says("ok")
    await place.open()
    await place.harness.recover()

    await place.approve(question["tool_call_id"])
    await asyncio.wait_for(place.ended(posted), 10)

    assert content(place) == nine(9, 19, 29, 39)


async def test_calls_of_one_step_are_shown_one_after_the_other(place):
    """The second is asked about as it would be after the first, and so both can be made."""
    place.configure(NO_CHECKS)
    (place.project / "a.txt").write_text("one\n")
    first = Call("edit", {"path": "a.txt", "old_text": "one", "new_text": "two"})
    second = Call("edit", {"path": "a.txt", "old_text": "two", "new_text": "three"})
    place.model.plays(first, second).then_says("ok")
    posted = await place.say("go")
    await place.heard("approval_requested", 2)
    questions = [data(event) for event in place.events("approval_requested")]

    for question in questions:
        await place.approve(question["tool_call_id"])
    await place.ended(posted)

    assert "-two\n+three\n" in questions[1]["preview"]
    assert content(place) == "three\n"


async def test_a_change_that_was_shown_after_one_that_was_refused_is_not_made(place):
    """It would be another one than was shown."""
    place.configure(NO_CHECKS)
    (place.project / "a.txt").write_text("one\n" * 9 + "two\n")
    first = Call("edit", {"path": "a.txt", "old_text": "one\ntwo", "new_text": "one\nthree"})
    second = Call("edit", {"path": "a.txt", "old_text": "three", "new_text": "four"})
    place.model.plays(first, second).then_says("ok")
    posted = await place.say("go")
    await place.heard("approval_requested", 2)
    questions = [data(event) for event in place.events("approval_requested")]

    await place.approve(questions[0]["tool_call_id"], "deny")
    await place.approve(questions[1]["tool_call_id"])
    await place.ended(posted)

    assert content(place) == "one\n" * 9 + "two\n"
    assert not data(place.events("tool_call_completed")[1])["tool_result"]["ok"]


async def test_what_is_written_unasked_before_it_is_part_of_what_is_shown(place):
    """A rule lets the first call write; the second one is shown on top of it."""
    rule = {"tool": "write_file", "path": "a.txt", "verdict": "allow"}
    place.configure(json.dumps({"approval": {"rules": [rule]}, "verify": {"autoVerify": False}}))
    first = Call("write_file", {"path": "a.txt", "content": "one\n"})
    second = Call("edit", {"path": "a.txt", "old_text": "one", "new_text": "two"})
    place.model.plays(first, second).then_says("ok")
    posted = await place.say("go")
    question = data(await place.heard("approval_requested"))

    await place.approve(question["tool_call_id"])
    await place.ended(posted)

    assert "-one\n+two\n" in question["preview"]
    assert content(place) == "two\n"


async def test_what_was_asked_once_waits_for_its_answer_whatever_the_rules_say_later(place):
    """Rules that were loosened while the process was away do not answer an open question."""
    place.configure(NO_CHECKS)
    place.model.calls("write_file", path="a.txt", content="x\n").then_says("ok")
    posted = await place.say("go")
    question = data(await place.heard("approval_requested"))
    await place.harness.close()
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}}')
    place.model = ScriptedModel().says("ok")
    await place.open()
    await place.harness.recover()
    await place.heard("turn_resumed")

    await place.approve(question["tool_call_id"], "deny")
    await asyncio.wait_for(place.ended(posted), 10)

    assert not (place.project / "a.txt").exists()


async def test_a_question_lists_the_hunks_of_the_change(place, asked):
    """In the log, and in what waits of the session."""
    _, question = asked
    (pending,) = place.harness.session(place.session_id).pending_approvals

    assert [hunk["id"] for hunk in question["hunks"]] == ["h1", "h2", "h3", "h4"]
    assert question["hunks"][1]["header"] == "@@ -17,7 +17,7 @@"
    assert "-line 19\n+line 1nine\n" in question["hunks"][1]["diff"]
    assert [(hunk.id, hunk.path) for hunk in pending.hunks] == [(f"h{n}", "a.txt") for n in range(1, 5)]
    assert pending.preview_digest == question["preview_digest"]


async def test_only_accepted_hunks_are_made_and_the_model_is_told_which(place, asked):
    """Which were made, which were refused, and why; the log has it too."""
    posted, question = asked

    await place.approve(question["tool_call_id"], hunks=("h4", "h1", "h1"), reason="only the outer ones")
    await place.ended(posted)

    assert content(place) == nine(9, 39)
    assert data(place.events("approval_granted")[0])["hunks"] == ["h1", "h4"]
    result = data(place.events("tool_call_completed")[0])["tool_result"]
    assert [one["id"] for one in result["result"]["accepted"]] == ["h1", "h4"]
    assert [one["header"] for one in result["result"]["refused"]] == ["@@ -17,7 +17,7 @@", "@@ -27,7 +27,7 @@"]
    assert "+line nine" in result["artifact"]["patch"]
    assert "1nine" not in result["artifact"]["patch"]
    assert "2 of 4 hunks" in told(place)
    assert "refused: a.txt @@ -17,7 +17,7 @@" in told(place)
    assert "The reason given: only the outer ones" in told(place)


async def test_accepting_every_hunk_is_accepting_the_change(place, asked):
    """Nothing is said about parts then."""
    posted, question = asked

    await place.approve(question["tool_call_id"], hunks=("h1", "h2", "h3", "h4"))
    await place.ended(posted)

    assert content(place) == nine(9, 19, 29, 39)
    assert "hunks" not in data(place.events("approval_granted")[0])
    assert told(place).startswith("Edited a.txt at lines 10, 20, 30, 40")


async def test_accepted_hunks_survive_a_restart_and_are_bound_as_well(place, asked):
    """Answered while nobody runs it: the part that was accepted is made, and of no other file."""
    posted, question = asked
    await place.harness.close()
    place.model = ScriptedModel().says("ok")
    await place.open()
    await place.approve(question["tool_call_id"], hunks=("h2",))
    await asyncio.wait_for(place.ended(posted), 10)

    assert content(place) == nine(19)


async def test_hunks_of_a_file_that_changed_since_are_not_made(place, asked):
    """Not even those that would still fit."""
    posted, question = asked
    (place.project / "a.txt").write_text(LINES + "mine\n")

    await place.approve(question["tool_call_id"], hunks=("h1",))
    await place.ended(posted)

    assert content(place) == LINES + "mine\n"


async def test_of_several_files_what_was_accepted_is_made_together(place):
    """A new file and a deletion are one hunk each; a part is all or nothing as well."""
    place.configure(REVIEWED)
    (place.project / "a.txt").write_text("one\n")
    (place.project / "gone.txt").write_text("old\n")
    update = ("*** Update File: a.txt", "@@", "-one", "+two")
    others = ("*** Add File: new.txt", "+new", "*** Delete File: gone.txt")
    place.model.calls("apply_patch", patch="\n".join(["*** Begin Patch", *update, *others, "*** End Patch"]))
    place.model.says("ok")
    posted = await place.say("go")
    question = data(await place.heard("approval_requested"))

    headers = {hunk["header"]: hunk["id"] for hunk in question["hunks"]}
    await place.approve(question["tool_call_id"], hunks=(headers["new file"], headers["@@ -1,1 +1,1 @@"]))
    await place.ended(posted)

    assert content(place) == "two\n"
    assert (place.project / "new.txt").read_text() == "new\n"
    assert (place.project / "gone.txt").read_text() == "old\n"
    assert "refused: gone.txt deleted" in told(place)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"hunks": ("h9",)}, "no hunk 'h9'"),
        ({"hunks": ("h1", "")}, "no hunk ''"),
        ({"hunks": ()}, "which is a refusal"),
        ({"hunks": ("h1",), "action": "deny"}, "about the whole call"),
        ({"hunks": ("h1",), "remember": "session"}, "cannot be remembered"),
    ],
)
async def test_an_answer_about_hunks_that_cannot_be_meant_changes_nothing(place, asked, fields, says):
    """The question stays, and can be answered rightly."""
    _, question = asked

    with pytest.raises(Invalid, match=says) as refused:
        await place.approve(question["tool_call_id"], **fields)

    assert refused.value.code == "hunks_invalid"
    assert place.harness.session(place.session_id).status == "waiting_approval"
    assert content(place) == LINES


async def test_a_call_without_hunks_is_answered_as_a_whole(place):
    """Commands have none."""
    place.configure(NO_CHECKS)
    place.model.calls("shell", command="touch made").then_says("ok")
    await place.say("go")
    question = data(await place.heard("approval_requested"))

    with pytest.raises(Invalid, match="not asked about in hunks"):
        await place.approve(question["tool_call_id"], hunks=("h1",))

    assert question["hunks"] == []
    assert not (place.project / "made").exists()


async def test_an_answer_for_the_session_to_a_review_is_for_this_change_only(place, asked):
    """Patches are reviewed each time, and nothing else becomes free by it."""
    posted, question = asked

    await place.approve(question["tool_call_id"], remember="session")
    await place.ended(posted)

    assert data(place.events("approval_granted")[0])["remember"] == "once"
    assert place.harness.grants(place.session_id) == []
