"""What events mean for a draft: turns, tokens and its end, whatever the log tells."""

from __future__ import annotations

from agi.protocol import events as ev
from agi.protocol.events import Event
from agi.protocol.messages import Usage
from agi.views.folding import fold
from agi.views.state import SessionState

CREATED = ev.SessionCreated(id="sess_1", agent="plan", workspace_path="/w", project_path="/w", created_at="t0")
OPENED = ev.DraftOpened(role="plan", project="p", task_slug="t", task_dir=".agents/tasks/t/", channel_id="rpc")
STARTED = ev.TurnStarted(message_id="msg_1", agent="plan", provider="p", model="m")
COMPACTED = ev.ContextCompacted(compaction_id="c", trigger="manual", pre_tokens=70, post_tokens=20)
DONE = ev.TurnCompleted(message_id="msg_2", stop_reason="end_turn", steps=1, usage=Usage())


def usage(tokens: int, message_id: str = "msg_2") -> ev.UsageRecorded:
    used = Usage(input_tokens=tokens, output_tokens=3, requests=1)
    return ev.UsageRecorded(message_id=message_id, provider="p", model="m", usage=used)


def folded(*entries: tuple[str | None, ev.EventData]) -> SessionState:
    state: SessionState | None = None
    for seq, (turn_id, data) in enumerate(((None, CREATED), (None, OPENED), *entries), 1):
        state = fold(state, Event.of(seq, f"t{seq}", "sess_1", turn_id, data))
    assert state is not None
    return state


def test_a_turn_is_counted_when_it_ends():
    """However it ends; one that was dropped from the queue never was one."""
    dropped = ("turn_9", ev.TurnCanceled())
    state = folded(("turn_1", STARTED), dropped, ("turn_1", DONE), ("turn_2", STARTED), ("turn_2", ev.TurnCanceled()))

    assert state.draft is not None
    assert (state.draft.turn_count, state.draft.last_activity_at) == (2, "t7")


def test_tokens_are_those_of_the_last_call_of_the_conversation():
    """What a review or a title costs says nothing about how full the context is."""
    state = folded(("turn_1", STARTED), ("turn_1", usage(70)), ("turn_1", usage(9, "")), (None, usage(8)))

    assert state.draft is not None
    assert (state.draft.input_tokens, state.draft.output_tokens, state.draft.model) == (70, 3, "m")


def test_after_a_compaction_there_is_room_again():
    """What the next call will be told is known before it is made."""
    state = folded(("turn_1", STARTED), ("turn_1", usage(70)), ("turn_1", DONE), (None, COMPACTED))

    assert state.draft is not None
    assert state.draft.input_tokens == 20


def test_after_it_was_undone_it_is_as_full_as_that():
    """Older logs do not say how full: then it is what it was last."""
    undone, older = ev.CompactionUndone(compaction_id="c", tokens=75), ev.CompactionUndone(compaction_id="c")
    before = (("turn_1", STARTED), ("turn_1", usage(70)), (None, COMPACTED))
    found = [folded(*before, (None, one)) for one in (undone, older)]

    assert [state.draft and state.draft.input_tokens for state in found] == [75, 20]


def test_what_happens_after_the_end_changes_nothing():
    """The session may go on; the draft is over."""
    state = folded((None, ev.DraftClosed(reason="r")), ("turn_1", STARTED), ("turn_1", usage(5)), ("turn_1", DONE))

    assert state.draft is not None
    assert (state.draft.status, state.draft.closed_reason, state.draft.turn_count) == ("closed", "r", 0)
    assert not state.has_team


def test_a_worker_knows_who_asked_for_it():
    """And has a team of its own as long as it is a session."""
    state = folded((None, ev.AgentDispatched(role="dev", project="p", parent_session_id="sess_0")))

    assert state.worker is not None
    assert (state.worker.role, state.worker.parent_session_id) == ("dev", "sess_0")
    assert state.has_team
