"""Sessions as rows of a list, and what waits for a person in any of them. Read from the views whenever asked.

To be imported late, with what it needs. May import: errors, protocol, context, views, sessions.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import UNSET
from msgspec.structs import replace

from agi.context.measuring import reserve_of
from agi.errors import AgiError
from agi.protocol.overview import Inbox, InboxItem, SessionRow
from agi.protocol.preflight import PendingPreflight
from agi.protocol.sessions import PendingApproval
from agi.sessions.below import path_to
from agi.sessions.pool import UNREADABLE
from agi.sessions.sites import Site
from agi.views import pool, queries
from agi.views.state import SessionState

MOST_ITEMS = 500
DEEPEST = 32
"""How far up from a worker its root is looked for; a log that says otherwise is damaged."""
Window = tuple[int | None, int]
"""How many tokens a model takes, and how many of them are kept for the answer."""


class Windows:
    """The windows of models, looked up once for each project and model of a round."""

    def __init__(self, site: Callable[[str], Site]) -> None:
        self._site = site
        self._sites: dict[str, Site | None] = {}
        self._known: dict[tuple[str, str, str], Window] = {}

    def of(self, project: str, provider: str, model: str) -> Window:
        """One model's window; unknown where its project is gone or its settings cannot be read."""
        key = (project, provider, model)
        if key not in self._known:
            self._known[key] = self._look(*key)
        return self._known[key]

    def _look(self, project: str, provider: str, model: str) -> Window:
        if project not in self._sites:
            try:
                self._sites[project] = self._site(project)
            except (AgiError, OSError):
                self._sites[project] = None
        site = self._sites[project]
        window = site.facts.window(provider, model) if site is not None else None
        if site is None or window is None:
            return None, 0
        return window, reserve_of(window, site.facts.max_output(provider, model), site.config.compaction)


def row_of(state: SessionState, epoch: int, windows: Windows, below: int) -> SessionRow:
    """One session as a row; `below` is how many questions of its workers wait."""
    turn, who = state.turn, state.worker or state.draft
    asked = turn or state.context
    provider, model = asked.provider or state.provider, asked.model or state.model
    window, reserve = (None, 0)
    if state.context_tokens and provider and model:
        window, reserve = windows.of(state.project_path, provider, model)
    is_open = state.draft is not None and state.draft.status == "active"
    return SessionRow(
        id=state.id,
        title=state.title,
        agent=state.agent,
        provider=provider,
        model=model,
        project_path=state.project_path,
        workspace_path=state.workspace_path,
        created_at=state.created_at,
        updated_at=state.updated_at,
        status=state.status,
        activity="waiting_approval" if below and state.activity == "running" else state.activity,
        last_seq=state.last_seq,
        epoch=epoch,
        last_turn_id=state.last_turn_id,
        running_turn_id=turn.id if turn else None,
        turn_started_at=turn.started_at if turn else None,
        retry_at=(turn.backing_off or None) if turn else None,
        queued=len(state.queue),
        waiting=_waits(state),
        waiting_below=below,
        jobs=len(state.jobs),
        usage=state.usage,
        context_tokens=state.context_tokens,
        context_window=window,
        context_percent=round(100 * state.context_tokens / max(1, window - reserve), 1) if window else None,
        kind="worker" if state.worker else "draft" if state.draft else "session",
        role=who.role if who else "",
        task_slug=who.task_slug if who else "",
        is_open=bool(turn or state.queue) if state.worker else is_open,
        parent_id=state.worker.parent_session_id if state.worker else "",
        root_id=state.worker.root_session_id if state.worker else "",
        forked_from=state.forked_from.session_id if state.forked_from else "",
        resource=None if state.resource is UNSET else state.resource,
    )


def _waits(state: SessionState) -> int:
    turn = state.turn
    return len(turn.pending) + (turn.pending_preflight is not None) if turn else 0


def waiting_below(db: sqlite3.Connection) -> Counter[str]:
    """For each session with workers that wait for a person, how many questions that are."""
    found: Counter[str] = Counter()
    for row in pool.open_rows(db):
        state = read_state(db, row.session_id) if row.parent else None
        if state is not None and (count := _waits(state)):
            for above in above_of(db, row.session_id):
                found[above] += count
    return found


def above_of(db: sqlite3.Connection, session_id: str) -> list[str]:
    """Those a worker works for, the nearest first."""
    found: list[str] = []
    while len(found) < DEEPEST:
        row = db.execute("SELECT parent FROM pool WHERE session_id=? AND parent<>''", (session_id,)).fetchone()
        if row is None or row[0] in found:
            break
        session_id = str(row[0])
        found.append(session_id)
    return found


def read_state(db: sqlite3.Connection, session_id: str) -> SessionState | None:
    """A session, unless it is gone or cannot be read."""
    try:
        return queries.session_state(db, session_id)
    except UNREADABLE:
        return None


def inbox(db: sqlite3.Connection) -> Inbox:
    """Everything that waits for a person, the oldest first."""
    states = (read_state(db, one) for one in queries.live_sessions(db))
    items = [item for state in states if state is not None for item in _items(db, state)]
    items.sort(key=lambda one: (one.asked_at, one.id))
    return Inbox(items=items[:MOST_ITEMS], total=len(items))


def _items(db: sqlite3.Connection, state: SessionState) -> Iterable[InboxItem]:
    turn = state.turn
    if turn is None or not turn.waits_for_a_person:
        return
    above = above_of(db, state.id)
    root = read_state(db, above[-1]) if above else state
    path = path_to(db, state.id) if above else ()
    preflight = turn.pending_preflight
    if preflight is not None:
        yield replace(_item(state, root or state, path, preflight), kind="preflight", preflight=preflight)
    for one in turn.pending:
        kind: Literal["patch_review", "approval"] = "patch_review" if one.rule == "patch_review" else "approval"
        yield replace(_item(state, root or state, path, one), id=one.tool_call_id, kind=kind, approval=one)


def _item(
    state: SessionState, root: SessionState, path: tuple[str, ...], asked: PendingApproval | PendingPreflight
) -> InboxItem:
    who = state.worker or state.draft
    return InboxItem(
        id=asked.turn_id,
        kind="approval",
        session_id=state.id,
        root_id=root.id,
        title=root.title,
        role=who.role if who else "",
        path=path,
        agent=state.agent,
        project_path=state.project_path,
        workspace_path=state.workspace_path,
        asked_at=asked.requested_at,
        turn_id=asked.turn_id,
    )
