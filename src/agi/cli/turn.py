"""One turn, from the question to its end: follow it, print it, answer what it asks, and stop it when told to.

Knows one client, one session and one turn; what was asked for is the command's business.
May import: errors, protocol, client, cli.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from msgspec import UNSET

from agi.cli import exits
from agi.cli.approving import Approver
from agi.cli.display import line
from agi.cli.interrupts import Interrupts
from agi.cli.output import say
from agi.cli.printing import Printer
from agi.client.base import Client
from agi.errors import AgiError
from agi.protocol import events as ev
from agi.protocol.commands import Cancel
from agi.protocol.events import Event
from agi.protocol.sessions import PendingApproval

if TYPE_CHECKING:
    from agi.cli.preflight import Plan, Plans

GRACE_S = 5.0
"""How long a turn may take to stop."""
PATIENCE_S = 0.7
STOPPING = "Stopping. Ctrl-C again leaves at once."
GO_ON = 'To go on from here: agi --continue "…"'
REASONS = {
    exits.TIMEOUT: "--timeout ran out",
    exits.BROKEN_PIPE: "nobody reads the answer",
    exits.FAILED: "the answer could not be written",
}
LIMITS = {
    "max_steps": "The agent stopped at its step limit.",
    "budget_exhausted": "The agent stopped at the budget.",
    "loop_detected": "The agent went round in circles and was stopped.",
    "max_tokens": "The answer was cut off at the model's limit.",
}
RAISED_BY = {
    "max_steps": "agents.<name>.maxSteps in config.json raises it.",
    "budget_exhausted": "budget or budget.perTurn in config.json raises it; for all of a session, budget.perSession.",
}
"""Where a limit is set, for who would rather have a higher one."""
ENDINGS = frozenset({"turn_completed", "turn_failed", "turn_canceled"})


class Turn:
    """Follows one turn to its end."""

    def __init__(
        self,
        client: Client,
        session_id: str,
        turn_id: str,
        printer: Printer,
        approver: Approver,
        interrupts: Interrupts,
        plans: Callable[[], Plans],
    ) -> None:
        self._client = client
        self._session_id = session_id
        self._turn_id = turn_id
        self._printer = printer
        self._approver = approver
        self._interrupts = interrupts
        self._make_plans = plans
        self._plans: Plans | None = None
        self._refused = ""
        """Why the plan was not approved; empty if it was, or there was none."""
        self._ending: asyncio.Task[None] | None = None
        self._below: asyncio.Task[None] | None = None
        """Looking what a worker asks, one after the other."""
        self._mute = False
        self._blocked = False

    async def watch(self, after: str, *, queued: bool) -> int:
        """Tell the turn's events after a position until it ends; gives the exit code."""
        self._interrupts.listen(self._stop)
        code = exits.FAILED
        last = 0
        try:
            if queued:
                await self._stand_in_line()
            async with aclosing(self._client.follow(self._session_id, after)) as events:
                async for event in events:
                    self._tell(event)
                    if self._is_steered(event):
                        continue
                    if event.type in ENDINGS and event.turn_id == self._turn_id:
                        if self._below is not None:
                            await asyncio.gather(self._below, return_exceptions=True)
                        code = self._code(event.data)
                        last = await self._last_seq()
                    if last and event.seq >= last:
                        break
                else:
                    self._printer.note("agi: the session is gone.")
        finally:
            await self._approver.close()
            if self._plans is not None:
                await self._plans.close()
            for task in (self._ending, self._below):
                if task is not None:
                    task.cancel()
        return self._interrupts.code or code

    def _is_steered(self, event: Event) -> bool:
        """Whether the turn that was running took up our message: then it is ours."""
        data = event.data
        if not isinstance(data, ev.MessageSteered) or data.queued_turn_id != self._turn_id:
            return False
        self._turn_id = event.turn_id or ""
        self._printer.note("The turn that was running has taken this up.")
        return True

    async def _stand_in_line(self) -> None:
        """The session is busy: say so, and look whether the turn before ours waits for a person."""
        self._printer.note("Another turn of this session is running; this one waits for it.")
        session = await self._client.session(self._session_id)
        if session.pending_preflight is not None:
            self._hear_plan(session.pending_preflight.turn_id, session.pending_preflight, ours=False)
        for pending in session.pending_approvals:
            self._hear_question(_asked(pending), ours=False)

    async def _last_seq(self) -> int:
        """The log's end: what was written together with the turn's ending belongs to its story."""
        if not self._printer.tells_all:
            return 1
        return (await self._client.session(self._session_id)).last_seq

    def _tell(self, event: Event) -> None:
        ours = event.turn_id in (None, self._turn_id)
        if ours and not self._mute:
            try:
                self._printer.show(event)
            except (BrokenPipeError, AgiError) as error:
                self._mute = True
                if isinstance(error, AgiError):
                    say(f"agi: {error.message}")
                self._interrupts.stop(exits.FAILED if isinstance(error, AgiError) else exits.BROKEN_PIPE)
        if isinstance(event.data, ev.ApprovalRequested):
            self._hear_question(event.data, ours=ours)
        elif isinstance(event.data, ev.WorkerWaiting):
            self._below = asyncio.create_task(self._hear_below(event.data, ours=ours, before=self._below))
        elif isinstance(event.data, ev.ApprovalGranted | ev.ApprovalDenied):
            self._approver.hear_answer(event.data)
        elif isinstance(event.data, ev.PreflightRequested):
            self._hear_plan(event.turn_id or "", event.data, ours=ours)
        elif isinstance(event.data, ev.PreflightResolved):
            self._hear_answer(event.data, ours=ours)

    async def _hear_below(self, waits: ev.WorkerWaiting, *, ours: bool, before: asyncio.Task[None] | None) -> None:
        """A worker asks; what exactly, the session knows. One that nobody can be asked about was refused at once."""
        if before is not None:
            await asyncio.gather(before, return_exceptions=True)
        try:
            pending = (await self._client.session(self._session_id)).pending_approvals
        except AgiError as error:
            self._printer.note(f"agi: what a worker asks cannot be read: {error.message}")
            return
        found = [one for one in pending if one.tool_call_id == waits.tool_call_id]
        for one in found:
            self._hear_question(_asked(one), ours=ours)
        if not found and not self._approver.asks:
            self._approver.refused.append(f"{waits.name} ({' › '.join(waits.path)})")

    def _hear_plan(self, turn_id: str, plan: Plan, *, ours: bool) -> None:
        """Have a plan answered; as with questions, another turn's only where somebody can see it."""
        if ours or self._approver.person:
            self._plans = self._plans or self._make_plans()
            self._plans.ask(turn_id, plan, ours=ours)
        else:
            self._blocked = True
            self._interrupts.stop(exits.REFUSED)

    def _hear_answer(self, resolved: ev.PreflightResolved, *, ours: bool) -> None:
        if self._plans is not None:
            self._plans.hear_answer()
        if ours and not resolved.approved and resolved.cause != "canceled":
            self._refused = "nobody could be asked" if resolved.cause == "policy" else resolved.cause

    def _hear_question(self, asked: ev.ApprovalRequested, *, ours: bool) -> None:
        """Have it answered. Another turn's question is not ours to answer unseen, nor to wait for with nobody here."""
        if ours or self._approver.person:
            self._approver.ask(asked, ours=ours)
        else:
            self._blocked = True
            self._interrupts.stop(exits.REFUSED)

    def _stop(self) -> None:
        if self._ending is None:
            self._ending = asyncio.create_task(self._cancel())

    async def _cancel(self) -> None:
        """Ask for the end; a turn that does not come to it in time is left behind."""
        code = self._interrupts.code
        problem = f"the turn did not stop within {GRACE_S:g} s."
        patience = asyncio.get_running_loop().call_later(PATIENCE_S, self._printer.note, STOPPING)
        try:
            async with asyncio.timeout(GRACE_S):
                reason = REASONS.get(code, "interrupted at the command line")
                await self._client.cancel(self._session_id, Cancel(turn_id=self._turn_id, reason=reason))
                await asyncio.sleep(GRACE_S)
        except TimeoutError:
            pass
        except AgiError as error:
            problem = f"the turn could not be stopped: {error.message}"
            await asyncio.sleep(1.0)  # mostly it has ended by itself, and we are about to hear of it
        finally:
            patience.cancel()
        say(f"agi: {problem}")
        os._exit(code)

    def _code(self, data: ev.EventData | None) -> int:
        """The exit code of an ending; what is worth saying about it is said."""
        if not self._mute:
            self._printer.finish()
        match data:
            case ev.TurnFailed():
                from agi.cli.hints import hint_of  # late: only where something went wrong

                self._printer.note(f"agi: {line(data.error.message, 1000)}")
                if hint := hint_of(data.error.code, data.error.hint):
                    self._printer.note(f"     {line(hint, 1000)}")
                return exits.FAILED
            case ev.TurnCanceled() if self._refused and not self._interrupts.code:
                self._printer.note(f"agi: {line(data.reason, 1000)} Nothing was run.")
                if self._refused == "nobody could be asked":
                    self._printer.note("     Run it at a terminal, or approve with --yes.")
                return exits.REFUSED
            case ev.TurnCanceled():
                if not self._mute:
                    self._printer.note(f"agi: {self._why_canceled(data.reason)}")
                if self._interrupts.code == exits.INTERRUPTED:
                    self._printer.note(f"     {GO_ON}")
                return exits.INTERRUPTED
            case ev.TurnCompleted():
                return self._completed(data)
        return exits.OK

    def _completed(self, data: ev.TurnCompleted) -> int:
        if data.stop_reason in LIMITS:
            why = f" {data.note}" if data.note and data.stop_reason == "budget_exhausted" else ""
            self._printer.note(f"agi: {LIMITS[data.stop_reason]}{why}")
            if data.stop_reason in RAISED_BY:
                self._printer.note(f"     {RAISED_BY[data.stop_reason]} {GO_ON}")
            return exits.LIMITED
        if self._approver.refused:
            self._printer.note("agi: refused, since nobody could be asked: " + "; ".join(self._approver.refused))
            self._printer.note("     Run it at a terminal, or approve with --yes (commands: with --yes --trust).")
            return exits.REFUSED
        return self._verified(ev.in_todays_words(data.verification))

    def _verified(self, verification: ev.Verification) -> int:
        if verification == "stale":
            self._printer.note("agi: files changed after the last verification; nothing is known of them as they are.")
        return exits.FAILED if verification in ("failing", "pre_existing") else exits.OK

    def _why_canceled(self, reason: str) -> str:
        if self._blocked:
            return "another turn of this session waits for an approval; answer it first, or use a new session."
        if self._interrupts.code:
            return f"stopped: {REASONS.get(self._interrupts.code, 'interrupted')}."
        return f"the turn was canceled{': ' + line(reason, 200) if reason else ''}."


def _asked(pending: PendingApproval) -> ev.ApprovalRequested:
    """A question that waits, as it was put; one of a worker's says whose it is."""
    who = "" if pending.path is UNSET else f"Asked by the worker {' › '.join(pending.path)}. "
    return ev.ApprovalRequested(
        tool_call_id=pending.tool_call_id,
        name=pending.name,
        input=pending.input,
        risk=pending.risk,
        rule=pending.rule,
        reason=f"{who}{pending.reason}",
        preview=pending.preview,
        preview_digest=pending.preview_digest,
        hunks=pending.hunks,
        digest=pending.digest,
        shown=pending.shown,
        remember=pending.remember,
    )
