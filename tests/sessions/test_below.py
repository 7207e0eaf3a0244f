"""A session and its workers as one: what is asked below is answered at the top, and stopping goes as far as wanted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agi.errors import Conflict, NotFound
from agi.models.base import ModelRequest
from agi.models.scripted import Call, Say, Step, Wait
from agi.protocol import commands
from agi.testing.box import eventually
from agi.views import pool

from .conftest import Crewed, delegates, prompt, report, results

ASKING = {"verify": {"autoVerify": False}, "workers": {"isolate": "off", "maxDepth": 3, "maxLive": 20}}


def writes_its_own(request: ModelRequest) -> Sequence[Step]:
    if results(request):
        return report(f"Wrote {prompt(request)}.")
    return [Call("write_file", {"path": f"{prompt(request)}.txt", "content": "x"})]


def tree(request: ModelRequest) -> Sequence[Step]:
    """In the middle: what was asked for names the workers below, with a `/` for each level."""
    names = prompt(request).split()
    asked = [_asked(name) for name in names]
    return delegates(*asked, then=lambda found: report("All done."))(request)


def _asked(name: str) -> dict[str, object]:
    head, _, rest = name.partition("/")
    return {"role": "middle", "prompt": rest.replace("+", " ")} if head == "m" else {"role": "writer", "prompt": name}


async def approve(crewed: Crewed, root: str, pending: Any) -> None:
    command = commands.Approve(tool_call_id=pending.tool_call_id, turn_id=pending.turn_id, action="approve")
    await crewed.harness.approve(root, command)


@pytest.fixture
async def asking(tmp_path: Path):
    crewed = Crewed(tmp_path, ASKING)
    await crewed.open()
    crewed.parts["middle"] = tree
    crewed.parts["writer"] = writes_its_own
    yield crewed
    await crewed.harness.close()


async def test_seven_questions_from_three_levels_are_all_listed_and_answered_in_any_order(asking: Crewed) -> None:
    """None is lost, each names who asks, and the session at the top is seen to wait."""
    asking.parts["lead"] = delegates(
        {"role": "writer", "prompt": "a"},
        {"role": "writer", "prompt": "b"},
        {"role": "middle", "prompt": "c d m/e+f+g"},
    )
    root, turn_id = await asking.begin()
    await eventually(lambda: len(asking.harness.session(root.id).pending_approvals) == 7)
    session = asking.harness.session(root.id)
    pending = session.pending_approvals
    told = [event.data for event in await asking.heard(root.id, "worker_waiting", 7)]

    for one in (*pending[::-2], *pending[-2::-2]):
        await approve(asking, root.id, one)
    await asking.harness.wait_turn(root.id, turn_id)

    assert session.activity == "waiting_approval"
    assert sorted(len(one.path) for one in pending) == [1, 1, 2, 2, 3, 3, 3]
    assert {one.path for one in pending} == {
        ("writer",),
        ("middle", "writer"),
        ("middle", "middle", "writer"),
    }
    assert {(one.session_id, one.path) for one in told} == {(one.session_id, one.path) for one in pending}
    assert sorted(path.stem for path in asking.project.glob("*.txt")) == list("abcdefg")
    assert asking.harness.session(root.id).pending_approvals == ()


async def test_an_answer_is_given_once_also_from_the_top(asking: Crewed) -> None:
    """The first counts; the second is told so, and one about nothing changes nothing."""
    asking.parts["lead"] = delegates({"role": "writer", "prompt": "a"}, {"role": "writer", "prompt": "b"})
    root, turn_id = await asking.begin()
    await eventually(lambda: len(asking.harness.session(root.id).pending_approvals) == 2)
    first, second = asking.harness.session(root.id).pending_approvals

    await asking.harness.approve(root.id, commands.Approve(tool_call_id=first.tool_call_id, action="deny"))
    with pytest.raises(Conflict) as refusal:
        await approve(asking, root.id, first)
    with pytest.raises(NotFound):
        await asking.harness.approve(root.id, commands.Approve(tool_call_id="call_none", action="approve"))
    await approve(asking, root.id, second)
    await asking.harness.wait_turn(root.id, turn_id)

    assert refusal.value.code == "approval_answered"
    assert len(list(asking.project.glob("*.txt"))) == 1


def started(crewed: Crewed, root: str) -> list[str]:
    return [row.session_id for row in pool.below(crewed.harness.log.db, root)]


async def running_tree(crewed: Crewed, gate: asyncio.Event) -> tuple[str, str]:
    """A lead, a middle and a reader that waits for the gate."""
    crewed.parts["lead"] = delegates({"role": "middle", "prompt": "go on"})
    crewed.parts["middle"] = delegates({"role": "reader", "prompt": "look"}, then=lambda found: report("Done."))
    crewed.parts["reader"] = lambda request: [Wait(gate), *report("Seen.")]
    root, turn_id = await crewed.begin()
    await eventually(lambda: len(started(crewed, root.id)) == 2)
    await eventually(lambda: any("You read." in request.system for request in crewed.model.requests))
    return root.id, turn_id


async def test_canceling_stops_the_workers_below_too_and_they_can_be_talked_to_afterwards(crewed: Crewed) -> None:
    """Stop means stop; nothing is lost by it."""
    gate = asyncio.Event()
    root, turn_id = await running_tree(crewed, gate)

    await crewed.harness.cancel(root, commands.Cancel(reason="enough"))
    await crewed.harness.wait_turn(root, turn_id)
    middle, reader = started(crewed, root)
    await eventually(lambda: [crewed.harness.state(one).status for one in (root, middle, reader)] == ["canceled"] * 3)

    crewed.parts["reader"] = lambda request: [Say("Still here.")]
    posted = await crewed.harness.post_message(reader, commands.PostMessage(content="hello?"))
    await crewed.harness.wait_turn(reader, posted.turn_id or "")
    assert crewed.answer(reader) == "Still here."


async def test_a_message_that_interrupts_stops_the_workers_of_the_turn_too(crewed: Crewed) -> None:
    """It is said in the place of the work that is under way, all of it; and then answered."""
    root, turn_id = await running_tree(crewed, asyncio.Event())
    crewed.parts["lead"] = lambda request: [Say("Something else.")]

    said = commands.PostMessage(content="do this instead", mode="interrupt")
    posted = await crewed.harness.post_message(root, said)
    await crewed.harness.wait_turn(root, posted.turn_id or "")
    below = started(crewed, root)
    await eventually(lambda: [crewed.harness.state(one).status for one in below] == ["canceled"] * 2)

    assert crewed.harness.turn(root, turn_id).status == "canceled"
    assert crewed.answer(root) == "Something else."


async def test_canceling_only_the_turn_leaves_the_workers_at_work(crewed: Crewed) -> None:
    """Where that is asked for."""
    gate = asyncio.Event()
    root, turn_id = await running_tree(crewed, gate)

    await crewed.harness.cancel(root, commands.Cancel(scope="turn"))
    await crewed.harness.wait_turn(root, turn_id)
    middle, reader = started(crewed, root)
    assert crewed.harness.state(reader).turn is not None
    gate.set()
    await eventually(lambda: crewed.harness.state(middle).status == "completed")

    (result,) = [json.loads(event.raw)["result"] for event in await crewed.heard(root, "worker_completed")]
    assert result["summary"] == "Done."


async def test_canceling_all_from_below_stops_the_whole_tree(crewed: Crewed) -> None:
    """`all` means everybody who works for the same root, and the root."""
    gate = asyncio.Event()
    root, turn_id = await running_tree(crewed, gate)
    middle, reader = started(crewed, root)

    await crewed.harness.cancel(reader, commands.Cancel(scope="all"))
    await crewed.harness.wait_turn(root, turn_id)

    await eventually(lambda: [crewed.harness.state(one).status for one in (root, middle, reader)] == ["canceled"] * 3)
    with pytest.raises(Conflict):
        await crewed.harness.cancel(root, commands.Cancel())


async def test_killing_a_worker_stops_those_below_it(crewed: Crewed) -> None:
    """The parent's agent is told that it was canceled."""
    gate = asyncio.Event()
    root, turn_id = await running_tree(crewed, gate)
    middle, reader = started(crewed, root)

    assert await crewed.harness.crew.dispatching.kill_agent(middle)
    await crewed.harness.wait_turn(root, turn_id)

    (result,) = json.loads(crewed.answer(root))
    assert result["status"] == "canceled"
    assert crewed.harness.state(reader).status == "canceled"
    assert not await crewed.harness.crew.dispatching.kill_agent(middle)
