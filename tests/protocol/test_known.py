"""What was found out about values is known by which value it is, for as long as they are in the list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.protocol.known import Known
from agi.protocol.parts import Text


def text(said: str) -> Text:
    return Text(text=said)


class Maker:
    """Makes something new of each value, and counts."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def __call__(self, value: Text) -> list[str]:
        self.made.append(value.text)
        return [value.text]


def test_a_list_that_grew_is_looked_at_where_it_is_new():
    """What was made before is given again, the very same."""
    known, make = Known(), Maker()
    first = [text("a"), text("b")]

    before = known.of(first, make)
    after = known.of([*first, text("c")], make)

    assert make.made == ["a", "b", "c"]
    assert after == [["a"], ["b"], ["c"]]
    assert after[0] is before[0]


def test_an_equal_value_is_another_value():
    """Which one it is counts, not what it says."""
    known, make = Known(), Maker()
    known.of([text("a")], make)
    known.of([text("a")], make)

    assert make.made == ["a", "a"]


def test_one_value_may_stand_there_twice():
    """It is made once, and told in each place."""
    known, make, one = Known(), Maker(), text("a")

    assert known.of([one, text("b"), one], make) == [["a"], ["b"], ["a"]]
    assert make.made == ["a", "b"]


def test_what_is_not_in_the_list_any_more_is_let_go():
    """No more is kept than the last list came to."""
    known, make = Known(), Maker()
    one = text("a")
    known.of([one, *map(text, "bcdef")], make)
    known.of([one], make)

    assert len(known) == 1
    known.of([], make)
    assert len(known) == 0


def test_some_may_be_spared():
    """So that lists which take turns do not cost each other what is known; never more than that."""
    known, make = Known(spare=3), Maker()
    ours, theirs = [text("a"), text("b")], [text("c")]
    for _ in range(3):
        known.of(ours, make)
        known.of(theirs, make)
    assert make.made == ["a", "b", "c"]

    for number in range(100):
        known.of([text(str(number))], make)
        assert len(known) <= 4


def test_no_value_takes_the_place_of_one_that_is_gone():
    """Its identity is not given to another while something is known by it."""
    known = Known(spare=50)
    for number in range(2000):
        assert known.of([text(str(number))], lambda value: value.text) == [str(number)]


def test_all_is_made_anew_where_it_depends_on_something_else():
    """And again when that is as it was."""
    known, make, one = Known(), Maker(), text("a")
    for about in ("m-1", "m-1", "m-2", "m-1"):
        known.of([one], make, about)

    assert make.made == ["a", "a", "a"]


def test_what_cannot_be_made_is_not_known():
    """A failure is raised each time, and what was made before it stays."""
    known, make = Known(), Maker()
    good, bad = text("a"), text("b")

    def picky(value: Text) -> list[str]:
        if value is bad:
            raise ValueError(value.text)
        return make(value)

    for _ in range(2):
        with pytest.raises(ValueError, match="b"):
            known.of([good, bad], picky)
    assert make.made == ["a"]


@given(st.lists(st.lists(st.integers(0, 7), max_size=8)), st.integers(0, 3))
def test_whatever_lists_come_each_gets_what_belongs_to_it(lists, spare):
    """In order, and within its bounds."""
    values, known = [text(str(number)) for number in range(8)], Known(spare)
    for places in lists:
        assert known.of([values[at] for at in places], lambda value: value.text) == [str(at) for at in places]
        assert len(known) <= len(places) + spare
