"""Limits of a session's own: given when it begins, changed later; a turn they ended goes on when they are raised."""

from __future__ import annotations

import asyncio
import json

import pytest

from agi.models.scripted import Call, Say, Stop, Wait
from agi.protocol import commands
from agi.protocol.messages import Usage
from agi.protocol.policies import Budget, Budgets
from agi.testing.box import daemon_in_a_box

SPENT = Usage(input_tokens=3000, output_tokens=1000)


def outcome(turn) -> dict:
    return json.loads(turn.outcome)


def works(place, steps: int = 20) -> None:
    for number in range(steps):
        place.model.plays(Call("read_file", {"path": f"{number}.txt"}), Stop("tool_calls", SPENT))


async def update(place, **limits: Budget):
    command = commands.UpdateSession(budget=Budgets(**limits))
    return await place.harness.update_session(place.session_id, command)


async def last_turn(place):
    session = place.harness.session(place.session_id)
    return await place.harness.wait_turn(place.session_id, session.last_turn_id)


async def test_a_session_may_have_limits_of_its_own(place):
    """They are told to whoever looks at it, and hold instead of the configured ones."""
    place.configure('{"budget": {"perTurn": {"steps": 9}, "perSession": {"steps": 9}}}')
    await place.start(budget=Budgets(per_turn=Budget(steps=2)))
    works(place)

    turn = await place.ask("work")

    assert place.harness.session(place.session_id).budget == Budgets(per_turn=Budget(steps=2))
    assert outcome(turn)["stop_reason"] == "budget_exhausted"
    assert len(place.model.requests) == 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"per_session": Budget(steps=2)}, {"per_session": Budget(steps=9)}),
        ({"per_session": Budget(tokens=9000)}, {"per_session": Budget(tokens=90_000)}),
        ({"per_session": Budget(usd=9)}, {"per_session": Budget(usd=90)}),
        ({"per_turn": Budget(steps=2)}, {"per_turn": Budget(steps=9)}),
        ({"per_turn": Budget(tokens=9000)}, {"per_turn": Budget()}),
    ],
)
async def test_raising_the_limit_resumes_the_same_work(place, before, after):
    """The message is not sent again; the model goes on with all that was done, and nothing is done twice."""
    price = {"scripted": {"models": {"script": {"inputUsd": 1000, "outputUsd": 1000}}}}
    place.configure(json.dumps({"providers": price}))
    await place.start(budget=Budgets(**before))
    works(place, 2)
    cut = await place.ask("work")
    assert outcome(cut)["stop_reason"] == "budget_exhausted"
    assert len(place.model.requests) == 2
    place.model.says("Now I am done.")

    await update(place, **after)
    turn = await last_turn(place)

    assert (turn.retry_of, turn.message_id) == (cut.id, cut.message_id)
    assert outcome(turn)["stop_reason"] == "end_turn"
    assert place.answer() == "Now I am done."
    assert len(place.model.requests) == 3
    assert len(place.events("tool_call_completed")) == 2


async def test_a_lower_or_equal_limit_resumes_nothing(place):
    """Nothing runs that nobody asked for."""
    await place.start(budget=Budgets(per_turn=Budget(steps=2)))
    works(place)
    await place.ask("work")
    before = len(place.model.requests)

    for limit in (Budget(steps=2), Budget(steps=1), Budget(steps=1, tokens=5)):
        session = await update(place, per_turn=limit)
        assert session.activity == "idle"

    assert len(place.model.requests) == before


async def test_raising_a_limit_resumes_nothing_that_was_answered_or_failed(place):
    """Only a turn that the limit ended goes on; a later message takes its place."""
    await place.start(budget=Budgets(per_turn=Budget(steps=1)))
    works(place, 1)
    await place.ask("work")
    place.model.says("answered")
    await place.ask("something else")

    session = await update(place, per_turn=Budget(steps=5))

    assert session.activity == "idle"
    assert len(place.model.requests) == 2


async def test_raising_a_limit_while_something_runs_changes_nothing_about_it(place):
    """The new limits hold from the next turn on."""
    await place.start(budget=Budgets(per_turn=Budget(steps=1)))
    works(place, 1)
    await place.ask("work")
    gate = asyncio.Event()
    place.model.plays(Wait(gate), Say("two")).then_says("never")
    posted = await place.say("another")
    await place.until(lambda: len(place.model.requests) == 2)

    await update(place, per_turn=Budget(steps=5))
    gate.set()
    await place.ended(posted)

    assert len(place.events("turn_started")) == 2


async def test_a_limit_that_is_raised_too_little_ends_the_turn_again(place):
    """Without a request, and it can be raised again."""
    await place.start(budget=Budgets(per_session=Budget(steps=2)))
    works(place, 2)
    await place.ask("work")

    await update(place, per_session=Budget(steps=2, tokens=10**9))
    assert place.harness.session(place.session_id).activity == "idle"
    await place.start(budget=Budgets(per_session=Budget(tokens=9000)))
    works(place, 2)
    await place.ask("work")
    before = len(place.model.requests)
    await update(place, per_session=Budget(tokens=9001))
    assert outcome(await last_turn(place))["stop_reason"] == "budget_exhausted"
    assert len(place.model.requests) == before
    place.model.says("done")
    await update(place, per_session=Budget(tokens=90_000))

    assert outcome(await last_turn(place))["stop_reason"] == "end_turn"


async def test_limits_and_what_was_used_survive_a_restart(place):
    """They are in the log; so is which turn can go on."""
    await place.start(budget=Budgets(per_session=Budget(steps=2)))
    works(place, 2)
    await place.ask("work")
    await place.reopen()
    assert outcome(await place.ask("more"))["stop_reason"] == "budget_exhausted"
    place.model.says("done")

    await update(place, per_session=Budget(steps=3))

    assert outcome(await last_turn(place))["stop_reason"] == "end_turn"
    assert len(place.model.requests) == 3


# Over HTTP.


@pytest.fixture
async def daemon(tmp_path):
    async with daemon_in_a_box(tmp_path) as made:
        yield made


BAD = [
    b'{"budget": {"per_turn": {"usd": -1}}}',
    b'{"budget": {"per_turn": {"tokens": -1}}}',
    b'{"budget": {"per_turn": {"steps": -5}}}',
    b'{"budget": {"per_session": {"seconds": -0.1}}}',
    b'{"budget": {"per_session": {"usd": 1e13}}}',
    b'{"budget": {"per_session": {"tokens": 1000000000001}}}',
    b'{"budget": {"per_session": {"tokens": 1.5}}}',
    b'{"budget": {"per_session": {"tokens": "many"}}}',
    b'{"budget": {"per_session": {"tokens": true}}}',
    b'{"budget": {"per_turn": {"dollars": 1}}}',
    b'{"budget": {"perTurn": {"usd": 1}}}',
    b'{"budget": {"per_turn": 5}}',
    b'{"budget": []}',
    b'{"budget": {"per_turn": {"usd": 1e999}}}',
]


@pytest.mark.parametrize("body", BAD)
async def test_limits_that_are_none_are_refused(daemon, body):
    """Negative, huge, fractions of a token, unknown words: 422, and nothing is written."""
    session_id = await daemon.begin()
    before = await daemon.history(session_id)

    created = await daemon.call("POST", "/v1/sessions", body)
    updated = await daemon.call("PATCH", f"/v1/sessions/{session_id}", body)

    assert (created.status, updated.status) == (422, 422)
    assert created.json()["error"]["hint"]
    assert await daemon.history(session_id) == before
    assert len(daemon.harness.sessions()) == 1


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity"])
async def test_what_is_no_number_at_all_is_no_json(daemon, number):
    """400, as for anything that cannot be read."""
    reply = await daemon.call("POST", "/v1/sessions", b'{"budget": {"per_turn": {"usd": %b}}}' % number)

    assert reply.status == 400


async def test_over_http_a_budget_is_given_reached_told_and_raised(daemon):
    """From the first request to the last."""
    works(daemon, 1)
    daemon.model.says("done")
    begun = (await daemon.post("/v1/sessions", {"budget": {"per_turn": {"steps": 1}}})).json()
    path = f"/v1/sessions/{begun['session_id']}"
    ended = (await daemon.post(f"{path}/messages", {"content": "work"})).json()
    assert ended["stop_reason"] == "budget_exhausted"
    assert "1 steps" in ended["note"]

    patched = await daemon.call("PATCH", path, {"budget": {"per_turn": {"steps": 5, "usd": 0.5}}})

    assert patched.status == 200
    assert patched.json()["budget"]["per_turn"]["steps"] == 5
    turn = await daemon.harness.wait_turn(begun["session_id"], patched.json()["last_turn_id"])
    assert turn.retry_of == ended["turn_id"]
    assert outcome(turn)["stop_reason"] == "end_turn"


async def test_an_empty_budget_brings_the_configured_one_back(daemon):
    """`{}` names nothing, so the configuration's limits hold."""
    begun = (await daemon.post("/v1/sessions", {"budget": {"per_turn": {"steps": 1}}})).json()

    await daemon.call("PATCH", f"/v1/sessions/{begun['session_id']}", {"budget": {}})

    assert (await daemon.get(f"/v1/sessions/{begun['session_id']}")).json()["budget"] == {}
