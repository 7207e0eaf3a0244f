"""A preflight: steps are proposed, judged and approved before anything runs, and what was approved binds."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest

from agi.errors import ModelError
from agi.loop.preflight import QUESTION
from agi.models.scripted import Call, Say, ScriptedModel, Stop, Wait
from agi.protocol.commands import EditedStep, ResolvePreflight
from agi.protocol.events import PreflightResolved
from agi.protocol.messages import Usage
from agi.protocol.parts import plain_text
from agi.sessions.preflights import give_answer, pending_at

QUIET = '{"verify": {"autoVerify": false}}'


def data(event) -> dict[str, Any]:
    return json.loads(event.raw)


def proposal(*steps: dict[str, str]) -> str:
    return json.dumps({"steps": list(steps)})


def step(description: str, tool: str = "", target: str = "") -> dict[str, str]:
    told = {"description": description, "toolName": tool, "target": target}
    return {name: text for name, text in told.items() if text}


async def checklist(place) -> dict[str, Any]:
    return data(await place.heard("preflight_requested"))


async def resolve(place, posted, **fields: object):
    command = ResolvePreflight(**{"approved": True, **fields})  # type: ignore[arg-type]
    return await place.harness.resolve_preflight(place.session_id, posted.turn_id, command)


def asked(place) -> list[str]:
    """The calls somebody was asked about, by tool."""
    return [data(event)["name"] for event in place.events("approval_requested")]


def started(place) -> list[tuple[str, str]]:
    found = [data(event) for event in place.events("tool_call_started")]
    return [(one["tool_call"]["name"], one.get("preflight_step", "")) for one in found]


async def test_nothing_runs_before_the_plan_is_approved(place):
    """The proposal is one call, its answer becomes the checklist, and the session waits for a person."""
    place.configure(QUIET)
    place.model.says(proposal(step("Write it.", "write_file", "a.txt"), step("Tell what was done.")))

    posted = await place.say("write a", preflight=True)
    found = await checklist(place)

    session = place.harness.session(place.session_id)
    assert (session.status, session.activity) == ("waiting_approval", "waiting_approval")
    assert session.pending_preflight is not None
    assert session.pending_preflight.turn_id == posted.turn_id
    assert found["steps"] == [
        {
            "id": "step_1",
            "description": "Write it.",
            "tool_name": "write_file",
            "target": "a.txt",
            "risk": "medium",
            "needs_approval": True,
        },
        {"id": "step_2", "description": "Tell what was done.", "risk": "low", "needs_approval": False},
    ]
    assert found["required_permissions"] == ["write files"]
    assert len(place.model.requests) == 1
    assert plain_text(place.model.requests[0].messages[-1].parts) == QUESTION
    assert place.model.requests[0].options["schema"]["required"] == ["steps"]
    assert "tool_call_started" not in place.types()


async def test_listed_steps_run_unasked_and_the_model_is_told_the_plan(place):
    """What was approved is not asked about again; the proposal itself is no part of the conversation."""
    place.configure(QUIET)
    place.model.says(proposal(step("Write it.", "write_file", "a.txt"), step("Say hi.", "shell", "echo hi")))
    place.model.calls("write_file", path="a.txt", content="A\n").and_calls("shell", command="echo hi")
    place.model.says("Done.")

    posted = await place.say("go", preflight=True)
    await checklist(place)
    await resolve(place, posted, reason="Be quick.")
    turn = await place.ended(posted)

    assert turn.status == "completed"
    assert asked(place) == []
    assert started(place) == [("write_file", "step_1"), ("shell", "step_2")]
    assert (place.project / "a.txt").read_text() == "A\n"
    told = place.model.requests[1].messages
    assert [message.role for message in told] == ["user", "user"]
    assert "1. Write it. (write_file a.txt)" in plain_text(told[1].parts)
    assert "The user said: Be quick." in plain_text(told[1].parts)
    assert [one.origin for one in place.messages() if one.origin] == ["preflight"]
    assert place.answer() == "Done."


@pytest.mark.parametrize(
    ("listed", "call"),
    [
        pytest.param(step("x", "write_file", "a.txt"), ("write_file", {"path": "b.txt", "content": ""}), id="path"),
        pytest.param(step("x", "shell", "echo hi"), ("shell", {"command": "echo ho"}), id="command"),
        pytest.param(step("x", "shell", "echo hi"), ("shell", {"command": "echo hi", "cwd": "src"}), id="folder"),
        pytest.param(step("x", "shell", "echo hi"), ("shell", {"command": "echo hi; echo ho"}), id="more"),
        pytest.param(step("x", "shell"), ("shell", {"command": "echo hi"}), id="no command named"),
        pytest.param(step("x", "shell", "rm -r ."), ("shell", {"command": "rm -r ."}), id="destroys"),
        pytest.param(step("x", "shell", "eval $X"), ("shell", {"command": "eval $X"}), id="unreadable"),
        pytest.param(step("x", "write_file"), ("shell", {"command": "echo hi"}), id="another tool"),
        pytest.param(step("x", "write_file"), ("write_file", {"path": ".git/config", "content": ""}), id="protected"),
        pytest.param(
            step("x", "write_file", ".agi/config.json"),
            ("write_file", {"path": ".agi/config.json", "content": "{}"}),
            id="protected by name",
        ),
        pytest.param(step("x", "web_fetch"), ("web_fetch", {"url": "http://127.0.0.1:1/"}), id="no address named"),
        pytest.param(step("x"), ("write_file", {"path": "a.txt", "content": ""}), id="no tool named"),
        pytest.param(step("x", "no_such"), ("write_file", {"path": "a.txt", "content": ""}), id="unknown tool"),
    ],
)
async def test_a_call_that_is_not_what_was_approved_asks(place, listed, call):
    """Another file, another command, another tool, or what destroys: each is asked about as if there were no plan."""
    place.configure(QUIET)
    name, arguments = call
    place.model.says(proposal(listed)).plays(Call(name, arguments)).says("Well.")

    posted = await place.say("go", preflight=True)
    await checklist(place)
    await resolve(place, posted)
    request = data(await place.heard("approval_requested"))

    assert request["name"] == name
    assert "tool_call_started" not in place.types()
    await place.approve(request["tool_call_id"], "deny")
    await place.ended(posted)
    assert started(place) == []


async def test_a_step_lets_one_call_run_and_no_second(place):
    """Two writes in one answer, one step: the first runs, the second asks; and so does one that comes later."""
    place.configure(QUIET)
    place.model.says(proposal(step("Write.", "fs.write")))
    place.model.calls("write_file", path="a.txt", content="A").and_calls("write_file", path="b.txt", content="B")
    place.model.calls("write_file", path="c.txt", content="C").says("Done.")

    posted = await place.say("go", preflight=True)
    await checklist(place)
    await resolve(place, posted)
    for count in (1, 2):
        request = data(await place.heard("approval_requested", count))
        await place.approve(request["tool_call_id"], "deny")
    await place.ended(posted)

    assert started(place) == [("write_file", "step_1")]
    assert asked(place) == ["write_file", "write_file"]
    assert sorted(path.name for path in place.project.glob("*.txt")) == ["a.txt"]


async def test_a_refused_plan_ends_the_turn_and_nothing_ran(place):
    """The turn is canceled, and says why."""
    place.model.says(proposal(step("Write.", "write_file", "a.txt")))

    posted = await place.say("go", preflight=True)
    await checklist(place)
    await resolve(place, posted, approved=False, reason="not now")
    turn = await place.ended(posted)

    assert turn.status == "canceled"
    assert data(place.events("turn_canceled")[0])["reason"] == "The plan was not approved. The reason given: not now"
    assert data(place.events("preflight_resolved")[0])["cause"] == "user"
    assert place.types()[-2:] == ["turn_canceled", "session_canceled"]
    assert len(place.model.requests) == 1


async def test_a_plan_nobody_answers_expires(place):
    """As any question does; a time-out is never told as a person's refusal."""
    place.model.says(proposal(step("Write.", "write_file", "a.txt")))

    turn = await place.ask("go", preflight=True, approval_timeout_s=0.01)

    assert turn.status == "canceled"
    resolved = data(place.events("preflight_resolved")[0])
    assert (resolved["approved"], resolved["cause"]) == (False, "expired")
    assert "in time" in data(place.events("turn_canceled")[0])["reason"]


async def test_where_nobody_can_be_asked_the_plan_is_shown_and_refused(place):
    """`on_ask: deny`: the checklist is in the log, and the turn ends by policy."""
    place.model.says(proposal(step("Write.", "write_file", "a.txt")))

    turn = await place.ask("go", preflight=True, on_ask="deny")

    assert turn.status == "canceled"
    assert len(place.events("preflight_requested")) == 1
    assert data(place.events("preflight_resolved")[0])["cause"] == "policy"


async def test_canceling_the_turn_closes_the_question(place):
    """Nothing stays pending."""
    place.model.says(proposal(step("Write.", "write_file", "a.txt")))
    posted = await place.say("go", preflight=True)
    await checklist(place)

    await place.cancel()
    turn = await place.ended(posted)

    assert turn.status == "canceled"
    assert data(place.events("preflight_resolved")[0])["cause"] == "canceled"
    assert place.harness.session(place.session_id).pending_preflight is None


async def test_a_proposal_that_cannot_be_read_is_mended_once(place):
    """The model is told what is wrong, and what it says then counts."""
    place.configure(QUIET)
    place.model.says("First I will look around.").says(proposal(step("Look.", "repo_tree")))

    await place.say("go", preflight=True)
    found = await checklist(place)

    assert [one["tool_name"] for one in found["steps"]] == ["repo_tree"]
    complaint = plain_text(place.model.requests[1].messages[-1].parts)
    assert "It is not JSON" in complaint
    assert '"steps"' in complaint


async def test_without_readable_steps_the_checklist_says_so_and_everything_asks(place):
    """Also a model that calls tools in the place of a plan runs nothing by that."""
    place.configure(QUIET)
    place.model.calls("write_file", path="x.txt", content="x").says("No.")
    place.model.calls("write_file", path="a.txt", content="A").says("Done.")

    posted = await place.say("go", preflight=True)
    found = await checklist(place)
    assert found["steps"] == []
    assert found["warnings"][0].startswith("The model proposed no steps that can be read")
    assert "tool_call_started" not in place.types()

    await resolve(place, posted)
    request = data(await place.heard("approval_requested"))
    await place.approve(request["tool_call_id"])
    await place.ended(posted)
    assert started(place) == [("write_file", "")]


async def test_a_provider_without_schemas_is_asked_by_a_tool(place):
    """The steps come as a call to the tool made for the answer."""
    place.model.schema_native = False
    place.model.calls("final_answer", steps=[step("Look.", "repo_tree")])

    await place.say("go", preflight=True)
    found = await checklist(place)

    assert [one["tool_name"] for one in found["steps"]] == ["repo_tree"]
    assert "final_answer" in {tool.name for tool in place.model.requests[0].tools}


async def test_a_provider_that_fails_fails_the_turn(place):
    """As it would without a plan; the turn can be retried."""
    place.model.fails(ModelError("No.", code="refused_by_test"))

    turn = await place.ask("go", preflight=True)

    assert turn.status == "failed"
    assert "preflight_requested" not in place.types()


async def test_the_turns_own_schema_holds_for_the_answer_and_not_for_the_plan(place):
    """Each has its own."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    place.model.says(proposal(step("Count."))).says('{"n": 3}')

    posted = await place.say("count", preflight=True, options={"schema": schema})
    await checklist(place)
    await resolve(place, posted)
    await place.ended(posted)

    assert [request.options["schema"]["required"] for request in place.model.requests] == [["steps"], ["n"]]
    assert data(place.events("turn_completed")[0])["output"] == {"n": 3}


async def test_a_limit_is_looked_at_before_proposing(place):
    """A budget that allows no call allows no plan either."""
    place.configure('{"budget": {"tokens": 1}}')

    turn = await place.ask("go", preflight=True)

    assert turn.stop_reason == "budget_exhausted"
    assert place.model.requests == []


async def test_what_proposing_cost_is_recorded(place):
    """It counts like any other call, but is no step of the agent."""
    usage = Usage(input_tokens=1000, output_tokens=50, requests=1)
    place.model.plays(Say(proposal(step("Say it."))), Stop("end_turn", usage)).says("Done.")

    posted = await place.say("go", preflight=True)
    await checklist(place)
    assert place.harness.session(place.session_id).usage.input_tokens == 1000
    await resolve(place, posted)
    await place.ended(posted)

    assert data(place.events("turn_completed")[0])["steps"] == 1


async def test_a_patch_that_must_be_reviewed_is_shown_all_the_same(place):
    """`patchReview.mode: request`: the plan says what, the review sees how."""
    place.configure('{"verify": {"autoVerify": false}, "patchReview": {"mode": "request"}}')
    place.model.says(proposal(step("Write.", "write_file", "a.txt")))
    place.model.calls("write_file", path="a.txt", content="A\n").says("Done.")

    posted = await place.say("go", preflight=True)
    found = await checklist(place)
    assert any("is asked about again" in warning for warning in found["warnings"])
    await resolve(place, posted)
    request = data(await place.heard("approval_requested"))
    await place.approve(request["tool_call_id"])
    await place.ended(posted)

    assert request["rule"] == "patch_review"
    assert started(place) == [("write_file", "step_1")]


async def test_a_rule_that_asks_is_answered_only_by_a_step_that_names_the_file(place):
    """A plan that says just `write_file` does not speak for what somebody set a rule about."""
    rules = [{"tool": "write_file", "verdict": "ask", "path": "docs/**"}]
    place.configure(json.dumps({"verify": {"autoVerify": False}, "approval": {"rules": rules}}))
    place.model.says(proposal(step("A.", "write_file"), step("B.", "write_file", "docs/b.md")))
    place.model.calls("write_file", path="docs/b.md", content="B").then_calls(
        "write_file", path="docs/c.md", content="C"
    ).says("Done.")

    posted = await place.say("go", preflight=True)
    await checklist(place)
    await resolve(place, posted)
    request = data(await place.heard("approval_requested"))
    await place.approve(request["tool_call_id"], "deny")
    await place.ended(posted)

    assert request["rule"] == "rule:ask"
    assert started(place) == [("write_file", "step_2")]


async def test_what_is_denied_stays_denied(place):
    """A plan allows nothing that a rule forbids; the checklist says so before."""
    rules = [{"tool": "write_file", "verdict": "deny", "path": "secret/**"}]
    place.configure(json.dumps({"verify": {"autoVerify": False}, "approval": {"rules": rules}}))
    place.model.says(proposal(step("A.", "write_file", "secret/a")))
    place.model.calls("write_file", path="secret/a", content="A").says("I may not.")

    posted = await place.say("go", preflight=True)
    found = await checklist(place)
    await resolve(place, posted)
    await place.ended(posted)

    assert any("step_1 will be refused" in warning for warning in found["warnings"])
    assert started(place) == []
    assert data(place.events("tool_call_completed")[0])["blocked"] is True


async def test_a_skipped_step_asks_if_the_model_takes_it_anyway(place):
    """What the user took out is not approved, and the model is told."""
    place.configure(QUIET)
    place.model.says(proposal(step("A.", "write_file", "a.txt"), step("B.", "write_file", "b.txt")))
    place.model.calls("write_file", path="a.txt", content="A").then_calls("write_file", path="b.txt", content="B")
    place.model.says("Done.")

    posted = await place.say("go", preflight=True)
    await checklist(place)
    edited = [EditedStep(description="A."), EditedStep(description="B.", skip=True)]
    await resolve(place, posted, edited_steps=edited)
    request = data(await place.heard("approval_requested"))
    await place.approve(request["tool_call_id"], "deny")
    await place.ended(posted)

    assert json.loads(bytes(place.events("approval_requested")[0].raw))["input"]["path"] == "b.txt"
    assert started(place) == [("write_file", "step_1")]
    told = plain_text(place.model.requests[1].messages[-1].parts)
    assert "do not take them:\n- B. (write_file b.txt)" in told


async def test_the_price_is_a_range_from_real_prices(place):
    """Low is cheaper than expected, expected than high; tokens are those of the proposal, growing."""
    prices = {"inputUsd": 10, "outputUsd": 100, "cacheReadUsd": 1}
    place.configure(json.dumps({"providers": {"scripted": {"models": {"script": prices}}}}))
    usage = Usage(input_tokens=1000, output_tokens=50, requests=1)
    place.model.plays(Say(proposal(step("Look.", "repo_tree"))), Stop("end_turn", usage))

    await place.say("go", preflight=True)
    cost = (await checklist(place))["estimated_cost"]

    assert cost["input_tokens"] == 1000 + (1000 + 400 + 800)
    assert cost["output_tokens"] == 2 * 400
    assert cost["estimated_usd"] == pytest.approx((3200 * 10 + 800 * 100) / 1e6)
    assert 0 < cost["low_usd"] < cost["estimated_usd"] < cost["high_usd"]


async def test_an_unknown_price_is_null_and_said(place):
    """Never 0."""
    place.model.says(proposal(step("Look.", "repo_tree")))

    await place.say("go", preflight=True)
    found = await checklist(place)

    assert [found["estimated_cost"][name] for name in ("estimated_usd", "low_usd", "high_usd")] == [None] * 3
    assert "What scripted/script costs is not known." in found["warnings"]


async def test_a_budget_that_is_too_small_is_said_before(place):
    """The user may raise it, or not begin at all."""
    place.configure('{"budget": {"tokens": 3000}}')
    usage = Usage(input_tokens=1000, output_tokens=50, requests=1)
    place.model.plays(Say(proposal(step("Look.", "repo_tree"))), Stop("end_turn", usage))

    await place.say("go", preflight=True)
    found = await checklist(place)

    assert any(one.startswith("The budget of the turn is likely too small: 4000 tokens") for one in found["warnings"])


async def test_that_no_sandbox_can_be_tried_is_said(place, full_disk):
    """Before anything is approved: no command of these steps would run."""
    place.model.says(proposal(step("Look.", "repo_tree")))

    await place.say("go", preflight=True)

    assert any("Until that is mended no command runs" in one for one in (await checklist(place))["warnings"])


async def test_what_could_go_wrong_is_said(place, no_sandbox):
    """Uncommitted changes, no sandbox, nothing to verify with, no trust, a tool that does not exist."""
    process = await asyncio.create_subprocess_exec("git", "-C", str(place.project), "init", "-q")
    await process.wait()
    (place.project / "mine.txt").write_text("not committed")
    place.trusted = False
    await place.reopen()
    place.model.says(proposal(step("Do.", "no_such_tool")))

    await place.say("go", preflight=True)
    warnings = (await checklist(place))["warnings"]

    said = "\n".join(warnings)
    assert "step_1 names a tool that does not exist: no_such_tool." in said
    assert "uncommitted changes: mine.txt." in said
    assert "not trusted" in said
    assert "without a sandbox" in said
    assert "will not be verified" in said


async def test_a_plan_survives_the_restart_and_is_answered_after_it(place):
    """Proposed once, answered once; the turn goes on where it was."""
    place.configure(QUIET)
    place.model.says(proposal(step("Write.", "write_file", "a.txt")))
    posted = await place.say("go", preflight=True)
    await checklist(place)
    await place.harness.close()

    place.model = ScriptedModel().calls("write_file", path="a.txt", content="A").says("Done.")
    await place.open()
    await place.harness.recover()
    assert place.harness.session(place.session_id).pending_preflight is not None
    await resolve(place, posted)
    await asyncio.wait_for(place.ended(posted), 10)

    assert len(place.events("preflight_requested")) == 1
    assert started(place) == [("write_file", "step_1")]
    assert asked(place) == []


async def test_an_answer_given_while_nobody_was_there_is_not_asked_for_again(place):
    """Killed between the answer and the first call: the turn goes on with it."""
    place.configure(QUIET)
    place.model.says(proposal(step("Write.", "write_file", "a.txt")))
    posted = await place.say("go", preflight=True)
    await checklist(place)
    await place.reopen()
    pending = pending_at(place.harness.log.db, place.session_id, posted.turn_id)
    answer = PreflightResolved(approved=True, cause="user", steps=pending.steps)
    await give_answer(place.harness.log, place.session_id, posted.turn_id, ResolvePreflight(approved=True), answer)
    assert not (place.project / "a.txt").exists()
    await place.harness.close()

    place.model = ScriptedModel().calls("write_file", path="a.txt", content="A").says("Done.")
    await place.open()
    await place.harness.recover()
    await asyncio.wait_for(place.ended(posted), 10)

    assert (place.project / "a.txt").read_text() == "A"
    assert len(place.events("preflight_requested")) == 1
    assert asked(place) == []


async def test_a_step_that_was_used_before_a_restart_stays_used(place):
    """How much of the plan is left is in the log and nowhere else."""
    place.configure(QUIET)
    gate = asyncio.Event()
    place.model.says(proposal(step("Write.", "write_file")))
    place.model.calls("write_file", path="a.txt", content="A")
    place.model.plays(Wait(gate))
    posted = await place.say("go", preflight=True)
    await checklist(place)
    await resolve(place, posted)
    await place.heard("tool_call_completed")
    await place.harness.close()

    place.model = ScriptedModel().calls("write_file", path="b.txt", content="B").says("Done.")
    await place.open()
    await place.harness.recover()
    request = data(await place.heard("approval_requested"))
    await place.approve(request["tool_call_id"], "deny")
    await asyncio.wait_for(place.ended(posted), 10)

    assert not (place.project / "b.txt").exists()
    assert [one.origin for one in place.messages() if one.origin] == ["preflight"]


async def test_a_call_that_no_step_covers_never_runs_unasked(place):
    """Whatever is planned and whatever is called: what ran unasked was listed, and each step let one call run."""
    place.configure(QUIET)
    chance = random.Random(3)
    targets = {"write_file": ("a.txt", "b.txt", ".git/x"), "shell": ("echo a", "echo b", "rm a.txt")}

    def some(count: int) -> list[tuple[str, str]]:
        names = [chance.choice(list(targets)) for _ in range(count)]
        return [(name, chance.choice((*targets[name], ""))) for name in names]

    ran = 0
    for _ in range(12):
        listed = some(4)
        made = [(name, target or targets[name][0]) for name, target in some(5)]
        place.model.says(proposal(*(step("x", name, target) for name, target in listed)))
        place.model.plays(
            *(
                Call(name, {"command": target} if name == "shell" else {"path": target, "content": "x"})
                for name, target in made
            )
        ).says("Done.")
        posted = await place.say("go", preflight=True)
        await place.until(lambda: place.harness.session(place.session_id).pending_preflight is not None)
        await resolve(place, posted)
        while (session := place.harness.session(place.session_id)).last_turn_id and session.activity != "idle":
            for pending in session.pending_approvals:
                await place.approve(pending.tool_call_id, "deny")
            await asyncio.sleep(0.001)
        own = [event for event in place.events("tool_call_started") if event.turn_id == posted.turn_id]
        ran += len(own)
        steps = [data(event)["preflight_step"] for event in own]
        assert len(set(steps)) == len(steps)
        for event in own:
            started_call, by = data(event)["tool_call"], data(event)["preflight_step"]
            name, target = listed[int(by.removeprefix("step_")) - 1]
            given = started_call["input"].get("path") or started_call["input"].get("command")
            assert started_call["name"] == name
            assert target == given or (name == "write_file" and not target)
            assert given not in (".git/x", "rm a.txt")
    assert ran > 5


async def test_room_made_while_proposing_is_about_the_conversation_alone(place):
    """A provider says that it is too much: what is made shorter names messages of the log, never the question."""
    for _ in range(3):
        place.model.says("I see. " * 200)
        await place.ask("A long story. " * 200)
    overflow = ModelError("Too long.", code="context_overflow", status=400)
    place.model.fails(overflow).says("They told stories.").says(proposal(step("Look.", "repo_tree"))).says("Done.")

    posted = await place.say("go", preflight=True)
    found = await checklist(place)
    await resolve(place, posted)
    turn = await place.ended(posted)

    compacted = data(place.events("context_compacted")[0])
    logged = {one.id for one in place.messages()}
    assert {compacted["first_kept"], compacted["last_message"], *compacted["carried"]} <= logged
    assert [one["tool_name"] for one in found["steps"]] == ["repo_tree"]
    assert plain_text(place.model.requests[-2].messages[-1].parts) == QUESTION
    assert turn.status == "completed"
    assert len(place.model.requests[-1].messages) < 8
