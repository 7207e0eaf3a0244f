"""Taking back what a session did: its changes of files, its conversation, or both; and showing what it changed.

The log only grows: a revert is one more event, and can itself be reverted. While one is under way the session does not
run. May import: errors, protocol, eventlog, checkpoints, editing, views, sessions.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from agi.checkpoints import ledger, pruning
from agi.checkpoints.composing import Plan, changed
from agi.checkpoints.diffing import Diffs, told
from agi.checkpoints.ledger import Step
from agi.checkpoints.nodes import Change
from agi.checkpoints.opened import store_at
from agi.checkpoints.paths import meant, shown
from agi.checkpoints.reverting import carry_out, catch_up, contents, done_by, plan_revert
from agi.checkpoints.store import Store
from agi.checkpoints.tracking import Closed, Tracker
from agi.editing.locks import holding
from agi.errors import Conflict, Invalid
from agi.eventlog.log import EventLog
from agi.protocol import events as ev
from agi.protocol.checkpoints import CheckpointPolicy, RevertConflict, Reverted, SessionDiff
from agi.protocol.commands import Revert
from agi.protocol.ids import CHECKPOINT, PART, new_id
from agi.protocol.parts import Text
from agi.sessions.checkpointing import created
from agi.sessions.composing import compose
from agi.sessions.runners import Runners
from agi.tools.threads import in_thread
from agi.views import queries
from agi.views.points import FORK, START, Points, points, seq_of
from agi.workspace.handle import Workspace

NAMED = 10
ORIGIN = "files_reverted"
TOLD = "The user took these files back to an earlier state; what you know of them is out of date: {}"
NOTHING = Diffs((), {"files": 0, "additions": 0, "deletions": 0}, False)


class Ground(Struct, frozen=True):
    """Where a session works, and what is kept of it."""

    workspace: Workspace
    policy: CheckpointPolicy


class Undoing:
    """The verbs about what can be taken back."""

    def __init__(self, log: EventLog, runners: Runners, folder: Path, ground: Callable[[str], Ground]) -> None:
        self._log = log
        self._runners = runners
        self._store = store_at(folder)
        self._ground = ground

    async def diff(self, session_id: str, *, turn: str = "", start: str = "", end: str = "") -> SessionDiff:
        """What a session changed: on the whole, in one turn, or between two points."""
        if turn and (start or end):
            raise Invalid("A turn, or `from` and `to`: not both.", hint="Send one of them.", code="diff_ambiguous")
        queries.session_state(self._log.db, session_id)
        found = points(self._log.db, session_id)
        first = seq_of(self._log.db, session_id, found, turn or start or (FORK if found.fork else START))
        last = seq_of(self._log.db, session_id, found, end) if end else None
        diffs = await in_thread(lambda _: self._diffs(session_id, found, first, last, turn))
        return SessionDiff(session_id=session_id, files=diffs.files, summary=diffs.summary, truncated=diffs.truncated)

    async def revert(self, session_id: str, command: Revert) -> Reverted:
        """Go back to an earlier point, or say what that would mean."""
        if command.what == "conversation" and (command.paths or command.force):
            raise Invalid("`paths` and `force` are about files.", hint="Leave them out.", code="revert_ambiguous")
        workspace_path = queries.session_state(self._log.db, session_id).workspace_path
        async with self._runners.hold(session_id):
            lease = await self._log.take_lease(session_id)
            try:
                ground = self._ground(workspace_path)
                return await _Going(self._log, self._store, session_id, command, ground).run()
            finally:
                await self._log.release_lease(lease)

    async def forget(self, session_id: str) -> None:
        """A session is gone, and with it what could be taken back."""
        await asyncio.to_thread(pruning.forget, self._store, session_id)

    def _diffs(self, session_id: str, found: Points, first: int, last: int | None, turn: str) -> Diffs:
        if not self._store.exists:
            return NOTHING
        with self._store.reading() as db:
            steps = placed(ledger.steps_of(db, session_id), found)
            ids = ids_between(steps, found, first, last, turn)
            nets = done_by(db, session_id, ids)
        others = [net.path for net in nets.values() if net.broken or net.elsewhere]
        return told(changed(nets), contents(self._store), others)


class _Going:
    """One revert."""

    def __init__(self, log: EventLog, store: Store, session_id: str, command: Revert, ground: Ground) -> None:
        self._log = log
        self._store = store
        self._session_id = session_id
        self._command = command
        self._tracker = Tracker(store, ground.workspace, ground.policy)
        self._points = points(log.db, session_id)
        self._to = seq_of(log.db, session_id, self._points, command.to)
        self._untold: list[Closed] = []
        forked = queries.session_state(log.db, session_id).forked_from
        self._theirs = {one: points(log.db, one) for one in forked.ancestors} if forked else {}
        """What is known of the sessions this one was forked from; nothing, of one that is gone."""

    async def run(self) -> Reverted:
        """Work it out, and unless that is all that was asked for, do it."""
        plan = await in_thread(lambda _: self._plan()) if self._command.what != "conversation" else Plan(moves=())
        diffs = await in_thread(lambda _: told(plan.moves, contents(self._store))) if plan.moves else NOTHING
        left_out = self._left_out() if self._command.what != "files" else 0
        outcome = Reverted(
            session_id=self._session_id,
            to=self._command.to,
            what=self._command.what,
            preview=self._command.preview,
            files=diffs.files,
            summary=diffs.summary,
            truncated=diffs.truncated,
            conflicts=plan.conflicts,
            unrestored=plan.unrestored,
            messages=left_out,
            plan=f"{plan.digest()}-{left_out}",
        )
        if self._command.preview:
            return outcome
        self._refuse(plan, outcome.plan)
        if not plan.moves and not left_out:
            return outcome
        return replace(outcome, redo=await self._carry_out(plan, left_out))

    def _plan(self) -> Plan:
        if not self._store.exists:
            return Plan(moves=())
        catch_up(self._tracker, self._session_id)
        with self._store.reading() as db:
            steps = ledger.steps_of(db, self._session_id)
            ids = ids_between(placed(steps, self._points), self._points, self._to)
            if self._to <= self._points.fork:
                ids = ledger.in_order(db, [*ids, *self._done_there(db)])
            self._untold = [
                Closed(step, tuple(ledger.changes_of(db, step)))
                for step in steps
                if step.id not in self._points.checkpoints
            ]
        return plan_revert(self._tracker, self._session_id, ids, wanted=self._wanted, forced=self._forced)

    def _done_there(self, db: sqlite3.Connection) -> list[str]:
        """What the sessions this one was forked from did since: it is in the way of the files of that moment too."""
        kept = [step.id for session_id in self._theirs for step in ledger.steps_of(db, session_id)]
        told = [
            id
            for found in self._theirs.values()
            for id, mark in found.checkpoints.items()
            if mark.data.cause != "redo_point"
        ]
        return [id for id in dict.fromkeys((*told, *kept)) if id not in self._points.checkpoints]

    def _wanted(self, paths: Collection[str]) -> Collection[str]:
        if self._command.paths is None:
            return paths
        return _known(*meant(self._command.paths, paths))

    def _forced(self, paths: Collection[str]) -> Collection[str]:
        by_text = {shown(path): path for path in paths}
        asked = {text.removeprefix("./") for text in self._command.force or ()}
        return _known([by_text[text] for text in asked & by_text.keys()], sorted(asked - by_text.keys()))

    def _refuse(self, plan: Plan, digest: str) -> None:
        if self._command.plan is not None and self._command.plan != digest:
            raise Conflict("It is no longer as the preview showed it.", hint="Look at it again.", code="plan_changed")
        forced = {text.removeprefix("./") for text in self._command.force or ()}
        refused = [one for one in plan.conflicts if one.path not in forced]
        if refused:
            raise _in_the_way(refused)

    def _left_out(self) -> int:
        """How many messages would no longer be part of the conversation."""
        now = {one.id for one in queries.history(self._log.db, self._session_id)}
        then = {one.id for one in queries.history_at(self._log.db, self._session_id, self._to)}
        return len(now ^ then)

    async def _carry_out(self, plan: Plan, left_out: int) -> str:
        closed = await in_thread(lambda _: self._put_back(plan.moves))
        redo = new_id(CHECKPOINT)
        entries = [created(one) for one in self._untold]
        entries.append(ev.CheckpointCreated(checkpoint_id=redo, cause="redo_point"))
        if closed is not None:
            entries.append(created(closed, self._tracker.omissions()))
        try:
            await self._log.append(self._session_id, [(None, one) for one in (*entries, *self._said(plan, left_out))])
        except BaseException:
            back = [Change(one.path, one.after, one.before) for one in plan.moves]
            await in_thread(lambda _: self._put_back(back))
            raise
        return redo

    def _put_back(self, moves: Sequence[Change]) -> Closed | None:
        root = self._tracker.workspace.root
        with holding(f"{root}/{one.path}" for one in moves):
            return carry_out(self._tracker, moves, id=new_id(CHECKPOINT), session=self._session_id)

    def _said(self, plan: Plan, left_out: int) -> list[ev.EventData]:
        """What the log is told about the conversation, and the model about its files."""
        if self._command.what != "files":
            last_turn = self._points.last_turn(self._to)
            return [
                ev.ConversationReverted(to=self._command.to, to_seq=self._to, messages=left_out, last_turn_id=last_turn)
            ]
        names = [shown(one.path) for one in plan.moves]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        text = Text(text=TOLD.format(", ".join(names[:NAMED]) + more), id=new_id(PART))
        message = replace(compose(self._session_id, "user", (text,)), origin=ORIGIN)
        return [ev.MessageAdded(message=message, run=False)]


Placed = tuple[float, Step]
"""A step and where in the log it belongs."""


def placed(steps: Sequence[Step], found: Points) -> list[Placed]:
    """Where each step stands in the log; one that a kill kept from it stands right behind the one before."""
    told_so_far: list[Placed] = []
    last = 0.0
    for step in steps:
        mark = found.checkpoints.get(step.id)
        last = mark.seq if mark is not None else max(last, found.turns.get(step.turn or "", 0)) + 0.5
        told_so_far.append((last, step))
    return told_so_far


def ids_between(
    steps: Sequence[Placed], found: Points, first: int, last: int | None = None, turn: str = ""
) -> list[str]:
    """The steps after one point, up to another or of one turn; those that were pruned too, so that they are missed."""
    here = {step.id: place for place, step in steps if not turn or step.turn == turn}
    for id, mark in found.checkpoints.items():
        if mark.data.cause != "redo_point" and (not turn or mark.turn_id == turn):
            here.setdefault(id, mark.seq)
    return [id for id, place in sorted(here.items(), key=lambda one: one[1]) if first < place <= (last or place)]


def _known(found: Collection[str], unknown: Sequence[str]) -> Collection[str]:
    if unknown:
        raise Invalid(
            f"This session changed nothing at {', '.join(map(repr, unknown[:NAMED]))} since then.",
            hint="Name files as the preview does, from the workspace's root.",
            code="path_not_changed",
        )
    return found


def _in_the_way(conflicts: Sequence[RevertConflict]) -> Conflict:
    names = ", ".join(one.path for one in conflicts[:NAMED])
    more = f" and {len(conflicts) - NAMED} more" if len(conflicts) > NAMED else ""
    is_certain = any(one.reason != "during_command" for one in conflicts)
    changed = "changed" if is_certain else "may, while a command ran, have changed"
    return Conflict(
        f"Somebody else {changed} what would be taken back: {names}{more}. Nothing was changed.",
        hint="Leave them out (paths), or name each of them in `force` to overwrite it.",
        code="files_changed",
    )
