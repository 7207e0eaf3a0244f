"""How one turn goes: seed 000's eight steps, with a scripted model and everything else real."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from types import SimpleNamespace

import msgspec

from agi.errors import ModelError
from agi.loop import turn as turn_room
from agi.models.base import ModelRequest
from agi.models.scripted import Call, Say, Stop, Think
from agi.protocol.commands import PostMessage
from agi.protocol.messages import Usage
from agi.protocol.parts import Image, Text, ToolResultPart
from agi.sessions import approvals, runner
from agi.testing.files import picture


def told(request: ModelRequest) -> list[str]:
    """The tool results a request carries, as text."""
    return [
        "".join(piece.text for piece in part.content.parts if isinstance(piece, Text))
        for message in request.messages
        for part in message.parts
        if isinstance(part, ToolResultPart)
    ]


def data(event) -> dict:
    return json.loads(event.raw)


async def test_a_question_is_answered_in_one_turn(place):
    """The message, the turn, the answer and the session's end are in the log, in that order."""
    place.model.says("Forty-two.")

    turn = await place.ask("What is it?")

    assert turn.status == "completed"
    assert place.answer() == "Forty-two."
    assert [kind for kind in place.types() if kind != "session_updated"] == [
        "session_created",
        "message_added",
        "turn_started",
        "context_assembled",
        "model_output_delta",
        "model_output_completed",
        "usage_recorded",
        "turn_completed",
        "session_completed",
    ]


async def test_a_read_runs_unasked_and_its_result_is_fed_back(place):
    """A read-only call needs nobody's word; the model sees what it found."""
    (place.project / "notes.txt").write_text("the answer is blue\n")
    place.model.calls("read_file", path="notes.txt").then_says("Blue.")

    await place.ask("Which colour?")

    assert place.answer() == "Blue."
    assert "approval_requested" not in place.types()
    assert "the answer is blue" in told(place.model.requests[1])[0]


async def test_reads_of_one_step_run_side_by_side_and_answer_in_order(place):
    """All three are started before one is completed; results stand in the order of the calls."""
    for name in "abc":
        (place.project / f"{name}.txt").write_text(f"text of {name}\n")
    place.model.plays(*(Call("read_file", {"path": f"{name}.txt"}) for name in "abc")).then_says("done")

    await place.ask("read")

    calls = [event.type for event in place.events("tool_call_started", "tool_call_completed")]
    assert calls == ["tool_call_started"] * 3 + ["tool_call_completed"] * 3
    assert [f"text of {name}" in result for name, result in zip("abc", told(place.model.requests[1]), strict=True)] == [
        True,
        True,
        True,
    ]


async def test_a_refused_call_is_told_to_the_model_and_the_turn_goes_on(place):
    """A refusal is an answer: the model sees it and may choose another way."""
    (place.project / "notes.txt").write_text("keep me")
    place.model.calls("shell", command="rm notes.txt").then_says("I left it alone.")
    posted = await place.say("tidy up")
    request = await place.heard("approval_requested")

    await place.approve(data(request)["tool_call_id"], "deny", reason="keep my notes")
    await place.ended(posted)

    assert place.answer() == "I left it alone."
    assert (place.project / "notes.txt").exists()
    assert "keep my notes" in told(place.model.requests[1])[0]
    assert data(place.events("approval_denied")[0])["cause"] == "user"
    assert "tool_call_started" not in place.types()


async def test_an_approved_write_happens_once_and_only_after_the_answer(place):
    """Nothing is written while the question is open."""
    place.model.calls("write_file", path="new.txt", content="hello\n").then_says("Written.")
    posted = await place.say("write it")
    request = await place.heard("approval_requested")
    assert not (place.project / "new.txt").exists()
    assert place.harness.session(place.session_id).status == "waiting_approval"

    await place.approve(data(request)["tool_call_id"])
    await place.ended(posted)

    assert (place.project / "new.txt").read_text() == "hello\n"
    order = [kind for kind in place.types() if kind.startswith(("approval", "tool_call"))]
    assert order == ["approval_requested", "approval_granted", "tool_call_started", "tool_call_completed"]


async def test_a_tool_the_agent_does_not_have_is_a_clear_result_and_never_runs(place):
    """`plan` may not write: no question is asked and nothing is touched."""
    await place.start(agent="plan")
    place.model.calls("write_file", path="x.txt", content="no").then_says("I may not write.")

    await place.ask("write")

    assert not (place.project / "x.txt").exists()
    assert "not among this agent's tools" in told(place.model.requests[1])[0]
    completed = data(place.events("tool_call_completed")[0])
    assert completed["blocked"] is True
    assert completed["tool_result"]["ok"] is False
    offered = {tool.name for tool in place.model.requests[0].tools}
    assert "write_file" not in offered
    assert "read_file" in offered


async def test_malformed_calls_go_back_to_the_model_with_the_cause(place):
    """Unknown tools, arguments that are no JSON or no object: each gets a result that names what is wrong."""
    place.model.plays(
        Call("no_such_tool", {}),
        Call("read_file", "{not json"),
        Call("read_file", "[1]"),
        Call("read_file", {"path": 7}),
    ).then_says("sorry")

    await place.ask("go")

    results = told(place.model.requests[1])
    assert "no tool named 'no_such_tool'" in results[0]
    assert "JSON" in results[1]
    assert "JSON object" in results[2]
    assert "does not fit its schema" in results[3]
    assert place.answer() == "sorry"


async def test_deeply_nested_arguments_are_an_error_result(place):
    """Two hundred thousand brackets neither crash the turn nor run anything."""
    place.model.plays(Call("read_file", "[" * 200_000)).then_says("oh")

    turn = await place.ask("go")

    assert turn.status == "completed"
    assert "JSON" in told(place.model.requests[1])[0]


async def test_the_step_limit_ends_the_turn_with_max_steps(place):
    """Not one more request leaves after the limit; the work done is kept."""
    place.configure('{"agents": {"build": {"maxSteps": 3}}}')
    (place.project / "a.txt").write_text("a")
    for _ in range(5):
        place.model.calls("read_file", path="a.txt")

    turn = await place.ask("loop")

    assert turn.status == "completed"
    assert json.loads(turn.outcome)["stop_reason"] == "max_steps"
    assert len(place.model.requests) == 3


async def test_a_budget_of_steps_stops_before_the_next_request(place):
    """With the budget used up the turn ends as budget_exhausted."""
    place.configure('{"budget": {"perTurn": {"steps": 2}}}')
    (place.project / "a.txt").write_text("a")
    for _ in range(5):
        place.model.calls("read_file", path="a.txt")

    turn = await place.ask("loop")

    assert json.loads(turn.outcome)["stop_reason"] == "budget_exhausted"
    assert len(place.model.requests) == 2


async def test_a_provider_that_fails_fails_the_turn_and_what_it_said_is_kept_apart(place):
    """Half an answer is in the log as an error, the turn as failed, and the session can go on."""
    place.model.plays(Say("Half an ans")).fails(ModelError("The provider hung up.", code="stream_cut"))
    turn = await place.ask("one")
    assert turn.status == "completed"

    failed = await place.ask("two")

    assert failed.status == "failed"
    assert json.loads(failed.outcome)["error"]["code"] == "stream_cut"
    assert place.types()[-2:] == ["turn_failed", "session_failed"]
    place.model.says("better now")
    assert (await place.ask("three")).status == "completed"


async def test_reasoning_and_text_are_parts_of_their_own(place):
    """Each kind has its own part, offsets from zero, and deltas that add up to it."""
    place.model.plays(Think("hmm, well"), Say("Yes."))

    await place.ask("?")

    kinds = [data(event)["kind"] for event in place.events("model_output_delta")]
    assert kinds == ["reasoning", "text"]
    parts = place.messages()[-1].parts
    assert [type(part).__name__ for part in parts] == ["Reasoning", "Text"]


async def test_verification_runs_after_a_write_and_its_failure_is_given_back(place):
    """The command fails, the model is told the output, mends it, and the second run passes."""
    (place.project / "Makefile").write_text("test:\n\t@test -f good.txt || (echo no good.txt here; exit 7)\n")
    place.configure('{"approval": {"requireForKinds": []}}')
    place.model.calls("write_file", path="bad.txt", content="x").then_says("Done.")
    place.model.calls("write_file", path="good.txt", content="x").then_says("Mended.")

    turn = await place.ask("make it good")

    outcomes = [one for event in place.events("verification_completed") if not (one := data(event))["baseline"]]
    assert [(one["command"], one["status"]) for one in outcomes] == [("make test", "failed"), ("make test", "passed")]
    assert "no good.txt here" in outcomes[0]["output"]
    complaint = place.model.requests[2].messages[-1]
    assert "no good.txt here" in complaint.parts[0].text
    assert json.loads(turn.outcome)["verification"] == "verified"
    assert place.answer() == "Mended."


async def test_patch_review_on_request_shows_the_patch_and_waits(place):
    """Even where writes need no approval, a reviewed patch waits for a person."""
    place.configure('{"approval": {"requireForKinds": []}, "patchReview": {"mode": "request"}}')
    place.model.calls("write_file", path="b.txt", content="new line\n").then_says("ok")
    posted = await place.say("write")

    proposed = data(await place.heard("patch_proposed"))
    request = data(await place.heard("approval_requested"))
    assert "+new line" in proposed["patch"]
    assert not (place.project / "b.txt").exists()
    await place.approve(request["tool_call_id"])
    await place.ended(posted)

    assert (place.project / "b.txt").read_text() == "new line\n"


async def test_where_nobody_can_be_asked_calls_are_refused_at_once_by_policy(place):
    """`on_ask: deny` never waits: the question and its refusal are in the log, and the model goes on."""
    place.model.calls("shell", command="echo hi").then_says("I could not run it.")

    turn = await asyncio.wait_for(place.ask("run", on_ask="deny"), 10)

    assert turn.status == "completed"
    denial = data(place.events("approval_denied")[0])
    assert denial["cause"] == "policy"
    assert place.answer() == "I could not run it."


async def test_every_request_pairs_calls_and_results_and_keeps_its_prefix(place):
    """What a provider is told only grows at the end, so that its cache holds."""
    for number in range(20):
        (place.project / f"{number}.txt").write_text(f"{number}")
        place.model.calls("read_file", path=f"{number}.txt")
    place.model.says("done")

    await place.ask("go")

    sent = [[msgspec.json.encode(message) for message in request.messages] for request in place.model.requests]
    for before, after in itertools.pairwise(sent):
        assert after[: len(before)] == before
    heads = [msgspec.json.encode((request.system, request.tools)) for request in place.model.requests]
    assert len(set(heads)) == 1
    assert len(heads) == 21


async def test_time_spent_waiting_for_a_person_counts_for_no_budget(place, monkeypatch):
    """A question that stays open longer than the budget of seconds does not end the turn."""
    passed, looked = 0.0, []
    clock = SimpleNamespace(time=time.time, monotonic=lambda: time.monotonic() + passed)
    for room in (turn_room, runner):
        monkeypatch.setattr(room, "time", clock)
    waiting = SimpleNamespace(time=time.time, monotonic=lambda: looked.append(1) or clock.monotonic())
    monkeypatch.setattr(approvals, "time", waiting)
    place.configure('{"budget": {"perTurn": {"seconds": 60}}, "verify": {"autoVerify": false}}')
    place.model.calls("shell", command="true").then_says("done")
    posted = await place.say("run")
    request = await place.heard("approval_requested")
    await place.until(lambda: bool(looked))  # the question is in the log a moment before the turn waits
    passed = 1000.0

    await place.approve(data(request)["tool_call_id"])
    turn = await place.ended(posted)

    assert json.loads(turn.outcome)["stop_reason"] == "end_turn"
    assert json.loads(turn.outcome)["seconds"] < 60


async def test_where_a_sandbox_is_required_and_there_is_none_no_command_runs(place, no_sandbox):
    """Not approved, not granted, not as verification: it fails closed."""
    place.configure('{"sandbox": {"mode": "require"}, "approval": {"requireForKinds": []}}')
    (place.project / "Makefile").write_text("test:\n\t@touch ran.txt\n")
    place.model.plays(Call("shell", {"command": "touch ran.txt"}), Call("verify", {}))
    place.model.calls("write_file", path="a.txt", content="a").then_says("ok")

    await place.ask("run")

    assert not (place.project / "ran.txt").exists()
    assert "sandbox" in told(place.model.requests[1])[0]
    assert data(place.events("verification_completed")[0])["status"] == "not_run"


async def test_a_question_about_a_write_shows_the_change(place):
    """Replacing a file looks like replacing a file: the diff is in the question."""
    (place.project / "a.txt").write_text("one\ntwo\nthree\n")
    place.model.calls("write_file", path="a.txt", content="one\nTWO\nthree\n").then_says("ok")
    await place.say("write")

    preview = data(await place.heard("approval_requested"))["preview"]

    assert "--- a/a.txt" in preview
    assert "-two\n+TWO\n" in preview
    assert place.harness.session(place.session_id).pending_approvals[0].preview == preview


async def test_the_model_is_given_what_is_attached(place):
    """The bytes go with the request, by ref; a file that is gone is spoken of."""
    added = await place.harness.add_attachment(place.session_id, "p.png", "image/png", picture())
    gone = await place.harness.add_attachment(place.session_id, "q.png", "image/png", picture(seed=1))
    place.model.says("two pictures")
    parts = [Image(ref=one.ref, mime_type="image/png") for one in (added, gone)]
    await place.ended(await place.harness.post_message(place.session_id, PostMessage(parts=parts)))
    (place.harness.session_folder(place.session_id) / gone.ref).unlink(missing_ok=False)
    place.model.says("a picture")
    await place.ask("what is it?")

    first, second = place.model.requests
    assert first.files.keys() == {added.ref, gone.ref}
    assert second.files == {added.ref: first.files[added.ref]}
    assert second.messages[0].parts[1] == Text(text="[q.png was attached; its file is not there any more]")


async def test_a_call_that_was_cut_off_by_its_length_is_told_so_and_made_again(place):
    """Half a file is not written; the model learns why, and not that its JSON is wrong."""
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}}')
    place.model.plays(Call("write_file", '{"path": "a.txt", "content": "half of i'), Stop("max_tokens"))
    place.model.calls("write_file", path="a.txt", content="less").then_says("done")

    await place.ask("write")

    assert "limit of its length" in told(place.model.requests[1])[0]
    assert "several pieces" in told(place.model.requests[1])[0]
    assert (place.project / "a.txt").read_text() == "less"


async def test_a_whole_call_before_the_one_that_was_cut_off_is_run(place):
    """Only what is cut is lost."""
    (place.project / "a.txt").write_text("blue\n")
    place.model.plays(Call("read_file", {"path": "a.txt"}), Call("read_file", '{"path": "b.t'), Stop("max_tokens"))
    place.model.says("done")

    await place.ask("read")

    first, second = told(place.model.requests[1])
    assert "blue" in first
    assert "limit of its length" in second


async def test_an_answer_of_nothing_at_all_ends_the_turn(place):
    """Whatever the provider meant by it, it is not asked for ever."""
    place.model.plays(Stop())

    turn = await place.ask("?")

    assert json.loads(turn.outcome)["stop_reason"] == "end_turn"
    assert len(place.model.requests) == 1


async def test_a_retry_of_an_answer_that_was_cut_off_asks_to_go_on(place):
    """The model has its own words before it, and the last word is the user's, as some providers want it."""
    place.configure('{"budget": {"perTurn": {"tokens": 5000}}}')
    place.model.plays(Say("The first half"), Stop("max_tokens", Usage(input_tokens=1000, output_tokens=500)))
    place.model.says("and the second.")
    cut = await place.ask("tell me all")

    turn = await place.ended(await place.harness.retry(place.session_id, cut.id))

    assert turn.status == "completed"
    roles = [(message.role, message.origin) for message in place.model.requests[1].messages]
    assert roles == [("user", ""), ("assistant", ""), ("user", "go_on")]
    assert "cut off" in place.model.requests[1].messages[-1].parts[0].text
