"""Approvals: rows of the log. Asked by the loop, answered by any client over any surface, once.

The first answer wins; later ones are told so. Nothing about a pending question is remembered anywhere but in the log.
May import: errors, protocol, eventlog, policy, views.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from agi.errors import Conflict, Invalid, NotFound
from agi.eventlog.base import Check
from agi.eventlog.log import EventLog
from agi.protocol.commands import Approve
from agi.protocol.events import ApprovalDenied, ApprovalGranted, Event, EventData
from agi.protocol.grants import Grant, Remember
from agi.protocol.ids import GRANT, new_id
from agi.protocol.policies import Rule
from agi.protocol.preflight import PreflightAnswer
from agi.protocol.sessions import PendingApproval
from agi.protocol.times import to_rfc3339
from agi.sessions.expiry import deadline
from agi.views import queries
from agi.views.state import Answer, SessionState

if TYPE_CHECKING:
    from agi.sessions.journal import Journal


async def give_answer(log: EventLog, session_id: str, command: Approve) -> Event:
    """Write a person's answer; refuses unknown, foreign and already answered calls without changing anything."""
    state = queries.session_state(log.db, session_id)
    pending = _pending(log.db, session_id, command)
    hunks = _accepted(pending, command)
    client = command.client or UNSET
    answer: EventData
    if command.action == "approve":
        answer = replace(_granted(state, pending, command), hunks=hunks, client=client)
    else:
        answer = ApprovalDenied(
            tool_call_id=pending.tool_call_id,
            name=pending.name,
            cause=command.cause,
            reason=command.reason,
            client=client,
        )
    events = await log.append(state.id, [(pending.turn_id, answer)], check=_still_pending(session_id, command))
    return events[0]


def _accepted(pending: PendingApproval, command: Approve) -> tuple[str, ...] | UnsetType:
    """The hunks that are accepted, in the question's order; UNSET if that is all of them. Raises Invalid."""
    if command.hunks is None:
        return UNSET
    known = [hunk.id for hunk in pending.hunks]
    unknown = [one for one in command.hunks if one not in known]
    if command.action == "deny":
        problem, hint = "A refusal is about the whole call.", "Leave out `hunks`, or approve those you accept."
    elif not known:
        problem = "This call is not asked about in hunks."
        hint = "Leave out `hunks`: it can be approved or denied as a whole."
    elif not command.hunks:
        problem, hint = "No hunk is accepted, which is a refusal.", 'Send `"action": "deny"` to refuse the call.'
    elif unknown:
        problem = f"The question has no hunk {unknown[0][:80]!r}."
        hint = f"Its hunks: {known[0]} to {known[-1]}; see the session's pending_approvals."
    elif len(set(command.hunks)) == len(known):
        return UNSET
    elif command.remember != "once":
        problem, hint = "A part of a change cannot be remembered.", "Accept hunks with `remember` left out."
    else:
        return tuple(one for one in known if one in command.hunks)
    raise Invalid(problem, code="hunks_invalid", hint=f"{hint} Nothing was changed.")


def _granted(state: SessionState, pending: PendingApproval, command: Approve) -> ApprovalGranted:
    """The answer with what is remembered of it: just what the question offered."""
    offered = pending.remember
    remember = "session" if command.remember == "tool" else command.remember
    grants: tuple[Grant, ...] = ()
    if command.remember == "tool":
        # What destroys is asked about all the same, by the rules themselves.
        offered = Remember(rules=(Rule(tool=pending.name, verdict="allow"),), text="", scopes=("session",))
    if remember != "once" and offered is not UNSET and remember in offered.scopes:
        from agi.policy.rules import in_words  # late: it brings the reader of commands

        grants = tuple(
            Grant(
                id=new_id(GRANT),
                scope=remember,
                rule=rule,
                text=offered.text if offered.text and len(offered.rules) == 1 else in_words(rule),
                granted_at=to_rfc3339(time.time()),
                session_id=state.id,
                workspace_path=state.workspace_path,
            )
            for rule in offered.rules
        )
    elif remember == "workspace":
        raise Invalid(
            "This answer cannot be remembered for the workspace.",
            code="cannot_be_remembered",
            hint="Approve it once or for the session. Only a trusted workspace remembers, and nothing that destroys.",
        )
    elif remember == "session" and (pending.digest or pending.rule == "patch_review"):
        remember = "once"  # such a call is asked about each time, whatever was answered
    return ApprovalGranted(
        tool_call_id=pending.tool_call_id,
        name=pending.name,
        reason=command.reason,
        remember=remember,
        digest=pending.digest,
        grants=grants,
    )


class Approvals:
    """The running turn's side: wait until the log holds an answer, from where on its journal is read anew.

    An answer that is there already is not waited for, so the journal may still hold what was before it.
    """

    def __init__(self, log: EventLog, journal: Journal, timeout_s: float | None) -> None:
        self._log = log
        self._journal = journal
        self._session_id = journal.session_id
        self._timeout_s = timeout_s
        self.waited = 0.0

    async def answer(self, call_id: str) -> Answer:
        """Wait for the answer; with a time-out, an unanswered question expires and that is its answer."""
        heard = asyncio.Event()
        began = time.monotonic()
        until: float | None = None

        def listen(event: Event) -> None:
            if event.type in ("approval_granted", "approval_denied"):
                heard.set()

        self._log.listen(self._session_id, listen)
        try:
            while True:
                found = self._look(call_id)
                if isinstance(found, Answer):
                    return found
                heard.clear()
                until = until or deadline(found.requested_at, self._timeout_s)
                await self._wait(heard, found, until)
        finally:
            self.waited += time.monotonic() - began
            self._journal.forget()
            self._log.hub.unlisten(self._session_id, listen)

    async def preflight(self) -> PreflightAnswer:
        """Wait for the answer to the steps that were proposed; they expire as any question does."""
        from agi.sessions.preflights import wait_for_answer  # late: few turns begin with one

        began = time.monotonic()
        try:
            return await wait_for_answer(self._log, self._session_id, self._timeout_s)
        finally:
            self.waited += time.monotonic() - began
            self._journal.forget()

    def _look(self, call_id: str) -> Answer | PendingApproval:
        turn = queries.session_state(self._log.db, self._session_id).turn
        if turn is None:
            return Answer(granted=False, cause="canceled")
        for pending in turn.pending:
            if pending.tool_call_id == call_id:
                return pending
        return turn.answers.get(call_id) or Answer(granted=False, cause="canceled")

    async def _wait(self, heard: asyncio.Event, pending: PendingApproval, until: float | None) -> None:
        try:
            async with asyncio.timeout_at(until):
                await heard.wait()
        except TimeoutError:
            await self._expire(pending)

    async def _expire(self, pending: PendingApproval) -> None:
        command = Approve(tool_call_id=pending.tool_call_id, action="deny", turn_id=pending.turn_id)
        denial = ApprovalDenied(
            tool_call_id=pending.tool_call_id,
            name=pending.name,
            cause="expired",
            reason=f"Nobody answered within {self._timeout_s:g} s.",
        )
        try:
            await self._log.append(
                self._session_id, [(pending.turn_id, denial)], check=_still_pending(self._session_id, command)
            )
        except (Conflict, NotFound):
            return  # somebody answered in the last moment; their answer counts


def _still_pending(session_id: str, command: Approve) -> Check:
    def check(db: sqlite3.Connection) -> None:
        _pending(db, session_id, command)

    return check


def _pending(db: sqlite3.Connection, session_id: str, command: Approve) -> PendingApproval:
    """The question this command answers; raises NotFound or Conflict."""
    turn = queries.session_state(db, session_id).turn
    for pending in turn.pending if turn else ():
        if pending.tool_call_id == command.tool_call_id:
            if command.turn_id not in (None, pending.turn_id):
                raise NotFound(
                    f"Call {command.tool_call_id} does not belong to turn {command.turn_id}.",
                    code="approval_not_found",
                    hint=f"It belongs to {pending.turn_id}.",
                )
            if command.digest not in (None, pending.digest):
                raise Conflict(
                    f"Call {command.tool_call_id} is not about what was answered.",
                    code="approval_changed",
                    hint="Look at the session's pending_approvals again, and answer with the digest that stands there.",
                )
            return pending
    outcome = _past_answer(db, session_id, command.tool_call_id)
    if outcome:
        raise Conflict(
            f"This approval was answered already: {outcome}.",
            code="approval_answered",
            hint="The first answer counts; the session's events tell what became of the call.",
        )
    raise NotFound(
        f"Nothing waits for an answer about {command.tool_call_id[:80]!r}.",
        code="approval_not_found",
        hint="The session's pending_approvals list what waits.",
    )


def _past_answer(db: sqlite3.Connection, session_id: str, call_id: str) -> str:
    row = db.execute(
        "SELECT type, json_extract(data, '$.cause') FROM events WHERE session_id=? AND type IN"
        " ('approval_granted', 'approval_denied') AND json_extract(data, '$.tool_call_id')=? ORDER BY seq LIMIT 1",
        (session_id, call_id),
    ).fetchone()
    if row is None:
        return ""
    return "granted" if row[0] == "approval_granted" else f"denied ({row[1]})"
