"""Which turns may be canceled, retried or taken up again."""

from __future__ import annotations

import json

import pytest

from agi.config.values import Config
from agi.errors import Conflict
from agi.models.scripted import Call
from agi.protocol import events as ev
from agi.protocol.policies import Budget, Budgets
from agi.protocol.sessions import QueuedTurn
from agi.sessions.turns import CUT_SHORT, cancel_entries, is_raised, limits, to_cancel
from agi.views.state import SessionState, TurnState


def outcome(turn) -> dict:
    return json.loads(turn.outcome)


async def retry(place, turn_id: str):
    return await place.ended(await place.harness.retry(place.session_id, turn_id))


# Retry.


async def ends(place, how: str):
    """A turn that ended like this."""
    if how == "max_steps":
        place.configure('{"agents": {"build": {"maxSteps": 2}}}')
    elif how == "budget_exhausted":
        place.configure('{"budget": {"perTurn": {"steps": 2}}}')
    for number in range(5 if how == "loop_detected" else 2):
        path = "same.txt" if how == "loop_detected" else f"{number}.txt"
        place.model.plays(Call("read_file", {"path": path}))
    return await place.ask("work")


@pytest.mark.parametrize("how", CUT_SHORT)
async def test_a_turn_that_was_cut_short_can_be_retried_and_knows_what_was_done(place, how):
    """The same message is answered by a new turn with a count of its own; nothing is done twice."""
    cut = await ends(place, how)
    assert outcome(cut)["stop_reason"] == how
    before = len(place.model.requests)
    place.model.says("Now I am done.")

    turn = await retry(place, cut.id)

    assert (turn.retry_of, turn.message_id) == (cut.id, cut.message_id)
    assert outcome(turn)["stop_reason"] == "end_turn"
    told = place.model.requests[-1].messages
    assert len(place.model.requests) == before + 1
    assert [message.role for message in told].count("tool") == before
    assert [message.parts[0].text for message in told if message.role == "user" and not message.origin] == ["work"]


async def test_a_turn_that_was_answered_cannot_be_retried(place):
    """It is told what to do instead, and nothing is written."""
    place.model.says("done")
    turn = await place.ask("work")
    before = place.types()

    with pytest.raises(Conflict) as refused:
        await place.harness.retry(place.session_id, turn.id)

    assert refused.value.code == "turn_not_retryable"
    assert place.types() == before


async def test_only_the_last_turn_can_be_retried(place):
    """What was said since would be in the way."""
    cut = await ends(place, "max_steps")
    place.model.says("something else")
    await place.ask("never mind")

    with pytest.raises(Conflict) as refused:
        await place.harness.retry(place.session_id, cut.id)

    assert refused.value.code == "turn_not_last"


# Cancel.


def state(running: bool, queued: int) -> SessionState:
    turn = TurnState(id="turn_0", message_id="m", agent="build", provider="p", model="m", started_at="")
    made = SessionState(
        id="sess_1", agent="build", workspace_path="/", project_path="/", created_at="", updated_at="", turn=turn
    )
    made.turn = turn if running else None
    made.queue = [QueuedTurn(turn_id=f"turn_{number + 1}", message_id="m") for number in range(queued)]
    return made


@pytest.mark.parametrize(
    ("running", "queued", "named", "chosen"),
    [
        (True, 2, None, ("turn_0", "turn_1", "turn_2")),
        (False, 2, None, ("turn_1", "turn_2")),
        (True, 2, "turn_2", ("turn_2",)),
        (True, 2, "turn_9", ()),
        (False, 0, None, ()),
    ],
)
def test_a_cancel_means_all_that_lives_or_the_named_one(running, queued, named, chosen):
    """What is over cannot be stopped."""
    assert to_cancel(state(running, queued), named) == chosen


def test_a_running_turn_is_asked_to_stop_and_queued_ones_are_dropped():
    """With nothing running, the session is over too."""
    kinds = [type(data) for _, data in cancel_entries(state(True, 1), ["turn_0", "turn_1"], "")]
    assert kinds == [ev.CancelRequested, ev.TurnCanceled]
    kinds = [type(data) for _, data in cancel_entries(state(False, 2), ["turn_1", "turn_2"], "")]
    assert kinds == [ev.TurnCanceled, ev.TurnCanceled, ev.SessionCanceled]
    kinds = [type(data) for _, data in cancel_entries(state(False, 2), ["turn_1"], "")]
    assert kinds == [ev.TurnCanceled]


def test_with_nothing_to_cancel_it_is_a_conflict():
    """And says so."""
    with pytest.raises(Conflict) as refused:
        cancel_entries(state(False, 0), [], "")
    assert refused.value.code == "nothing_to_cancel"


# Limits.

CONFIG = Config(budget_per_turn=Budget(steps=5), budget_per_session=Budget(usd=1))


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (None, (Budget(steps=5), Budget(usd=1))),
        (Budgets(), (Budget(steps=5), Budget(usd=1))),
        (Budgets(per_turn=Budget(tokens=9)), (Budget(tokens=9), Budget(usd=1))),
        (Budgets(per_session=Budget()), (Budget(steps=5), Budget())),
    ],
)
def test_a_sessions_own_limits_stand_in_the_place_of_the_configured_ones(own, expected):
    """Those it does not name are the configured ones."""
    assert limits(own, CONFIG) == expected


@pytest.mark.parametrize(
    ("before", "after", "raised"),
    [
        (Budget(), Budget(), False),
        (Budget(steps=5), Budget(steps=5), False),
        (Budget(steps=5), Budget(steps=4), False),
        (Budget(), Budget(steps=4), False),
        (Budget(steps=5), Budget(steps=6), True),
        (Budget(steps=5), Budget(), True),
        (Budget(steps=5, usd=1), Budget(steps=4, usd=2), True),
        (Budget(seconds=0.5), Budget(seconds=0.6), True),
    ],
)
def test_a_limit_is_raised_if_it_is_higher_or_gone(before, after, raised):
    """A new one, or a lower one, raises nothing."""
    assert is_raised((before, Budget()), (after, Budget())) is raised
    assert is_raised((Budget(), before), (Budget(), after)) is raised
