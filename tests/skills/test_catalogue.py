"""The list of skills a model is shown never takes more than its cap, and says what it left out."""

from __future__ import annotations

import pytest

from agi.protocol.skills import Skill
from agi.skills.catalogue import DEFAULT_CAP, Catalogue, catalogue, tokens_of


def many(count: int, description: str = "Handles the work of kind {n}, with all that belongs to it.") -> list[Skill]:
    return [
        Skill(name=f"skill-{n:04}", description=description.format(n=n), source="project", path="")
        for n in range(count)
    ]


def test_a_few_skills_are_listed_whole():
    """With whose they are, and no note."""
    found = catalogue(many(2))

    assert found.text.splitlines()[1:] == [
        "- skill-0000 (project): Handles the work of kind 0, with all that belongs to it.",
        "- skill-0001 (project): Handles the work of kind 1, with all that belongs to it.",
    ]
    assert (found.shown, found.left_out) == (("skill-0000", "skill-0001"), 0)
    assert found.tokens == tokens_of(found.text)


@pytest.mark.parametrize("cap", [0, 10, 80, 100, 150, DEFAULT_CAP, 20_000, 1_000_000])
@pytest.mark.parametrize("count", [1, 7, 2_000])
@pytest.mark.parametrize("description", ["Short {n}.", "é " * 500 + "{n}", "x" * 1024])
def test_the_cap_holds_for_any_number_of_skills(cap, count, description):
    """Two thousand cost no more than it; every skill is shown or counted."""
    found = catalogue(many(count, description), cap)

    assert tokens_of(found.text) == found.tokens <= cap
    assert len(found.shown) + found.left_out == count
    assert bool(found.text) == bool(found.shown)


def test_what_does_not_fit_is_counted_and_how_to_find_it_is_said():
    """Nothing is dropped silently."""
    found = catalogue(many(2_000))

    assert 30 < len(found.shown) < 100
    assert found.text.endswith(f"[{len(found.shown)} of 2,000 skills; `skill` with a `query` finds the others.]")


def test_the_best_for_the_query_are_those_that_are_shown():
    """Of two thousand, the one that was meant comes first."""
    assert catalogue(many(2_000), query="do the work of kind 1234").shown[0] == "skill-1234"


def test_long_descriptions_are_shortened_before_a_skill_is_left_out():
    """A name that is not there cannot be chosen."""
    found = catalogue(many(20, "word " * 200 + "{n}"))

    assert found.left_out == 0
    assert all(line.endswith("word…") for line in found.text.splitlines()[1:])


def test_the_same_skills_give_the_same_bytes():
    """So that what a provider has cached stays good."""
    assert catalogue(many(2_000)[::-1], query="work") == catalogue(many(2_000), query="work")
    assert catalogue([]) == Catalogue()


def test_where_all_fit_the_question_changes_nothing():
    """So sessions of one workspace begin with the same bytes, whatever is asked."""
    assert catalogue(many(5), query="kind 4") == catalogue(many(5))
