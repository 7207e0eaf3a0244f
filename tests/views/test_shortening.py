"""What making a conversation shorter means for a session: how much models are told, and what its summaries owe."""

from __future__ import annotations

from agi.protocol import events as ev
from agi.protocol.messages import Message
from agi.protocol.parts import Text
from agi.views.folding import fold
from agi.views.shortening import HOLDS
from agi.views.state import SessionState

TS = "2026-01-01T00:00:00.000Z"


def session(*steps: ev.EventData) -> SessionState:
    """A session whose turn `t1` runs, and then these."""
    begun = (
        ev.SessionCreated(id="sess_1", agent="build", workspace_path="/w", project_path="/p", created_at=TS),
        ev.TurnStarted(message_id="msg_1", agent="build", provider="p", model="m"),
    )
    state: SessionState | None = None
    for seq, data in enumerate((*begun, *steps), 1):
        state = fold(state, ev.Event.of(seq, TS, "sess_1", "t1", data))
    assert state is not None
    return state


def cut(first_kept: str, trigger: str = "threshold", **kept: object) -> ev.ContextCompacted:
    told = {"compaction_id": f"comp_{first_kept}", "trigger": trigger, "pre_tokens": 9, "post_tokens": 1, **kept}
    return ev.ContextCompacted(first_kept=first_kept, **told)  # type: ignore[arg-type]


def said(status: str = "complete") -> ev.ModelOutputCompleted:
    message = Message(id="msg_a", role="assistant", parts=(Text(text="a"),), created_at=TS, status=status)  # type: ignore[arg-type]
    return ev.ModelOutputCompleted(message=message)


def test_what_is_shown_is_what_a_compaction_left_and_after_undoing_it_all_of_it_again():
    """In logs of older versions that is not known."""
    assert session(cut("a")).context_tokens == 1
    assert session(cut("a"), ev.CompactionUndone(compaction_id="comp_a", tokens=12)).context_tokens == 12
    assert session(cut("a"), ev.CompactionUndone(compaction_id="comp_a")).context_tokens == 0


def owed(*steps: ev.EventData) -> int:
    turn = session(*steps).turn
    assert turn is not None
    return turn.owed


def test_a_summary_owes_answers_and_each_answer_pays_for_one():
    """One that was cut off pays for none, and nothing is paid ahead."""
    assert owed() == 0
    assert owed(cut("a")) == HOLDS
    assert owed(cut("a"), said()) == HOLDS - 1
    assert owed(cut("a"), said("error")) == HOLDS
    assert owed(cut("a"), *[said()] * (HOLDS + 3)) == 0
    assert owed(*[said()] * 5, cut("a"), cut("b", "overflow")) == 2 * HOLDS


def test_outputs_that_are_left_out_owe_nothing():
    """No model was asked: what is told begins where it began."""
    assert owed(cut("", pruned=("call_1",))) == 0
    assert owed(cut("a"), said(), cut("a", pruned=("call_1",))) == HOLDS - 1
    assert owed(cut("a"), cut("a", pruned=("call_1",)), cut("b")) == 2 * HOLDS


def test_after_a_summary_was_undone_or_taken_back_the_same_is_reckoned_as_before_it():
    """Leaving outputs out owes nothing, and a summary up to the same message is another one."""
    reverted = ev.ConversationReverted(to="start", to_seq=2, messages=1)
    for gone in (ev.CompactionUndone(compaction_id="comp_a"), reverted):
        assert owed(cut("a", "manual"), gone, cut("", pruned=("call_1",))) == 0
        assert owed(cut("a", "manual"), gone, cut("a")) == HOLDS
    later = ev.ConversationReverted(to="turn", to_seq=3, messages=1)
    assert owed(cut("a", "manual"), later, cut("a", pruned=("call_1",))) == 0


def test_what_a_person_asked_for_owes_nothing():
    """Nor does it pay for anything."""
    assert owed(cut("a", "manual")) == 0
    assert owed(cut("a"), cut("b", "manual")) == HOLDS


def test_another_model_and_another_turn_owe_nothing_of_it():
    """A window of another size, and another question."""
    switched = ev.ModelSwitched(from_provider="p", from_model="m", provider="q", model="n", code="c", reason="r")
    again = ev.TurnStarted(message_id="msg_2", agent="build", provider="p", model="m")

    assert owed(cut("a"), switched) == 0
    assert owed(cut("a"), again) == 0
    assert owed(cut("a"), ev.TurnResumed()) == HOLDS
