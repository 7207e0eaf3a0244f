"""The store stays within its size; whoever was quiet longest goes first."""

from __future__ import annotations

import os

import pytest
from tests.checkpoints.conftest import Watched

from agi.checkpoints import ledger
from agi.checkpoints.pruning import forget, prune
from agi.checkpoints.reverting import done_by
from agi.checkpoints.store import stored_bytes
from agi.errors import Conflict


def work(watched: Watched, session: str, count: int = 4) -> list[str]:
    steps = [watched.step(lambda: watched.write("a", os.urandom(100_000)), session=session) for _ in range(count)]
    return [one.step.id for one in steps if one is not None]


def sessions(watched: Watched) -> set[str]:
    with watched.store.reading() as db:
        return {row[0] for row in db.execute("SELECT DISTINCT session FROM steps")}


def test_below_the_limit_nothing_goes(watched: Watched):
    """And nothing is looked for."""
    work(watched, "sess_1")
    assert prune(watched.store, 10_000_000, "sess_1", 1) == 0
    assert sessions(watched) == {"sess_1"}


def test_the_oldest_sessions_go_first_and_give_their_room_back(watched: Watched):
    """The file itself gets smaller; what is left can still be taken back."""
    for name in ("sess_1", "sess_2", "sess_3"):
        work(watched, name)
    steps = [watched.step(lambda: watched.write("a", os.urandom(100_000)), session="sess_3")]
    before = (watched.root / "a").read_bytes()
    steps.append(watched.step(lambda: watched.write("a", b"last"), session="sess_3"))
    path = watched.store.folder / "objects.sqlite"
    watched.store.reclaim()
    size = path.stat().st_size

    assert prune(watched.store, 1_000_000, "sess_3", 1) > 0
    assert sessions(watched) == {"sess_3"}
    assert path.stat().st_size < size - 500_000
    with watched.store.reading() as db:
        assert stored_bytes(db) < 1_000_000
    watched.revert(steps[-1], session="sess_3")
    assert (watched.root / "a").read_bytes() == before


def test_a_sessions_own_oldest_steps_go_last(watched: Watched):
    """When nothing else is left: the newest stay."""
    ids = work(watched, "sess_1", 20)
    prune(watched.store, 1_000_000, "sess_1", 1)
    with watched.store.reading() as db:
        left = [step.id for step in ledger.steps_of(db, "sess_1")]

    assert 0 < len(left) < 20
    assert left == ids[-len(left) :]
    with watched.store.reading() as db, pytest.raises(Conflict):
        done_by(db, "sess_1", ids)


def test_what_is_under_way_stays(watched: Watched):
    """A call that runs can still be taken back, however full the store is."""
    watched.write("a", b"before" * 1000)
    tracker = watched.tracker("sess_1")
    begun = tracker.begin(id="ckpt_open", session="sess_1", turn=None, call="")
    work(watched, "sess_2", 10)
    prune(watched.store, 100_000, "sess_2", begun.step.workspace)
    closed = tracker.end(begun.step)

    plan = watched.plan(closed, forced=("a",))
    watched.revert(closed, forced=("a",))
    assert plan.moves
    assert (watched.root / "a").read_bytes() == b"before" * 1000


def test_a_forgotten_session_is_gone(watched: Watched):
    """Its steps at once, its content when room is made."""
    work(watched, "sess_1")
    work(watched, "sess_2", 1)
    forget(watched.store, "sess_1")

    assert sessions(watched) == {"sess_2"}
    with watched.store.reading() as db:
        assert db.execute("SELECT count(*) FROM changes").fetchone()[0] == 1


def test_forgetting_makes_no_store(watched: Watched):
    """Where nothing was ever kept."""
    forget(watched.store, "sess_1")
    assert not watched.store.exists
