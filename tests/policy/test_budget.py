"""A limit that is reached ends the turn; a limit that cannot be kept is said."""

from __future__ import annotations

import pytest

from agi.policy.budget import Budget, exceeded
from agi.protocol.messages import Usage

USED = Usage(input_tokens=60, output_tokens=40, requests=3, cost_usd=0.5)


@pytest.mark.parametrize(
    ("budget", "word"),
    [
        (Budget(), None),
        (Budget(usd=0.51, tokens=101, steps=4, seconds=10.1), None),
        (Budget(usd=0.5), "$0.50"),
        (Budget(tokens=100), "100 tokens"),
        (Budget(steps=3), "3 steps"),
        (Budget(seconds=10), "10 seconds"),
        (Budget(usd=0), "$0.00"),
    ],
)
def test_the_limit_that_is_reached_is_named(budget, word):
    """Reaching it is enough; what is not limited never is."""
    reason = exceeded(budget, USED, 3, 10.0)

    assert reason is None if word is None else reason is not None and word in reason


def test_an_unknown_price_reaches_no_limit():
    """Unknown is not zero, and not the limit either."""
    assert exceeded(Budget(usd=0.01), Usage(input_tokens=10, requests=1, cost_usd=None), 1, 1) is None
