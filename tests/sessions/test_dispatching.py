"""Workers: started once, bounded in number, stopped, awaited, and alive after a restart."""

from __future__ import annotations

import asyncio

import pytest

from agi.errors import Conflict, NotFound
from agi.models.scripted import Say, ScriptedModel, Wait
from agi.protocol.resources import Resource
from agi.sessions.dispatching import MOST_ALIVE, Parent


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
    place.model.says("done")

    first = await dispatch(place, parent=called(place, 1))
    again = await dispatch(place, parent=called(place, 1))

    assert first == again
    assert (await place.harness.crew.dispatching.await_agent(first)).summary == "done"


async def test_a_parent_cannot_have_any_number_of_workers(place):
    """A model that always delegates comes to a limit that says what to do."""
    place.model = ScriptedModel.from_function(lambda request: [Wait(asyncio.Event())])
    await place.reopen()

    for number in range(MOST_ALIVE):
        await dispatch(place, parent=called(place, number))
    with pytest.raises(Conflict) as refused:
        await dispatch(place, parent=called(place, MOST_ALIVE))

    assert refused.value.code == "too_many_workers"
    assert len(place.harness.crew.pool.agents()) == MOST_ALIVE


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
