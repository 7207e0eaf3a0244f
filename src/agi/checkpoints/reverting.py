"""Taking a session's changes back, as a step of its own that can be taken back too.

What is about to be done is written down first. A revert that a kill cut off did not happen: whoever comes next puts
back what it had done already. May import: errors, workspace, checkpoints.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence

from agi.checkpoints import ledger
from agi.checkpoints.composing import Done, Net, Plan, compose, plan
from agi.checkpoints.ledger import Step
from agi.checkpoints.looking import folder_at, root_of
from agi.checkpoints.nodes import Change, Node, is_ignored
from agi.checkpoints.restoring import clean_up, restore, stands
from agi.checkpoints.store import Store, get_blob
from agi.checkpoints.tracking import Closed, Tracker
from agi.errors import Conflict

_NEW_PLAN = "INSERT INTO plans VALUES (?,?,?,?,?,?,?,?,?,?,?)"
_PLANNED = (
    "SELECT path, before_kind, before_mode, before_size, before_key, after_kind, after_mode, after_size, after_key"
    " FROM plans WHERE step=? ORDER BY number"
)


def contents(store: Store) -> Callable[[Node], bytes | None]:
    """How to get at what a file or a link held."""

    def fetch(node: Node) -> bytes | None:
        with store.reading() as db:
            return get_blob(db, node.key, node.size)

    return fetch


def done_by(db: sqlite3.Connection, session: str, ids: Sequence[str]) -> dict[str, Net]:
    """What steps of a session changed on the whole; raises Conflict if one of them is no longer kept."""
    own: list[Done] = []
    for id in ids:
        step = ledger.find_step(db, id)
        if step is None or step.last is None:
            raise _gone()
        own.append((step, ledger.changes_of(db, step)))
    if not own:
        return {}
    first, last = own[0][0].first, max(step.last or 0 for step, _ in own)
    among = frozenset(ids)
    beside = [
        step
        for step in ledger.steps_beside(db, own[0][0].workspace, session, first, last)
        if step.id not in among  # of a session this one was forked from
    ]
    return compose(own, [(step, ledger.changes_of(db, step)) for step in beside])


def plan_revert(
    tracker: Tracker,
    session: str,
    ids: Sequence[str],
    *,
    forced: Callable[[Collection[str]], Collection[str]],
    wanted: Callable[[Collection[str]], Collection[str]],
) -> Plan:
    """How to take back what these steps did, looking at the files as they are now.

    `wanted` and `forced` choose from the paths that were changed.
    """
    with tracker.store.reading() as db:
        # What is ignored is not read, not even now: it may be a secret.
        touched = [path for path, net in done_by(db, session, ids).items() if not is_ignored(net.before)]
    tracker.look(only=touched)
    with tracker.store.reading() as db:
        nets = done_by(db, session, ids)
        now = tracker.store.index(tracker.workspace.root).known
        chosen = set(wanted(nets))
        return plan(
            nets,
            now,
            forced=forced(chosen),
            wanted=chosen.__contains__,
            later=lambda net: _changed_later(db, session, net),
        )


def carry_out(tracker: Tracker, moves: Sequence[Change], *, id: str, session: str) -> Closed | None:
    """Do it, all or nothing; None if there was nothing to do."""
    if not moves:
        return None
    store, fetch = tracker.store, contents(tracker.store)
    paths = [one.path for one in moves]
    step = tracker.begin(id=id, session=session, turn=None, call="", cause="revert", named=paths, also=paths).step
    try:
        with store.writing() as db:
            rows = [(step.number, number, *ledger.change_row(one)) for number, one in enumerate(moves)]
            db.executemany(_NEW_PLAN, rows)
        with root_of(tracker.workspace) as root:
            restore(root, moves, fetch, _mark(step))
        return tracker.end(step, also=paths)
    except BaseException:
        _roll_back(tracker, step, moves)
        raise


def catch_up(tracker: Tracker, session: str) -> None:
    """Close what was left open, so that all a session did is known; to be called before its steps are listed."""
    settle(tracker)
    if tracker.is_left_open(session):
        tracker.look()
        with tracker.store.writing() as db:
            for step in ledger.open_steps(db, tracker.store.index(tracker.workspace.root).id):
                if step.session == session and step.cause != "revert":
                    ledger.close_step(db, step, cause="interrupted")


def settle(tracker: Tracker) -> None:
    """Put back what reverts had done when their process died."""
    store = tracker.store
    with store.reading() as db:
        plans = [(step, _planned(db, step)) for step in ledger.left_reverts(db, _root(tracker))]
    for step, moves in plans:
        _roll_back(tracker, step, moves)


def _roll_back(tracker: Tracker, step: Step, moves: Sequence[Change]) -> None:
    with root_of(tracker.workspace) as root:
        clean_up(root, moves, _mark(step))
        back = [one for one in (_back(root, move) for move in moves) if one is not None]
        restore(root, back, contents(tracker.store), _mark(step))
    with tracker.store.writing() as db:
        ledger.drop_step(db, step)


def _back(root: int, move: Change) -> Change | None:
    """How to undo one move, if it was made; what is neither the old state nor the new one is somebody's newer work."""
    folder, _, name = move.path.rpartition("/")
    there = move.after
    try:
        with folder_at(root, folder) as fd:
            if stands(fd, name, move.before):
                return None
            if stands(fd, name, None):
                there = None
            elif not stands(fd, name, move.after):
                return None
    except (FileNotFoundError, NotADirectoryError):
        there = None
    return Change(move.path, there, move.before) if there != move.before else None


def _planned(db: sqlite3.Connection, step: Step) -> list[Change]:
    return [ledger.change_of(*row) for row in db.execute(_PLANNED, (step.number,))]


def _changed_later(db: sqlite3.Connection, session: str, net: Net) -> str:
    """The session that changed a path after this one did; empty if it was the user, or nobody knows."""
    question = "SELECT workspace FROM changes WHERE number=?"
    row = db.execute(question, (net.last,)).fetchone()
    beside = ledger.steps_beside(db, row[0], session, net.last, 1 << 62) if row else []
    for step in reversed(beside):
        if any(one.change.path == net.path and one.number > net.last for one in ledger.changes_of(db, step)):
            return step.session
    return ""


def _mark(step: Step) -> str:
    return step.id.rpartition("_")[2][-16:]


def _root(tracker: Tracker) -> bytes:
    return str(tracker.workspace.root).encode("utf-8", "surrogateescape")


def _gone() -> Conflict:
    return Conflict(
        "What the files held then is no longer kept: older checkpoints make room for newer ones.",
        hint="Take back less, or raise checkpoints.maxTotalBytes for the future.",
        code="checkpoint_gone",
    )
