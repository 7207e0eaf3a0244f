"""Making room: sessions that are over their limits go, the ones that were quiet longest first; then what kills left
behind, checkpoints nothing needs, and free pages.

Nothing that is at work goes: that is looked at once more in the transaction that removes. Each removal is short, so
everybody else goes on meanwhile. May import: errors, protocol, eventlog, checkpoints, views, sessions.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from agi.checkpoints import pruning
from agi.checkpoints.opened import store_at
from agi.errors import Conflict, NotFound
from agi.eventlog import deleting, leases
from agi.eventlog.base import Check
from agi.eventlog.log import EventLog
from agi.protocol.storage import Collected, RemovedSession, RetentionPolicy
from agi.protocol.times import to_millis, to_rfc3339
from agi.sessions.measuring import Kept, Measured, measure
from agi.views import queries

DAY_S = 86_400.0
ROUNDS = 5
"""How often it is looked again whether enough has gone: what a session takes is known only about."""
Remove = Callable[[str, Check], Awaitable[None]]
"""Removes a session if the check still holds in the transaction."""


async def collect(
    log: EventLog, policy: RetentionPolicy, remove: Remove, *, dry_run: bool, now: float | None = None
) -> Collected:
    """Make room, or say what would go."""
    at = time.time() if now is None else now
    first = look = await asyncio.to_thread(measure, log.folder, log.path, at)
    removed: list[RemovedSession] = []
    in_use: set[str] = set()
    for _ in range(1 if dry_run else ROUNDS):
        chosen = choose(look, policy, at, in_use)
        if dry_run:
            removed += chosen
            break
        gone = [one for one in chosen if await _is_removed(remove, one, in_use)]
        removed += gone
        await _tidy(log, look)
        look = await asyncio.to_thread(measure, log.folder, log.path, at)
        if not gone or policy.max_bytes is None:
            break
    return Collected(
        dry_run=dry_run,
        before=first.use,
        after=look.use,
        sessions=tuple(removed),
        leftovers=tuple(first.leftovers),
        in_use=len(in_use),
        unknown=tuple(look.unknown),
    )


def choose(look: Measured, policy: RetentionPolicy, now: float, in_use: set[str]) -> list[RemovedSession]:
    """The sessions to remove; those at work are passed over, and noted. Pure, save for the note."""
    latest = {one.id for one in look.sessions[-policy.keep_sessions :]} if policy.keep_sessions else set[str]()
    in_use |= {one.id for one in look.sessions if one.is_live and _is_over(one, look, policy, now)}
    free = [one for one in look.sessions if one.id not in latest and one.id not in in_use and not one.is_live]
    chosen = {one.id: _removal(look, one, "age") for one in free if _is_too_old(one, policy, now)}
    if policy.max_bytes is not None:
        over = look.use.total - look.use.reusable - policy.max_bytes
        over -= sum(one.bytes for one in chosen.values()) + sum(one.bytes for one in look.leftovers)
        for one in free:
            if over <= 0:
                break
            if one.id not in chosen:
                chosen[one.id] = _removal(look, one, "size")
                over -= chosen[one.id].bytes
    return list(chosen.values())


def _is_over(one: Kept, look: Measured, policy: RetentionPolicy, now: float) -> bool:
    too_large = policy.max_bytes is not None and look.use.total > policy.max_bytes
    return _is_too_old(one, policy, now) or too_large


def _is_too_old(one: Kept, policy: RetentionPolicy, now: float) -> bool:
    return policy.max_age_days is not None and one.updated_at / 1000 < now - policy.max_age_days * DAY_S


def _removal(look: Measured, one: Kept, reason: Literal["age", "size"]) -> RemovedSession:
    at = to_rfc3339(one.updated_at / 1000)
    return RemovedSession(id=one.id, title=one.title, updated_at=at, bytes=look.share(one), reason=reason)


async def _is_removed(remove: Remove, one: RemovedSession, in_use: set[str]) -> bool:
    try:
        await remove(one.id, is_quiet(one.id, one.updated_at))
    except NotFound:
        return False  # somebody else did it
    except Conflict:
        in_use.add(one.id)
        return False
    return True


def is_quiet(session_id: str, since: str) -> Check:
    """The condition under which a session may go: nothing runs or waits in it, nobody holds it, and nothing is new."""

    def check(db: sqlite3.Connection) -> None:
        state = queries.session_state(db, session_id)
        at_work = state.turn is not None or state.queue or state.jobs or not leases.is_free(db, session_id)
        at_work = at_work or (state.draft is not None and state.draft.status == "active")
        if at_work or to_millis(state.updated_at) != to_millis(since):
            raise Conflict("The session is in use.", code="session_in_use", hint="It is looked at again next time.")

    return check


async def _tidy(log: EventLog, look: Measured) -> None:
    """Remove what is left behind, and give the room back."""
    await log.finish_deletions()
    await asyncio.to_thread(_remove_leftovers, log.folder, look)
    store = store_at(log.folder)
    for session_id in queries.unneeded(log.db, await asyncio.to_thread(pruning.sessions_in, store)):
        await asyncio.to_thread(pruning.forget, store, session_id)
    await asyncio.to_thread(pruning.sweep, store)
    await asyncio.to_thread(deleting.reclaim, log.path)


def _remove_leftovers(folder: Path, look: Measured) -> None:
    for one in look.leftovers:
        path = folder / one.path
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def with_limits(
    policy: RetentionPolicy, *, older_than_days: float | None, max_bytes: int | None, keep_sessions: int | None
) -> RetentionPolicy:
    """The configured limits, or those that are asked for in their place."""
    if older_than_days is not None or max_bytes is not None:
        policy = replace(policy, max_age_days=older_than_days, max_bytes=max_bytes)
    return policy if keep_sessions is None else replace(policy, keep_sessions=keep_sessions)
