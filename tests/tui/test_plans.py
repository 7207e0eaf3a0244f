"""A plan at the panel: which keys answer it, and what the answer says. Pure; the clock is passed in."""

from __future__ import annotations

import string

import pytest

from agi.protocol.preflight import EstimatedCost, PendingPreflight, PreflightStep
from agi.tui.plans import PlanQuestion

COST = EstimatedCost(input_tokens=1, output_tokens=1, estimated_usd=None, low_usd=None, high_usd=None)
STEPS = (
    PreflightStep(
        id="s1", description="Write", tool_name="write_file", target="a.txt", risk="medium", needs_approval=True
    ),
    PreflightStep(id="s2", description="Tell", risk="low", needs_approval=False),
)
LATER = 1.0
NAMED = ("enter", "space", "up", "down", "left", "right", "escape", "backspace", "tab")


def plan() -> PlanQuestion:
    asked = PendingPreflight(
        turn_id="turn_1",
        requested_at="",
        steps=STEPS,
        estimated_cost=COST,
        required_permissions=("write files",),
        warnings=("Mind\x1b[2J the gap.",),
        digest="d",
    )
    return PlanQuestion(asked, 0.0)


def press(question: PlanQuestion, *keys: str, now: float = LATER):
    outcome = None
    for key in keys:
        character = " " if key == "space" else key if len(key) == 1 else None
        outcome = question.press(key, character, now)
    return outcome


@pytest.mark.parametrize("key", [*NAMED, *string.printable[:94]])
def test_no_single_key_answers_and_no_two_that_are_the_same(key):
    """A digit only chooses, Enter only confirms what was chosen."""
    assert press(plan(), key, key).plan is None


@pytest.mark.parametrize("digit", "145")
def test_nothing_that_is_pressed_in_the_first_half_second_answers(digit):
    """However the keys follow each other."""
    question = plan()
    assert press(question, digit, "enter", now=0.4).plan is None
    assert question.chosen is None


def test_what_was_chosen_before_a_change_must_be_chosen_again():
    """Leaving a step out, or changing one, makes it another plan."""
    question = plan()
    press(question, "1", "down", "space")
    assert press(question, "enter").plan is None
    press(question, "1", "e", "backspace", "enter")
    assert press(question, "enter").plan is None


def test_the_whole_plan_is_approved_as_it_is():
    """Bound to what was seen."""
    answer = press(plan(), "1", "enter").plan
    assert (answer.approved, answer.edited_steps, answer.digest) == (True, None, "d")


def test_steps_are_left_out_and_changed_by_what_they_are_about():
    """A step with a target keeps its words, one without is its words; escape leaves it as it was."""
    question = plan()
    press(question, "down", "e", *["backspace"] * 5, *"b.txt", "enter")
    press(question, "down", "space", "e", "x", "escape")
    answer = press(question, "1", "enter").plan
    told = [(one.id, one.description, one.target, one.skip) for one in answer.edited_steps]
    assert told == [("s1", "Write", "b.txt", False), ("s2", "Tell", None, True)]
    assert "write_file b.txt (changed: it is judged anew)" in "\n".join(question.lines)


def test_a_refusal_may_have_a_reason_and_a_paste_is_part_of_it():
    """Nothing else takes a paste."""
    question = plan()
    assert not question.take_text("1")
    press(question, "5", "enter", *"not")
    assert question.take_text(" today")
    answer = press(question, "enter").plan
    assert (answer.approved, answer.reason, answer.digest) == (False, "not today", "d")


def test_a_plan_that_was_not_seen_whole_cannot_be_approved():
    """It can be refused; and approved, once it was looked at to its end."""
    question = plan()
    question.is_cut = True
    assert press(question, "1", "enter").plan is None
    question.was_viewed = True
    assert press(question, "1", "enter").plan.approved


def test_any_other_letter_goes_to_the_box_and_every_character_is_visible():
    """`e` too, where no step is marked."""
    assert press(plan(), "e").text == "e"
    assert press(plan(), "x").text == "x"
    assert "\x1b" not in "\n".join(plan().lines)
