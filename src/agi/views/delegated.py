"""What the workers of a session have used up, and what is set aside for those that still work; all the way down.

A worker that is at work counts with what was set aside for it, so that several at once cannot use the same money. Pure
reading. May import: protocol, views.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from msgspec.structs import replace

from agi.protocol.messages import Usage
from agi.protocol.policies import Budget
from agi.views import pool, queries
from agi.views.pool import Row


def delegated(db: sqlite3.Connection, session_id: str, turn_id: str | None = None) -> Usage:
    """What counts for a session, or for one turn of it, besides its own calls."""
    rows = pool.children(db, session_id) if turn_id is None else pool.children_of_turn(db, session_id, turn_id)
    return _sum(_counted(db, row) for row in rows)


def used_below(db: sqlite3.Connection, session_id: str) -> Usage:
    """What a session's workers really used, and their workers."""
    rows = pool.children(db, session_id)
    return _sum(queries.session_state(db, row.session_id).usage.plus(used_below(db, row.session_id)) for row in rows)


def _counted(db: sqlite3.Connection, row: Row) -> Usage:
    state = queries.session_state(db, row.session_id)
    used = state.usage.plus(delegated(db, row.session_id))
    reserved = state.budget.per_session if state.budget is not None else None
    return at_least(used, reserved) if row.open and reserved is not None else used


def at_least(used: Usage, reserved: Budget) -> Usage:
    """What was used, or what was set aside if that is more."""
    more = max(0, (reserved.tokens or 0) - used.input_tokens - used.output_tokens)
    cost = used.cost_usd if reserved.usd is None else max(used.cost_usd or 0.0, reserved.usd)
    return replace(
        used,
        input_tokens=used.input_tokens + more,
        requests=max(used.requests, reserved.steps or 0),
        cost_usd=cost,
    )


def _sum(usages: Iterable[Usage]) -> Usage:
    whole = Usage()
    for usage in usages:
        whole = whole.plus(usage)
    return whole
