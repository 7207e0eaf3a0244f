"""kill -9 at the n-th write, sync, truncation or rename of a whole session: whatever n is, nothing is lost.

strace decides the moment, so each of them can be had again. AGI_SWEEP says how many moments of each kind are tried
(default 4; `all` for every one), AGI_SEED which.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from tests.torture.invariants import Acknowledged, check_goes_on
from tests.torture.traced import WRITES, calls_by_thread, run_session, strace

pytestmark = pytest.mark.slow
SWEEP = os.environ.get("AGI_SWEEP", "4")
SEED = int(os.environ.get("AGI_SEED", "1"))


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """How often a session that nobody disturbs does each of them."""
    root = tmp_path_factory.mktemp("counted")
    done = run_session(root, *strace("-e", f"trace={','.join(WRITES)}", output=root / "trace"))
    assert done.returncode == 0, done.stderr
    return calls_by_thread(root / "trace")


def moments(name: str, most: int) -> list[int]:
    """The first, the last and some between; or all."""
    if SWEEP == "all" or most <= int(SWEEP):
        return list(range(1, most + 1))
    between = random.Random(f"{SEED} {name}").sample(range(2, most), int(SWEEP) - 2)
    return [1, *sorted(between), most]


@pytest.mark.threat("T44")
@pytest.mark.timeout(14400)
@pytest.mark.parametrize("name", WRITES)
async def test_killed_at_any_write_it_goes_on_from_its_last_event(
    tmp_path: Path, counts: dict[str, int], name: str
) -> None:
    """Every acknowledged event is there, numbers are dense, open calls are closed, and the next turn is answered."""
    killed = 0
    for when in moments(name, counts[name]):
        root = tmp_path / f"{name}-{when}"
        root.mkdir()
        done = run_session(root, *strace("-e", f"trace={name}", "-e", f"inject={name}:signal=SIGKILL:when={when}"))
        killed += done.returncode != 0
        await check_goes_on(root, Acknowledged(done.stdout))
    print(f"{name}: killed {killed} of {len(moments(name, counts[name]))} times, {counts[name]} moments there are")
    assert killed > 0 or not counts[name]
