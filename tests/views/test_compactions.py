"""Which compaction says what models are told: the last one that is neither undone nor taken back."""

from __future__ import annotations

import random
from collections.abc import Sequence

from agi.views.compactions import in_force, told_otherwise
from agi.views.segments import END, Revert, Segment, counts, segments

A, B = (10, "comp_a", False), (20, "comp_b", False)


def test_the_last_one_counts():
    """Each stands for itself."""
    assert in_force([], []) == 0
    assert in_force([A, B], []) == 20
    assert in_force([A, B], [], end=15) == 10


def test_one_that_was_undone_gives_way_to_the_one_before():
    """And that, once it is undone too, to the whole conversation."""
    assert in_force([A, B, (30, "comp_b", True)], []) == 10
    assert in_force([A, B, (30, "comp_b", True), (31, "comp_a", True)], []) == 0


def test_one_that_was_taken_back_with_the_conversation_is_not_in_force():
    """Neither is its undoing, when that was taken back."""
    assert in_force([A, B], [(25, 15)]) == 10
    assert in_force([A, B], [(25, 5)]) == 0
    assert in_force([A, (12, "comp_a", True)], [(15, 11)]) == 10


def test_a_revert_that_was_itself_reverted_brings_it_back():
    """As it stood at that point."""
    assert in_force([A], [(15, 5)]) == 0
    assert in_force([A], [(15, 5), (20, 14)]) == 10


def test_where_one_was_undone_models_were_told_something_else_until_then():
    """What was reported between the two says nothing about what is told now."""
    undone = (20, "comp_a", True)

    assert told_otherwise([A], []) == []
    assert told_otherwise([A, undone], []) == [(10, 20)]
    assert told_otherwise([A, undone], [], end=15) == [(0, 10)]
    assert told_otherwise([A, B, (30, "comp_b", True)], []) == [(0, 10), (20, 30)]


def test_that_holds_also_after_the_conversation_was_taken_back():
    """To a point behind the undoing; where the undoing was taken back, it is the other way round."""
    marks = [A, (20, "comp_a", True)]

    assert told_otherwise(marks, [(40, 30)]) == [(10, 20)]
    assert told_otherwise(marks, [(40, 15)]) == [(0, 10)]
    assert told_otherwise(marks, [(15, 5), (18, 14)]) == [(10, 20)]


def test_it_is_so_for_every_place_of_every_conversation():
    """At each one, what was in force then is compared with what is in force now."""
    chance = random.Random(7)
    for _ in range(300):
        marks, reverts, made = [], [], []
        for seq in range(10, 200, 10):
            what = chance.choice(("compacts", "undoes", "reverts", "talks"))
            if what == "compacts":
                made.append(f"comp_{seq}")
                marks.append((seq, made[-1], False))
            elif what == "undoes" and made:
                marks.append((seq, chance.choice(made), True))
            elif what == "reverts":
                reverts.append((seq, chance.randrange(seq)))
        now, otherwise = in_force(marks, reverts), told_otherwise(marks, reverts)
        places = [place for place in range(1, 210) if place % 10 and counts(place, segments(reverts))]
        if any(undone for _, _, undone in marks):
            wrong = [one for one in places if counts(one, otherwise) != (in_force(marks, reverts, one) != now)]
            assert wrong == []


def test_many_reverts_cost_little(monkeypatch):
    """The stretches of the conversation are found once, however often it was taken back."""
    asked: list[int] = []

    def counted(reverts: Sequence[Revert], end: int = END) -> list[Segment]:
        asked.append(end)
        return segments(reverts, end)

    monkeypatch.setattr("agi.views.compactions.segments", counted)
    told_otherwise([A, (20, "comp_a", True)], [(seq, seq - 1) for seq in range(100, 500)])

    assert len(asked) == 1
