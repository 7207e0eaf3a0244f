"""Preflights: rows of the log, as approvals are. Put by the loop, answered by any client over any surface, once.

The first answer wins; later ones are told so. Steps that a person changed are judged anew, and are that person's word.
May import: errors, protocol, eventlog, loop, views, sessions.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence

from agi.errors import Conflict, Invalid, NotFound
from agi.eventlog.base import ENDINGS
from agi.eventlog.log import EventLog
from agi.loop.base import Toolbox
from agi.loop.checklist import Proposed, judged_step
from agi.protocol.commands import EditedStep, ResolvePreflight
from agi.protocol.events import Event, PreflightRequested, PreflightResolved
from agi.protocol.policies import PatchReviewPolicy
from agi.protocol.preflight import PendingPreflight, PreflightAnswer, PreflightStep
from agi.sessions.expiry import deadline
from agi.views import queries

_TYPES = ("preflight_requested", "preflight_resolved")


async def give_answer(
    log: EventLog, session_id: str, turn_id: str, command: ResolvePreflight, resolved: PreflightResolved
) -> PreflightResolved:
    """Write an answer; refuses one that is late, or about another checklist, without changing anything."""

    def check(db: sqlite3.Connection) -> None:
        pending_at(db, session_id, turn_id, command.digest)

    await log.append(session_id, [(turn_id, resolved)], check=check)
    return resolved


def resolution(
    pending: PendingPreflight, command: ResolvePreflight, toolbox: Toolbox, review: PatchReviewPolicy
) -> PreflightResolved:
    """The answer as the log has it: the steps as approved. Raises Invalid, naming the field that is wrong."""
    if not command.approved:
        return PreflightResolved(approved=False, cause=command.cause, reason=command.reason)
    if command.edited_steps is None:
        return PreflightResolved(approved=True, cause="user", steps=pending.steps, reason=command.reason)
    meant = _meant(pending.steps, command.edited_steps)
    steps: list[PreflightStep] = []
    skipped: list[PreflightStep] = []
    fresh = len(pending.steps)
    for place, (edited, original) in enumerate(zip(command.edited_steps, meant, strict=True)):
        fresh += original is None
        step_id = original.id if original is not None else f"step_{fresh}"
        proposed = _proposed(toolbox, edited, original, place)
        (skipped if edited.skip else steps).append(judged_step(toolbox, review, proposed, step_id).step)
    named = {step.id for step in (*steps, *skipped)}
    skipped += [step for step in pending.steps if step.id not in named]
    return PreflightResolved(
        approved=True, cause="user", steps=tuple(steps), skipped=tuple(skipped), reason=command.reason
    )


def _meant(steps: Sequence[PreflightStep], edited: Sequence[EditedStep]) -> list[PreflightStep | None]:
    """Which proposed step each edited one is: by its id, by its words, or by its place where only words changed."""
    by_id = {step.id: step for step in steps}
    found: list[PreflightStep | None] = [None] * len(edited)
    left = dict(by_id)
    for place, one in enumerate(edited):
        if one.id is not None:
            if one.id not in by_id:
                raise _wrong(place, "id", f"there is no step {one.id[:80]!r}", f"The steps: {', '.join(by_id)}.")
            if one.id not in left:
                raise _wrong(place, "id", f"the step {one.id!r} is there twice", "Send each step once.")
            found[place] = left.pop(one.id)
    for place, one in enumerate(edited):
        same = next((step for step in left.values() if step.description == one.description.strip()), None)
        if found[place] is None and one.id is None and same is not None:
            found[place] = left.pop(same.id)
    for place, one in enumerate(edited):
        there = steps[place] if len(steps) == len(edited) else None
        if found[place] is None and there is not None and there.id in left and one.tool_name in (None, there.tool_name):
            found[place] = left.pop(there.id)
    return found


def _proposed(toolbox: Toolbox, edited: EditedStep, original: PreflightStep | None, place: int) -> Proposed:
    """The step as the person means it; what it leaves open stays as proposed, unless it is about another tool."""
    name = edited.tool_name if edited.tool_name is not None else original.tool_name if original is not None else ""
    definition = toolbox.find(name) if name else None
    if name and definition is None:
        names = ", ".join(tool.name for tool in toolbox.definitions())
        raise _wrong(place, "tool_name", f"there is no tool {name[:80]!r}", f"The tools: {names}.")
    same = original is not None and definition is not None and original.tool_name == definition.name
    kept = original.target if original is not None and same else ""
    return Proposed(edited.description, name, kept if edited.target is None else edited.target)


def _wrong(place: int, field: str, problem: str, hint: str) -> Invalid:
    return Invalid(
        f"`edited_steps[{place}].{field}`: {problem}.", code="preflight_invalid", hint=f"{hint} Nothing was changed."
    )


def pending_at(db: sqlite3.Connection, session_id: str, turn_id: str, digest: str | None = None) -> PendingPreflight:
    """The checklist of a turn that waits; raises NotFound or Conflict."""
    turn = queries.session_state(db, session_id).turn
    pending = turn.pending_preflight if turn is not None and turn.id == turn_id else None
    if pending is None:
        queries.turn(db, session_id, turn_id)  # one that does not exist is told as such
        answered = _past_answer(db, session_id, turn_id)
        if answered:
            raise Conflict(
                f"This plan was answered already: {answered}.",
                code="preflight_answered",
                hint="The first answer counts; the session's events tell what became of it.",
            )
        raise NotFound(
            "No plan of this turn waits for an answer.",
            code="preflight_not_found",
            hint="The session's pending_preflight is what waits.",
        )
    if digest not in (None, pending.digest):
        raise Conflict(
            "The answer is about another plan.",
            code="preflight_changed",
            hint="Look at the session's pending_preflight again, and answer with the digest that stands there.",
        )
    return pending


def _past_answer(db: sqlite3.Connection, session_id: str, turn_id: str) -> str:
    row = db.execute(
        "SELECT json_extract(data, '$.approved'), json_extract(data, '$.cause') FROM events"
        " WHERE session_id=? AND turn_id=? AND type='preflight_resolved' ORDER BY seq LIMIT 1",
        (session_id, turn_id),
    ).fetchone()
    return "" if row is None else "approved" if row[0] else f"not approved ({row[1]})"


async def wait_for_answer(log: EventLog, session_id: str, timeout_s: float | None) -> PreflightAnswer:
    """The running turn's side: wait until the log holds an answer; with a time-out, none is an answer too."""
    heard = asyncio.Event()
    until: float | None = None

    def listen(event: Event) -> None:
        if event.type in _TYPES:
            heard.set()

    log.listen(session_id, listen)
    try:
        while True:
            turn = queries.session_state(log.db, session_id).turn
            if turn is None:
                return PreflightAnswer(approved=False, cause="canceled")
            if turn.preflight_answer is not None:
                return turn.preflight_answer
            heard.clear()
            pending = turn.pending_preflight
            if pending is not None:
                until = until or deadline(pending.requested_at, timeout_s)
            try:
                async with asyncio.timeout_at(until):
                    await heard.wait()
            except TimeoutError:
                if pending is not None:
                    await _expire(log, session_id, pending, f"Nobody answered within {timeout_s:g} s.")
    finally:
        log.hub.unlisten(session_id, listen)


async def _expire(log: EventLog, session_id: str, pending: PendingPreflight, reason: str) -> None:
    expired = PreflightResolved(approved=False, cause="expired", reason=reason)
    command = ResolvePreflight(approved=False, digest=pending.digest)
    try:
        await give_answer(log, session_id, pending.turn_id, command, expired)
    except (Conflict, NotFound):
        return  # somebody answered in the last moment; their answer counts


async def wait_until_proposed(log: EventLog, session_id: str, turn_id: str) -> PreflightRequested | None:
    """A client's side: wait for a turn's checklist; None if the turn ended without one."""
    heard = asyncio.Event()

    def listen(event: Event) -> None:
        if event.type == "session_deleted" or (
            event.turn_id == turn_id and event.type in ("preflight_requested", *ENDINGS)
        ):
            heard.set()

    log.listen(session_id, listen)
    try:
        while True:
            requested = requested_at(log.db, session_id, turn_id)
            if requested is not None or queries.turn(log.db, session_id, turn_id).status not in ("queued", "running"):
                return requested
            heard.clear()
            await heard.wait()
    finally:
        log.hub.unlisten(session_id, listen)


def requested_at(db: sqlite3.Connection, session_id: str, turn_id: str) -> PreflightRequested | None:
    """A turn's checklist as it was proposed, answered by now or not; None if there is none."""
    row = db.execute(
        "SELECT seq, ts, data FROM events WHERE session_id=? AND turn_id=? AND type='preflight_requested' LIMIT 1",
        (session_id, turn_id),
    ).fetchone()
    if row is None:
        return None
    raw = row[2] if isinstance(row[2], bytes) else row[2].encode()
    data = Event(row[0], row[1], session_id, turn_id, "preflight_requested", raw).data
    return data if isinstance(data, PreflightRequested) else None
