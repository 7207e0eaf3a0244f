"""A limit that is reached ends the turn; a limit that cannot be kept is said."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agi.policy.budget import LEAST_ANSWER, Budget, Reserve, exceeded, output_room
from agi.protocol.messages import Usage

USED = Usage(input_tokens=60, output_tokens=40, requests=3, cost_usd=0.5)
PRICED = Reserve(tokens=1000, usd=0.1, usd_per_output_token=0.001)


@pytest.mark.parametrize(
    ("budget", "word"),
    [
        (Budget(), None),
        (Budget(usd=0.51, tokens=100 + LEAST_ANSWER, steps=4, seconds=10.1), None),
        (Budget(usd=0.5), "$0.50"),
        (Budget(tokens=100), "100 tokens is used up"),
        (Budget(tokens=101), "101 tokens does not allow one more call"),
        (Budget(steps=3), "3 steps"),
        (Budget(seconds=10), "10 seconds"),
        (Budget(usd=0), "$0.00"),
        (Budget(steps=0), "0 steps"),
        (Budget(seconds=0), "0 seconds"),
        (Budget(tokens=0), "0 tokens"),
    ],
)
def test_the_limit_that_is_reached_is_named(budget, word):
    """Reaching it is enough; what is not limited never is."""
    reason = exceeded(budget, USED, 3, 10.0)

    assert reason is None if word is None else reason is not None and word in reason


def test_an_unknown_price_reaches_no_limit():
    """Unknown is not zero, and not the limit either."""
    assert exceeded(Budget(usd=0.01), Usage(input_tokens=10, requests=1, cost_usd=None), 1, 1) is None


def test_an_unknown_price_does_not_undo_what_was_spent_before():
    """A session whose money is gone cannot go on with a model nobody knows the price of."""
    assert "used up" in (exceeded(Budget(usd=0.5), USED, 1, 1, Reserve(tokens=10)) or "")


def test_a_limit_of_tokens_holds_where_the_price_is_unknown():
    """The one does not depend on the other."""
    assert "50 tokens" in (exceeded(Budget(usd=1, tokens=50), Usage(input_tokens=50), 1, 1) or "")


def test_a_call_that_cannot_fit_is_not_made():
    """What it takes before it says a word counts as spent, and so do the least words of use."""
    assert exceeded(Budget(tokens=1100 + LEAST_ANSWER), USED, 1, 1, PRICED) is None
    assert "does not allow" in (exceeded(Budget(tokens=1099 + LEAST_ANSWER), USED, 1, 1, PRICED) or "")
    assert exceeded(Budget(usd=0.617), USED, 1, 1, PRICED) is None
    assert "does not pay" in (exceeded(Budget(usd=0.615), USED, 1, 1, PRICED) or "")


def test_a_model_that_is_known_to_be_free_is_stopped_by_no_limit_of_money():
    """Who may spend nothing may still ask a model of their own machine."""
    free = Reserve(tokens=1000, usd=0.0, usd_per_output_token=0.0)

    assert exceeded(Budget(usd=0), Usage(), 0, 0, free) is None
    assert exceeded(Budget(usd=0.5), USED, 1, 1, free) is None
    assert output_room(Budget(usd=0.5), USED, free) is None


@pytest.mark.parametrize(
    ("budget", "room"),
    [
        (Budget(), None),
        (Budget(steps=5, seconds=5), None),
        (Budget(tokens=2000), 900),
        (Budget(usd=1.0), 400),
        (Budget(usd=1.0, tokens=1200), 100),
        (Budget(usd=1.0, tokens=5000), 400),
    ],
)
def test_the_tightest_limit_says_how_much_may_be_said(budget, room):
    """What is left after what was used and what is reserved."""
    assert output_room(budget, USED, PRICED) == room


def test_where_only_what_is_sent_costs_money_nothing_limits_the_answer():
    """Unless what is sent costs too much already."""
    sending = Reserve(tokens=10, usd=0.4, usd_per_output_token=0.0)

    assert output_room(Budget(usd=1.0), USED, sending) is None
    assert exceeded(Budget(usd=1.0), USED, 1, 1, sending) is None
    assert "does not pay" in (exceeded(Budget(usd=0.8), USED, 1, 1, sending) or "")


def test_the_room_is_unknown_where_the_price_is():
    """No number is made up."""
    assert output_room(Budget(usd=1.0), USED, Reserve(tokens=1000)) is None


prices = st.floats(0, 0.1, allow_nan=False)


@given(
    tokens=st.none() | st.integers(0, 10_000),
    usd=st.none() | st.floats(0, 10),
    used=st.integers(0, 10_000),
    spent=st.none() | st.floats(0, 10),
    reserved=st.integers(0, 10_000),
    price=st.none() | prices,
)
def test_whoever_keeps_to_the_room_stays_within_the_limits(tokens, usd, used, spent, reserved, price):
    """A call that is allowed, takes what is reserved and says what it may, ends within the budget."""
    budget = Budget(tokens=tokens, usd=usd)
    usage = Usage(output_tokens=used, cost_usd=spent)
    reserve = Reserve(tokens=reserved, usd=None if price is None else reserved * price, usd_per_output_token=price)
    if exceeded(budget, usage, 0, 0.0, reserve) is not None:
        return

    room = output_room(budget, usage, reserve)

    assert room is None or room >= LEAST_ANSWER
    if room is not None and tokens is not None:
        assert used + reserved + room <= tokens
    if room is not None and usd is not None and price:
        total = (spent or 0.0) + reserved * price + room * price
        assert total <= usd or math.isclose(total, usd, rel_tol=1e-9)


def test_a_small_limit_of_money_is_told_as_what_it_is():
    """A worker's share may be less than a cent, and $0.00 would be a limit that nobody set."""
    spent = Usage(input_tokens=1, output_tokens=1, cost_usd=0.01)

    assert exceeded(Budget(usd=0.0039), spent, 0, 0.0) == "The budget of $0.0039 is used up: $0.0100 spent."
    assert exceeded(Budget(usd=0.01), spent, 0, 0.0) == "The budget of $0.01 is used up: $0.0100 spent."
