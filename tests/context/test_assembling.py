"""The assembler: the same pieces give the same bytes, in a fixed order, within the budget of each name."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from agi.context.assembling import CUT, assemble, digest_of
from agi.context.base import ORDER, Piece
from agi.context.tokens import tokens_of

PIECES = st.lists(
    st.builds(
        Piece,
        name=st.sampled_from([*ORDER, "other"]),
        source=st.text(max_size=30),
        text=st.text(max_size=4_000),
        heading=st.text(max_size=200),
        rank=st.integers(0, 3),
        longer=st.sampled_from(["", "too long"]),
        refused=st.sampled_from(["", "", "no"]),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(PIECES, st.dictionaries(st.sampled_from(ORDER), st.integers(0, 2_000)))
def test_budgets_are_kept_whatever_is_offered(pieces, budgets):
    """All sections of a name together cost no more than its budget, and each cut and omission has a reason."""
    made = assemble(pieces, budgets)

    for name, budget in budgets.items():
        assert sum(one.tokens for one in made.sections if one.name == name) <= budget
    for one in made.sections:
        assert bool(one.text) == (one.status != "left_out")
        assert bool(one.why) == (one.status != "in")
        assert one.tokens == tokens_of(one.text)
    assert assemble(pieces, budgets) == made


@given(PIECES)
@settings(max_examples=30, deadline=None)
def test_the_order_is_fixed(pieces):
    """By name, then as offered; none is lost."""
    made = assemble(pieces, {}).sections
    places = [ORDER.index(one.name) if one.name in ORDER else len(ORDER) for one in made]

    assert places == sorted(places)
    assert sorted(one.key for one in made) == sorted(f"{one.name} {one.source}" for one in pieces)


def test_the_nearest_gets_what_is_left_of_a_budget():
    """Rank decides who is cut, not the order in which they are told."""
    far = Piece(name="rules", source="far", text="far\n" * 200, rank=2)
    near = Piece(name="rules", source="near", text="near\n" * 100, rank=1)
    made = assemble([far, near], {"rules": 200})

    assert [(one.source, one.status) for one in made.sections] == [("far", "cut"), ("near", "in")]
    assert made.sections[0].text.endswith(f"far{CUT}")
    assert made.sections[0].why == "longer than what is left of the budget of 200 tokens"


def test_what_would_be_too_short_to_be_of_use_is_left_out():
    """A stump says nothing."""
    made = assemble([Piece(name="rules", source="a", text="x" * 4_000)], {"rules": 30})

    assert [(one.status, one.text, one.why) for one in made.sections] == [
        ("left_out", "", "the budget of 30 tokens is used up")
    ]


def test_the_head_is_made_of_the_prefix_alone():
    """Tools have a field of their own, and what belongs to a turn is said in the conversation."""
    pieces = [
        Piece(name="todo", source="log", text="later", place="conversation"),
        Piece(name="tools", source="agent build", place="tools", size=400, digest="d"),
        Piece(name="agent", source="agent build", text="Be brief.\n"),
        Piece(name="rules", source="AGENTS.md", text="Be kind.", heading="Rules:"),
    ]
    made = assemble(pieces, {})

    assert made.system == "Be brief.\n\nRules:\n\nBe kind."
    assert made.tokens == sum(tokens_of(one) for one in ("Be brief.", "Rules:\n\nBe kind.")) + 100


def test_a_digest_is_of_the_whole_source():
    """So a change is noticed where the text was cut, and no budget makes one."""
    whole = Piece(name="rules", source="a", text="x" * 4_000)

    assert assemble([whole], {"rules": 100}).sections[0].digest == assemble([whole], {}).sections[0].digest
    assert digest_of("") == ""
