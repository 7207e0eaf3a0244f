"""A change decided on hunk by hunk: what is taken, what is left out, and when there is an answer. Pure."""

from __future__ import annotations

import pytest
from msgspec import Raw

from agi.protocol.hunks import Hunk
from agi.protocol.sessions import PendingApproval
from agi.tui.hunks import HunkPick
from agi.tui.questions import Question

PATHS = ("a.py", "a.py", "b.py")
HUNKS = tuple(Hunk(id=f"h{n}", path=path, header="@@", diff=f"@@\n+{n}\n") for n, path in enumerate(PATHS))
ASKED = PendingApproval(
    turn_id="turn_1",
    tool_call_id="call_1",
    name="apply_patch",
    input=Raw(b"{}"),
    risk="medium",
    rule="write",
    reason="r",
    requested_at="",
    preview="diff",
    hunks=HUNKS,
    digest="d",
)


def press(question: Question, *keys: str):
    outcome = None
    for key in keys:
        outcome = question.press(key, key if len(key) == 1 else None, question.since + 1)
    return outcome


@pytest.mark.parametrize(
    ("keys", "accepted"),
    [
        ("111", ("h0", "h1", "h2")),
        ("121", ("h0", "h2")),
        ("32", ("h0", "h1")),
        ("41", ("h2",)),
        ("42", None),
    ],
)
def test_the_answer_names_what_was_taken_and_nothing_taken_is_a_refusal(keys, accepted):
    """Bound to the question that was seen."""
    pick = HunkPick(ASKED)
    for key in keys:
        assert pick.answer() is None
        pick.take(key)
    answer = pick.answer()
    assert (answer.action, answer.hunks) == (("approve", accepted) if accepted else ("deny", None))
    assert answer.digest == ("d" if accepted else None)


def test_each_is_seen_alone_with_how_far_one_is():
    """What was said of one can be changed until the answer is given."""
    pick = HunkPick(ASKED)
    assert (pick.lines, pick.place, pick.marks) == (["a.py", "@@", "+0"], "hunk 1 of 3", "[·]··")
    pick.take("1")
    assert (pick.place, pick.marks, pick.open) == ("hunk 2 of 3", "✓[·]·", 2)
    pick.move(-1)
    pick.take("2")
    assert pick.marks == "✗[·]·"
    pick.move(2)
    assert pick.place == "hunk 1 of 3"


def test_only_a_change_of_several_hunks_offers_it_and_it_must_be_chosen_and_confirmed():
    """Digits mean another thing then; Enter before everything is decided sends nothing."""
    one = PendingApproval(**{name: getattr(ASKED, name) for name in ASKED.__struct_fields__} | {"hunks": HUNKS[:1]})
    assert [option.digit for option in Question(one, 0.0).options()] == ["1", "4", "5"]
    question = Question(ASKED, 0.0)
    press(question, "6")
    assert question.pick is None
    assert press(question, "enter", "enter", "3", "enter").answer is None
    assert press(question, "1", "enter").answer.hunks == ("h0", "h1", "h2")


def test_escape_goes_back_and_forgets_and_a_letter_goes_to_the_box():
    """Nothing is chosen then."""
    question = Question(ASKED, 0.0)
    assert press(question, "6", "enter", "1", "x").text == "x"
    press(question, "escape")
    assert (question.pick, question.chosen) == (None, None)
    assert press(question, "enter").answer is None
