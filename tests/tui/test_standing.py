"""How a session stands, from a snapshot and the events behind it."""

from __future__ import annotations

import pytest
from msgspec import Raw

from agi.protocol import events as ev
from agi.protocol.messages import Usage
from agi.protocol.sessions import PendingApproval, QueuedTurn
from agi.testing.samples import event, message, session
from agi.tui.questions import Question
from agi.tui.standing import Standing

ASKED = ev.ApprovalRequested(
    tool_call_id="call_1", name="shell", input=Raw(b"{}"), risk="low", rule="kind:exec", reason="because"
)


def heard(*said, **fields):
    standing = Standing(session(**fields))
    for number, data in enumerate(said, 11):
        standing.hear(event(number, data))
    return standing


STARTED = ev.TurnStarted(message_id="msg_1", agent="build", provider="p", model="m")
DONE = ev.TurnCompleted(message_id=None, stop_reason="end_turn", steps=1, usage=Usage(), verification="failing")


@pytest.mark.parametrize(
    ("said", "activity"),
    [
        ((), "idle"),
        ((STARTED,), "running"),
        ((STARTED, ASKED), "waiting_approval"),
        ((STARTED, ASKED, ev.ApprovalDenied(tool_call_id="call_1", name="shell", cause="user")), "running"),
        ((STARTED, ev.VerificationStarted(verification_id="v", command="make test", attempt=1)), "verifying"),
        ((STARTED, ev.CompactionStarted(trigger="manual")), "compacting"),
        ((STARTED, ev.PreflightResolved(approved=True, cause="user")), "running"),
        ((STARTED, DONE), "idle"),
    ],
)
def test_the_activity_follows_what_happens(said, activity):
    """Each state ends with the event that ends it."""
    assert heard(*said).activity == activity


def test_what_came_before_the_snapshot_changes_nothing():
    """It is in there already: an old question is not asked again."""
    standing = Standing(session(last_seq=100))

    assert not standing.hear(event(50, ASKED))
    assert standing.pending == {}


def test_a_turn_that_ends_takes_its_questions_with_it():
    """Nobody is asked about what will not run."""
    assert heard(STARTED, ASKED, ev.TurnCanceled()).pending == {}


def test_a_queued_message_waits_until_its_turn_begins_or_is_canceled():
    """In the order they were said."""
    standing = Standing(session(activity="running"))
    for number, turn in enumerate(("turn_2", "turn_3"), 11):
        standing.hear(event(number, ev.MessageAdded(message=message(f"msg_{turn}", "x"), queued=True), turn))
    standing.hear(event(13, ev.TurnCanceled(), "turn_3"))

    assert [one.turn_id for one in standing.queue] == ["turn_2"]
    assert standing.is_busy
    standing.hear(event(14, DONE, "turn_1"))
    standing.hear(event(15, STARTED, "turn_2"))
    assert (standing.queue, standing.turn_id) == ([], "turn_2")


def test_the_verification_of_the_last_turn_stays_until_the_next():
    """A badge is about what was done last."""
    assert heard(STARTED, DONE).verification == "failing"
    assert heard(STARTED, DONE, STARTED).verification == "not_run"


def test_costs_add_up_and_stay_unknown_only_while_nothing_is_known():
    """Behind what the snapshot says."""
    used = ev.UsageRecorded(message_id="m", provider="p", model="m", usage=Usage(input_tokens=5, cost_usd=0.25))

    assert heard(used, usage=Usage(cost_usd=1.0)).usage.cost_usd == 1.25
    assert heard().usage.cost_usd is None


def test_a_session_with_a_queue_is_at_work_on_the_turn_that_runs():
    """Not on the last in line: so it is seen to end."""
    waits = (QueuedTurn(turn_id="turn_2", message_id="msg_2"),)
    fields = {"activity": "running", "running_turn_id": "turn_1", "last_turn_id": "turn_2", "queue": waits}
    standing = Standing(session(**fields))
    standing.hear(event(11, ev.TurnCanceled(), "turn_2"))
    assert standing.is_busy
    standing.hear(event(12, ev.TurnCanceled(), "turn_1"))
    assert not standing.is_busy


def test_what_workers_ask_is_told_beside_ones_own_questions():
    """It comes and goes with what the session says of them; a question of one's own stays."""
    asked = {name: getattr(ASKED, name) for name in ASKED.__struct_fields__} | {"tool_call_id": "call_2"}
    below = PendingApproval(turn_id="turn_w", requested_at="", session_id="sess_w", path=("mid", "dev"), **asked)
    standing = heard(STARTED)

    standing.hear_below([below])
    assert (standing.activity, standing.asked_below) == ("waiting_approval", True)
    assert Question(below, 0.0).title == "mid › dev: shell wants to run"

    standing.hear(event(20, ASKED))
    standing.hear_below([])
    assert (list(standing.pending), standing.asked_below) == (["call_1"], False)

    standing.hear(event(21, ev.ApprovalGranted(tool_call_id="call_1", name="shell")))
    assert standing.activity == "running"
