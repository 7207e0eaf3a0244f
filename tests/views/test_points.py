"""The points of a session one can go back to, read from its log."""

from __future__ import annotations

import pytest

from agi.errors import Conflict, NotFound
from agi.protocol.commands import PostMessage
from agi.views.points import points, seq_of


@pytest.fixture
async def talked(place):
    """A session with two turns, of which the first made a checkpoint."""
    place.configure('{"approval": {"requireForKinds": []}, "verify": {"autoVerify": false}}')
    place.model.calls("shell", command="echo 1 > a").then_says("one").then_says("two")
    await place.ask("first")
    await place.ask("second")
    return place


async def test_turns_and_checkpoints_are_found_in_order(talked):
    """With where they stand."""
    found = points(talked.harness.log.db, talked.session_id)
    started = talked.events("turn_started")

    assert found.turns == {event.turn_id: event.seq for event in started}
    [mark] = found.checkpoints.values()
    assert (mark.seq, mark.turn_id) == (talked.events("checkpoint_created")[0].seq, started[0].turn_id)
    assert found.last_turn(started[1].seq - 1) == started[0].turn_id
    assert found.last_turn(1) is None


async def test_each_point_is_the_last_event_that_counts(talked):
    """Before a turn began; with the result of the call that made a checkpoint; the very beginning."""
    db, session = talked.harness.log.db, talked.session_id
    found = points(db, session)
    second = talked.events("turn_started")[1]

    assert seq_of(db, session, found, "start") == 1
    assert seq_of(db, session, found, second.turn_id) == second.seq - 1
    assert seq_of(db, session, found, next(iter(found.checkpoints))) == talked.events("tool_call_completed")[0].seq


async def test_what_is_no_point_is_said_to_be_none(talked):
    """Nor is a turn that waits in line."""
    db, session = talked.harness.log.db, talked.session_id
    found = points(db, session)
    with pytest.raises(NotFound):
        seq_of(db, session, found, "ckpt_none")
    talked.model.says("three")
    posted = await talked.harness.post_message(session, PostMessage(content="later"))
    await talked.ended(posted)
    with pytest.raises(Conflict):
        seq_of(db, session, found, posted.turn_id)  # as these points have it, it has not begun
