"""What came of a worker: its own report, and all else as its log has it.

May import: errors, protocol, views, sessions.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from agi.errors import AgiError, NotFound
from agi.protocol.parts import plain_text
from agi.protocol.sessions import ErrorInfo, TurnStatus
from agi.protocol.workers import DispatchResult, MergeState, WorkChange, WorkReport, WorkStatus
from agi.sessions.turns import CUT_SHORT
from agi.views import queries
from agi.views.delegated import used_below
from agi.views.state import SessionState

if TYPE_CHECKING:
    from agi.sessions.harness import Harness

LONGEST_SUMMARY = 20_000
MOST_LISTED = 200


class _Outcome(Struct, frozen=True):
    """How a turn ended, as far as a worker's result needs it."""

    message_id: str | None = None
    stop_reason: str = ""
    verification: str = "not_run"
    reason: str = ""
    error: ErrorInfo | None = None
    note: str = ""
    output: Raw | UnsetType = UNSET


class Recorded(Struct, frozen=True, kw_only=True):
    """What a task's record keeps of a result."""

    status: str
    summary: str = ""
    artifacts: tuple[str, ...] = ()


class WorkResults:
    """Reads results."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness

    def worker(self, agent_id: str) -> SessionState:
        """A worker's session as it stands; raises NotFound."""
        with contextlib.suppress(NotFound):
            state = self._harness.state(agent_id)
            if state.worker is not None:
                return state
        raise NotFound(
            f"There is no worker {agent_id[:80]!r}.",
            code="agent_not_found",
            hint="`list_agents` lists those that are alive; a draft is ended with `undraft`.",
        )

    async def result(self, agent_id: str) -> DispatchResult:
        """What came of a worker so far."""
        state = self.worker(agent_id)
        if state.last_turn_id is None:
            return DispatchResult(agent_id=agent_id, status="canceled", summary="It was never told what to do.")
        usage = state.usage.plus(used_below(self._harness.log.db, agent_id))
        turn = queries.turn(self._harness.log.db, agent_id, state.last_turn_id)
        if turn.status == "queued" or turn.status == "running":
            asks = state.turn is not None and state.turn.pending
            said = "It waits for an approval." if asks else "It is not over yet."
            return DispatchResult(agent_id=agent_id, status="running", summary=said, usage=usage)
        outcome = msgspec.json.decode(turn.outcome or b"{}", type=_Outcome)
        report = _report(outcome)
        changes = await self._changes(agent_id)
        return DispatchResult(
            agent_id=agent_id,
            status=_status(turn.status, outcome, report),
            summary=self._summary(agent_id, outcome, report),
            changes=changes,
            artifacts=self._worth_a_look(agent_id, report),
            verification=outcome.verification,
            usage=usage,
            stop_reason=outcome.stop_reason,
            merge=self._merge(state, changes),
        )

    def recorded(self, agent_id: str) -> Recorded:
        """The same of a worker that has ended, as far as a task's record keeps it; one that has not is `running`."""
        state = self.worker(agent_id)
        if state.last_turn_id is None:
            return Recorded(status="canceled")
        turn = queries.turn(self._harness.log.db, agent_id, state.last_turn_id)
        if turn.outcome is None:
            return Recorded(status="running", artifacts=self.artifacts(agent_id))
        outcome = msgspec.json.decode(turn.outcome, type=_Outcome)
        report = _report(outcome)
        return Recorded(
            status=_status(turn.status, outcome, report),
            summary=self._summary(agent_id, outcome, report),
            artifacts=self._worth_a_look(agent_id, report),
        )

    def artifacts(self, session_id: str) -> tuple[str, ...]:
        """The files a session left besides the project's own, as paths from the project's root."""
        rows = self._harness.log.db.execute(
            "SELECT DISTINCT a.path FROM artifacts a JOIN message_parts p ON p.id=a.message_part_id"
            " JOIN messages m ON m.id=p.message_id WHERE m.session_id=? AND a.path IS NOT NULL ORDER BY a.path LIMIT ?",
            (session_id, MOST_LISTED),
        )
        return tuple(path for (path,) in rows)

    def _worth_a_look(self, agent_id: str, report: WorkReport | None) -> tuple[str, ...]:
        """The files it names, and those it left besides."""
        return tuple(dict.fromkeys((*(report.artifacts if report else ()), *self.artifacts(agent_id))))

    def _summary(self, agent_id: str, outcome: _Outcome, report: WorkReport | None) -> str:
        if report is not None:
            return report.summary[:LONGEST_SUMMARY]
        if outcome.error is not None:
            said = self._last_words(agent_id) if outcome.error.code == "output_invalid" else ""
            told = f"{outcome.error.message} {outcome.error.hint}".strip()
            return f"{told}\n\nIt said: {said}" if said else told
        if outcome.message_id is None:
            return outcome.reason or outcome.note or "It was stopped before it said anything."
        said = self._last_words(agent_id, outcome.message_id)
        return f"{outcome.note}\n\nIt said: {said}" if outcome.note and said else outcome.note or said

    def _last_words(self, agent_id: str, message_id: str = "") -> str:
        messages = self._harness.messages(agent_id, limit=MOST_LISTED, before=None)[0]
        for one in reversed(messages):
            if one.id == message_id or (not message_id and one.role == "assistant"):
                return plain_text(one.parts)[:LONGEST_SUMMARY]
        return ""

    async def _changes(self, agent_id: str) -> tuple[WorkChange, ...]:
        try:
            diff = await self._harness.diff(agent_id)
        except AgiError:
            return ()  # checkpoints are switched off, or their store is gone
        return tuple(WorkChange(path=one.path, status=one.status) for one in diff.files[:MOST_LISTED])

    def _merge(self, state: SessionState, changes: tuple[WorkChange, ...]) -> MergeState:
        """Whether the changes are where they are wanted: the parent's log says so."""
        worker = state.worker
        if worker is None or not worker.kept_apart:
            return "none"
        try:
            mark = self._harness.state(worker.parent_session_id).workers.get(state.id)
        except NotFound:
            mark = None
        if mark is not None and mark.merge in ("merged", "conflict"):
            return mark.merge
        return "pending" if changes else "none"


def _status(ended: TurnStatus, outcome: _Outcome, report: WorkReport | None) -> WorkStatus:
    """As the worker has it, if its turn came to that; one that a limit ended is not done."""
    if ended == "completed" and report is not None:
        return report.status
    if ended == "completed" and outcome.stop_reason in CUT_SHORT:
        return "failed"
    return "running" if ended == "queued" else ended


def _report(outcome: _Outcome) -> WorkReport | None:
    """What the worker said of its work, where it was asked to and did."""
    if isinstance(outcome.output, UnsetType):
        return None
    try:
        return msgspec.json.decode(outcome.output, type=WorkReport)
    except msgspec.MsgspecError:
        return None
