"""Budgets of a tree: what a worker may use is set aside before it starts; once all is used up, nothing more leaves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agi.config import Config
from agi.models.base import ModelRequest
from agi.models.scripted import Call, Say, Step, Stop
from agi.protocol.messages import Usage
from agi.protocol.policies import Budget, Budgets
from agi.sessions.reserving import Left, fits, more, share
from agi.testing.box import eventually

from .conftest import FREE, Crewed, delegates, report, results

SPENT = Usage(input_tokens=80, output_tokens=20, requests=1)


def works_for_ever(request: ModelRequest) -> Sequence[Step]:
    return [Call("read_file", {"path": f"{len(request.messages)}.txt"}), Stop("tool_calls", SPENT)]


def spends(part: Any) -> Any:
    """The same part, with every answer at its price."""
    return lambda request: [*part(request), Stop("tool_calls" if _calls(part, request) else "end_turn", SPENT)]


def _calls(part: Any, request: ModelRequest) -> bool:
    return any(isinstance(step, Call) for step in part(request))


@pytest.mark.parametrize("limit", [Budget(tokens=4000), Budget(steps=30)], ids=["tokens", "steps"])
async def test_after_the_cap_not_one_further_request_leaves_anywhere_in_the_tree(tmp_path: Path, limit: Budget) -> None:
    """Four workers that would go on for ever, one with a worker of its own, and a lead that always asks for more."""
    crewed = Crewed(tmp_path, {**FREE, "workers": {"maxTotal": 50, "maxLive": 5}})
    await crewed.open()

    def lead(request: ModelRequest) -> Sequence[Step]:
        found = results(request)
        alive = [one["agent_id"] for one in found if isinstance(one, dict) and list(one) == ["agent_id"]]
        waited = sum(isinstance(one, dict) and "summary" in one for one in found)
        if waited < len(alive):
            return [Call("await_agent", {"agent_id": one}) for one in alive[waited:]]
        roles = ("reader", "reader", "middle", "reader")
        return [Call("draft_agent", {"role": role, "prompt": f"work {len(found)}"}) for role in roles]

    def middle(request: ModelRequest) -> Sequence[Step]:
        asked = [Call("draft_agent", {"role": "reader", "prompt": "too"}), Stop("tool_calls", SPENT)]
        return works_for_ever(request) if results(request) else asked

    crewed.parts["lead"] = spends(lead)
    crewed.parts["middle"] = middle
    crewed.parts["reader"] = works_for_ever
    session = await crewed.ask(budget=Budgets(per_session=limit))
    await eventually(lambda: not crewed.harness.crew.pool.agents())
    requests = len(crewed.model.requests)

    assert json.loads(crewed.harness.turn(session.id, session.last_turn_id or "").outcome or b"{}")["stop_reason"] == (
        "budget_exhausted"
    )
    used = 100 * requests if limit.tokens else requests
    assert used <= (limit.tokens or limit.steps or 0)
    assert used >= 0.5 * (limit.tokens or limit.steps or 0)
    await crewed.harness.close()


async def test_a_worker_gets_a_share_and_what_it_leaves_comes_back(crewed: Crewed) -> None:
    """While it works all of its share counts as used; afterwards only what it used."""
    crewed.parts["lead"] = spends(delegates({"role": "reader", "prompt": "look"}))
    crewed.parts["reader"] = spends(lambda request: report("Seen."))
    session = await crewed.ask(budget=Budgets(per_session=Budget(tokens=1000)))

    (started,) = crewed.events(session.id, "worker_started")
    (result,) = json.loads(crewed.answer(session.id))
    assert started.data.budget == Budget(tokens=180)
    assert result["usage"]["input_tokens"] + result["usage"]["output_tokens"] == 100


async def test_a_worker_whose_share_is_used_up_says_so(crewed: Crewed) -> None:
    """Its result is no success, and names the limit."""
    crewed.parts["lead"] = delegates({"role": "reader", "prompt": "look", "max_tokens": 250})
    crewed.parts["reader"] = works_for_ever
    session = await crewed.ask()

    (result,) = json.loads(crewed.answer(session.id))
    assert (result["status"], result["stop_reason"]) == ("failed", "budget_exhausted")
    assert "250 tokens" in result["summary"]


async def test_without_room_for_a_worker_the_agent_is_told(crewed: Crewed) -> None:
    """A refusal with its code, and no session is begun."""
    asked = Call("draft_agent", {"role": "reader", "prompt": "x"})
    crewed.parts["lead"] = lambda request: [Say(str(results(request)[0]))] if results(request) else [asked]
    session = await crewed.ask(budget=Budgets(per_session=Budget(steps=4)))

    assert crewed.answer(session.id).startswith("The budget has no room")
    (done,) = crewed.events(session.id, "tool_call_completed")
    assert json.loads(done.raw)["tool_result"]["result"]["code"] == "budget_exhausted"


def test_a_share_is_a_part_of_what_is_left_and_time_is_not_divided() -> None:
    """What was asked for caps it; what has no limit has none in the share."""
    left = Left(usd=1.0, tokens=1000, steps=11, seconds=60.0)
    assert share(left, 5, Budget()) == Budget(usd=0.2, tokens=200, steps=2, seconds=60.0)
    assert share(left, 5, Budget(tokens=50)) == Budget(usd=0.2, tokens=50, steps=2, seconds=60.0)
    assert share(Left(), 5, Budget()) == Budget()
    assert not fits(Budget(tokens=200), Left(tokens=199))
    assert fits(Budget(tokens=200), Left())


def test_a_worker_that_works_on_gets_its_share_on_top_of_what_it_used() -> None:
    """So that the share is what it can still use."""
    assert more(Budget(tokens=100, steps=3), SPENT, 2.0) == Budget(tokens=200, steps=4)


def test_without_a_limit_there_is_none() -> None:
    """An empty configuration limits nothing."""
    assert Config().budget_per_session == Budget()
