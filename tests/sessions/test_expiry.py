"""When a question expires."""

import asyncio
import time

import pytest

from agi.protocol.times import to_rfc3339
from agi.sessions.expiry import deadline


@pytest.mark.threat("T52")
@pytest.mark.parametrize(
    ("ago", "left"),
    [(0, 60), (20, 40), (60, 0), (90, 0), (3 * 86_400, 0), (-3 * 86_400, 60)],
    ids=["just asked", "a while ago", "just over", "over", "the clock jumped ahead", "the clock jumped back"],
)
async def test_what_is_left_of_the_time_is_between_nothing_and_all_of_it(ago, left):
    """Whatever the wall clock says of when it was asked."""
    found = deadline(to_rfc3339(time.time() - ago), 60.0)

    assert found is not None
    assert found - asyncio.get_running_loop().time() == pytest.approx(left, abs=2)


async def test_without_a_time_out_a_question_never_expires():
    """It waits until somebody answers, or the turn is canceled."""
    assert deadline(to_rfc3339(time.time()), None) is None
