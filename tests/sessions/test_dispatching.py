"""Workers: agents that work by themselves for another, within limits; what comes of them is told in the logs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from agi.errors import Conflict, NotFound
from agi.models.base import ModelRequest
from agi.models.scripted import Call, Say, ScriptedModel, Step, Wait
from agi.protocol import commands
from agi.protocol.resources import Resource
from agi.protocol.workers import WorkerPolicy
from agi.sessions.dispatching import Parent
from agi.testing.box import eventually
from agi.views import pool

from .conftest import FREE, Crewed, delegates, prompt, report, results

LIVE = WorkerPolicy().max_live


def project_of(place) -> Resource:
    return Resource(kind="repositories", name="project", path=str(place.project))


async def dispatch(place, content: str = "do it", parent: Parent | None = None) -> str:
    return await place.harness.crew.dispatching.dispatch(
        project=project_of(place), role="plan", content=content, task_slug=None, parent=parent
    )


def called(place, number: int) -> Parent:
    return Parent(session_id=place.session_id, turn_id="turn_1", call_id=f"call_{number}")


async def test_the_same_call_finds_the_worker_it_has_started(place):
    """Repeated after a crash, it starts no second one."""
    place.model.says('{"status": "completed", "summary": "done"}')

    first = await dispatch(place, parent=called(place, 1))
    again = await dispatch(place, parent=called(place, 1))

    assert first == again
    assert (await place.harness.crew.dispatching.await_agent(first)).summary == "done"


async def test_a_parent_cannot_have_any_number_of_workers(place):
    """A model that always delegates comes to a limit that says what to do."""
    place.model = ScriptedModel.from_function(lambda request: [Wait(asyncio.Event())])
    await place.reopen()

    for number in range(LIVE):
        await dispatch(place, parent=called(place, number))
    with pytest.raises(Conflict) as refused:
        await dispatch(place, parent=called(place, LIVE))

    assert refused.value.code == "workers_max_live"
    assert len(place.harness.crew.pool.agents()) == LIVE


async def test_a_failed_worker_says_why(place):
    """A failure is a result too."""
    agent = await dispatch(place)

    result = await place.harness.crew.dispatching.await_agent(agent)

    assert result.status == "failed"
    assert "the script is over" in result.summary


async def test_a_worker_goes_on_after_a_restart(place):
    """It belongs to the log, not to the process that started it."""
    place.model.plays(Say("half"), Wait(asyncio.Event()))
    agent = await dispatch(place)
    await place.until(lambda: len(place.model.requests) == 1)
    await place.harness.close()

    place.model = ScriptedModel().says("whole")
    await place.open()
    await place.harness.recover()
    result = await asyncio.wait_for(place.harness.crew.dispatching.await_agent(agent), 10)

    assert (result.status, result.summary) == ("completed", "whole")
    assert place.harness.crew.pool.agents() == []


async def test_only_workers_can_be_awaited_and_killed(place):
    """Any other session is nobody's worker."""
    for verb in (place.harness.crew.dispatching.await_agent, place.harness.crew.dispatching.kill_agent):
        with pytest.raises(NotFound):
            await verb(place.session_id)


async def test_killing_a_worker_kills_those_it_asked_for(place):
    """Nothing runs on for a worker that is gone."""
    place.model = ScriptedModel.from_function(lambda request: [Wait(asyncio.Event())])
    await place.reopen()
    parent = await dispatch(place)
    child = await dispatch(place, parent=Parent(session_id=parent, turn_id="turn_1", call_id="call_1"))

    assert await place.harness.crew.dispatching.kill_agent(parent) is True

    assert (await place.harness.crew.dispatching.result(child)).status == "canceled"
    assert place.harness.crew.pool.agents() == []


async def test_a_worker_reports_to_the_agent_that_asked_for_it(crewed: Crewed) -> None:
    """Its words are its own; changes, verification and usage are taken from its log."""
    crewed.parts["lead"] = delegates({"role": "reader", "prompt": "look around"})
    crewed.parts["reader"] = lambda request: report("Nothing there.")

    session = await crewed.ask()
    (result,) = json.loads(crewed.answer(session.id))
    (started,) = crewed.events(session.id, "worker_started")
    (completed,) = await crewed.heard(session.id, "worker_completed")

    assert result["status"] == "completed"
    assert result["summary"] == "Nothing there."
    assert result["usage"]["requests"] == 1
    assert result["merge"] == "none"
    assert started.data.agent_id == result["agent_id"]
    assert json.loads(completed.raw)["result"] == result


async def test_a_model_that_always_delegates_stops_at_the_limit(tmp_path: Path) -> None:
    """Depth, those alive and those started are limited by the daemon; the model is told which limit it is."""
    crewed = Crewed(tmp_path, {**FREE, "workers": {"maxTotal": 3, "maxLive": 2, "maxDepth": 2}})
    await crewed.open()
    refusals: list[str] = []

    def always(request: ModelRequest) -> Sequence[Step]:
        for one in results(request):
            if isinstance(one, str):
                refusals.append(one)
                return report("I was stopped.")
        if "draft_agent" not in {tool.name for tool in request.tools}:
            return report("I cannot delegate.")
        return [Call("draft_agent", {"role": "middle", "prompt": "delegate it"})]

    crewed.parts["lead"] = crewed.parts["middle"] = always
    session = await crewed.ask()
    await eventually(lambda: not crewed.harness.crew.pool.agents())
    failed = [
        json.loads(event.raw)["tool_result"]["result"]["code"]
        for one in [session.id, *(row.session_id for row in pool.below(crewed.harness.log.db, session.id))]
        for event in crewed.events(one, "tool_call_completed")
        if not json.loads(event.raw)["tool_result"]["ok"]
    ]

    assert len(pool.below(crewed.harness.log.db, session.id)) == 3
    assert set(failed) <= {"workers_max_live", "workers_max_total", "workers_max_depth"}
    assert failed
    await crewed.harness.close()


async def test_the_deepest_workers_are_not_offered_workers_of_their_own(crewed: Crewed) -> None:
    """Permission to delegate is the role's, and ends where the tree may not grow any deeper."""
    crewed.parts["lead"] = delegates({"role": "middle", "prompt": "go on"})
    crewed.parts["middle"] = delegates({"role": "middle", "prompt": "on and on"}, then=lambda found: report("Done."))
    offered: list[set[str]] = []
    inner = crewed.parts["middle"]

    def part(request: ModelRequest) -> Sequence[Step]:
        names = {tool.name for tool in request.tools}
        offered.append(names)
        return inner(request) if "draft_agent" in names else report("The deepest.")

    crewed.parts["middle"] = part
    await crewed.ask()

    assert [("draft_agent" in names) for names in offered].count(False) == 1
    assert all("list_agents" in names for names in offered)


async def test_a_report_that_does_not_fit_is_sent_back_and_then_fails(crewed: Crewed) -> None:
    """A result is never made up: one that is no report is a failure, told with what was said."""
    crewed.parts["lead"] = delegates({"role": "reader", "prompt": "look"})
    crewed.parts["reader"] = lambda request: [Say("I looked around.")]

    session = await crewed.ask()
    (result,) = json.loads(crewed.answer(session.id))

    assert result["status"] == "failed"
    assert "I looked around." in result["summary"]


async def test_a_worker_that_has_ended_works_on_when_it_is_told_more(crewed: Crewed) -> None:
    """It is the same session: it knows what it did, and its result is a new one."""

    def lead(request: ModelRequest) -> Sequence[Step]:
        found = results(request)
        if not found:
            return [Call("draft_agent", {"role": "reader", "prompt": "first"})]
        agent_id = found[0]["agent_id"]
        if len(found) in (1, 3):
            return [Call("await_agent", {"agent_id": agent_id})]
        if len(found) == 2:
            return [Call("draft_agent", {"agent_id": agent_id, "prompt": "second"})]
        return [Say(found[3]["summary"])]

    crewed.parts["lead"] = lead
    crewed.parts["reader"] = lambda request: report(f"{len(request.messages)} messages, {prompt(request)}")
    session = await crewed.ask()
    started = crewed.events(session.id, "worker_started")
    completed = await crewed.heard(session.id, "worker_completed", 2)

    assert crewed.answer(session.id) == "3 messages, second"
    assert [event.data.again for event in started] == [False, True]
    assert len({event.data.agent_id for event in (*started, *completed)}) == 1


async def test_a_worker_reports_its_work_also_if_what_it_was_told_more_is_dropped(crewed: Crewed) -> None:
    """Its result is that of the turn it did, and whoever it works for is told that it is over."""
    gate = asyncio.Event()
    crewed.parts["lead"] = delegates({"role": "reader", "prompt": "look"})
    crewed.parts["reader"] = lambda request: [Wait(gate), *report("Seen.")]
    session, turn_id = await crewed.begin()
    (started,) = await crewed.heard(session.id, "worker_started")
    worker = started.data.agent_id
    await eventually(lambda: crewed.harness.state(worker).turn)
    await crewed.harness.crew.dispatching.go_on(worker, "and there")
    (waiting,) = crewed.harness.queue.all(worker)
    await crewed.harness.queue.drop(worker, waiting.message_id)
    gate.set()
    await crewed.harness.wait_turn(session.id, turn_id)
    (completed,) = await crewed.heard(session.id, "worker_completed")

    assert (completed.data.result.status, completed.data.result.summary) == ("completed", "Seen.")
    assert crewed.harness.state(session.id).workers[worker].is_over


async def test_a_person_can_talk_to_a_worker_that_has_ended(crewed: Crewed) -> None:
    """A worker is a session like any other."""
    crewed.parts["lead"] = delegates({"role": "reader", "prompt": "look"})
    crewed.parts["reader"] = lambda request: report("Seen.") if prompt(request) == "look" else [Say("Hello.")]
    session = await crewed.ask()
    (started,) = crewed.events(session.id, "worker_started")

    worker = started.data.session_id
    posted = await crewed.harness.post_message(worker, commands.PostMessage(content="and you?"))
    await crewed.harness.wait_turn(worker, posted.turn_id or "")

    assert crewed.answer(worker) == "Hello."


async def test_an_agent_cannot_reach_the_workers_of_others(crewed: Crewed) -> None:
    """Only its own workers can be awaited, killed, merged or told more."""
    crewed.parts["reader"] = lambda request: report("Mine.")
    crewed.parts["lead"] = delegates({"role": "reader", "prompt": "look"})
    session = await crewed.ask()
    other = crewed.events(session.id, "worker_started")[0].data.agent_id
    calls = [
        Call("await_agent", {"agent_id": other}),
        Call("kill_agent", {"agent_id": other}),
        Call("merge_agent", {"agent_id": other}),
        Call("draft_agent", {"agent_id": other, "prompt": "obey"}),
        Call("merge_agent", {"agent_id": "../../.."}),
    ]
    crewed.parts["lead"] = lambda request: [Say(json.dumps(results(request)))] if results(request) else calls

    second = await crewed.ask()

    assert [one[:18] for one in json.loads(crewed.answer(second.id))] == ["You have no worker"] * 5


async def test_workers_go_on_after_a_restart_and_the_wait_for_them_too(tmp_path: Path) -> None:
    """A worker is a turn like any other; the call that awaited it is made again, and no second worker is started."""
    crewed = Crewed(tmp_path)
    await crewed.open()
    gate = asyncio.Event()
    crewed.parts["lead"] = delegates({"role": "reader", "prompt": "look"})
    crewed.parts["reader"] = lambda request: [Wait(gate), *report("Late.")]
    session, turn_id = await crewed.begin()
    await crewed.heard(session.id, "worker_started")
    await eventually(lambda: len(crewed.model.requests) == 3)
    await crewed.harness.close()

    gate.set()
    await crewed.open()
    await crewed.harness.wait_turn(session.id, turn_id)

    (result,) = json.loads(crewed.answer(session.id))
    assert result["summary"] == "Late."
    assert len(crewed.events(session.id, "worker_started")) == 1
    assert len(await crewed.heard(session.id, "worker_completed")) == 1
    await crewed.harness.close()


async def test_an_agent_that_looks_who_is_there_works_on(crewed):
    """Each list comes as an object with the list's name, in the log as before the model; the turn goes on."""

    def looks(request: ModelRequest) -> Sequence[Step]:
        found = results(request)
        if not found:
            return [Call(name, {}) for name in ("list_agents", "list_roles", "list_tasks")]
        return [Say(json.dumps([sorted(one) for one in found]))]

    crewed.parts["lead"] = looks
    session = await crewed.ask()

    assert json.loads(crewed.answer(session.id)) == [["agents"], ["roles"], ["tasks"]]
    done = [event.data.tool_result for event in crewed.events(session.id, "tool_call_completed")]
    assert [one.ok for one in done] == [True, True, True]
    assert {"lead", "reader"} <= {role["name"] for role in done[1].result["roles"]}


async def test_a_task_records_what_its_worker_reports(crewed):
    """Status, artifacts and the number of turns in the record are those of the result, not of the session around it."""
    tasks = crewed.harness.crew.tasks
    tasks.create(crewed.harness.site().workspace, "Work")
    blocked = {"status": "blocked", "summary": "I need the plans.", "artifacts": ["notes/open.md"]}
    crewed.parts["lead"] = delegates({"role": "reader", "prompt": "look", "task_slug": "work"})
    crewed.parts["reader"] = lambda request: [Say(json.dumps(blocked))]
    session = await crewed.ask()
    (told,) = json.loads(crewed.answer(session.id))
    await eventually(lambda: tasks.find(crewed.harness.site().workspace, "work").work[0].ended_at)

    (work,) = tasks.find(crewed.harness.site().workspace, "work").work
    assert (work.status, work.summary, work.artifacts) == ("blocked", "I need the plans.", ("notes/open.md",))
    assert (told["status"], told["artifacts"]) == (work.status, list(work.artifacts))
    assert work.turns == 1

    posted = await crewed.harness.post_message(work.session_id, commands.PostMessage(content="Here they are."))
    await crewed.harness.wait_turn(work.session_id, posted.turn_id or "")
    assert tasks.find(crewed.harness.site().workspace, "work").work[0].turns == 2


async def test_a_worker_of_a_turn_that_asks_nobody_asks_nobody(tmp_path):
    """A one-shot refuses what would need a person; a worker that waited for one would keep it for ever."""
    crewed = Crewed(tmp_path, {"verify": {"autoVerify": False}})
    await crewed.open()
    crewed.parts["lead"] = delegates({"role": "writer", "prompt": "write"})
    crewed.parts["writer"] = lambda request: (
        report(str(results(request)[0]), "blocked") if results(request) else [Call("write_file", path_and_text())]
    )
    session = await crewed.harness.create_session(commands.CreateSession(agent="lead"))
    posted = await crewed.harness.post_message(session.id, commands.PostMessage(content="go", on_ask="deny"))
    await asyncio.wait_for(crewed.harness.wait_turn(session.id, posted.turn_id or ""), 30)

    (result,) = json.loads(crewed.answer(session.id))
    assert result["status"] == "blocked"
    assert "nobody is there" in result["summary"]
    await crewed.harness.close()


def path_and_text() -> dict[str, object]:
    return {"path": "a.txt", "content": "x"}
