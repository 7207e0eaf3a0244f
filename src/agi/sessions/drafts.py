"""Drafts: an agent that a person talks to about a task of a project, until it is undrafted. Seed 001's verbs.

A draft is a session with `draft_opened` in its log and no `draft_closed`; one that is active is found there after a
restart, and a turn that was cut off goes on by itself. `draft.json` in the task's folder is written for people and
never read: one that came with a repository says nothing. May import: errors, eventlog, protocol, views, sessions.
"""

from __future__ import annotations

import asyncio
import sqlite3
from typing import TYPE_CHECKING

import msgspec

from agi.errors import AgiError, Conflict, Damaged, NotFound
from agi.eventlog.base import ENDINGS
from agi.protocol import events as ev
from agi.protocol.commands import CreateSession, PostMessage
from agi.protocol.drafts import Draft, DraftSummary
from agi.protocol.messages import Urgency
from agi.protocol.policies import Budgets
from agi.protocol.resources import Resource
from agi.protocol.times import to_millis
from agi.sessions.pool import UNREADABLE
from agi.sessions.tasks import FOLDER, task_dir
from agi.views import pool, queries
from agi.views.state import SessionState

if TYPE_CHECKING:
    from agi.agents.base import Agent
    from agi.sessions.asking import Posted
    from agi.sessions.crew import Crew
    from agi.sessions.harness import Harness
    from agi.sessions.sites import Site

FILE = "draft.json"
NOT_WRITTEN = "draft_not_mirrored"
DAMAGED = "Its session is damaged and cannot go on."
BEGINNING = 10_000
"""How many events of a damaged draft are read to tell of it."""


class Drafts:
    """The drafts of a harness, at most one active in each project."""

    def __init__(self, harness: Harness, crew: Crew) -> None:
        self._harness = harness
        self._log = harness.log
        self._crew = crew
        self._writing: dict[str, asyncio.Task[None]] = {}

    async def create_draft(self, *, role: str, project: Resource, task_slug: str, channel_id: str) -> Draft:
        """Draft an agent into a task; raises Conflict `draft_active` while another one is drafted in the project."""
        site = self._harness.site(project.path)
        agent = site.agents.find(role)
        task = self._crew.tasks.find(site.workspace, task_slug)
        root = str(site.workspace.root)
        self._refuse_second(self._log.db, root)
        opened = ev.DraftOpened(
            role=agent.name,
            project=project.name,
            task_slug=task_slug,
            task_dir=task_dir(task_slug),
            channel_id=channel_id,
        )
        command = CreateSession(
            workspace_path=root,
            agent=agent.name,
            title=task.title[:60],
            system_prompt=about_task(task.title, task_slug),
            budget=budget_of(agent, site),
        )
        session = await self._harness.create_session(
            command, also=(opened,), check=lambda db: self._refuse_second(db, root)
        )
        self._crew.pool.add(session.id)
        await self._write(session.id)
        return self.draft(session.id)

    async def resume_draft(self, session_id: str, content: str, *, mode: Urgency = "queue") -> Posted:
        """Say something to a drafted agent; what it answers is told in the log. A damaged draft is closed."""
        if not self.is_whole(session_id):
            raise await self.close_damaged(session_id)
        return await self._harness.post_message(session_id, PostMessage(content=content, auto_run=True, mode=mode))

    async def close_draft(self, session_id: str, reason: str = "") -> DraftSummary:
        """Undraft: stop what runs, and give back what the draft amounts to; its session stays."""
        try:
            state = self._harness.state(session_id)
        except UNREADABLE:
            raise await self.close_damaged(session_id) from None
        if state.turn is not None or state.queue:
            await self._crew.stop(session_id, "undrafted")
        closed = [(None, ev.DraftClosed(reason=reason))]
        await self._log.append(session_id, closed, check=lambda db: _refuse_closed(db, session_id))
        await self._write(session_id)
        return self.summary(session_id)

    def load_active_draft(self, project_path: str) -> Draft | None:
        """The draft that is active in a project, as the log has it."""
        session_id = pool.open_draft(self._log.db, project_path)
        return None if session_id is None else self.draft(session_id)

    def active(self, project: Resource) -> str:
        """The session of a project's draft; raises Conflict `no_active_draft`."""
        session_id = pool.open_draft(self._log.db, project.path)
        if session_id is None:
            raise no_draft(project.name)
        return session_id

    def closed_by_harness(self, project_path: str) -> Draft | None:
        """The project's last draft, if it was not a person who closed it."""
        session_id = pool.last_draft(self._log.db, project_path)
        if session_id is None:
            return None
        try:
            last = self.draft(session_id)
        except UNREADABLE:
            return None if pool.is_open(self._log.db, session_id) else self._remains(session_id)
        return last if last.status == "closed" and last.closed_reason else None

    def _remains(self, session_id: str) -> Draft | None:
        """What the events tell of a draft whose state cannot be read; what it used is unknown."""
        try:
            found = self._log.read(session_id, 0, BEGINNING)
        except UNREADABLE:
            return None
        for event in found:
            if isinstance(event.data, ev.DraftOpened):
                return Draft(
                    session_id=session_id,
                    role=event.data.role,
                    project=event.data.project,
                    task_slug=event.data.task_slug,
                    task_dir=event.data.task_dir,
                    channel_id=event.data.channel_id,
                    started_at=event.ts,
                    last_activity_at=found[-1].ts,
                    turn_count=sum(one.type == "turn_started" for one in found),
                    status="closed",
                    cumulative_cost_usd=None,
                    last_input_tokens=0,
                    last_output_tokens=0,
                    context_window=None,
                    max_output_tokens=None,
                    context_pct=None,
                    closed_reason=DAMAGED,
                )
        return None

    def draft(self, session_id: str) -> Draft:
        """A draft as seed 001 has it, with what is known of its model."""
        state = self._harness.state(session_id)
        draft = state.draft
        if draft is None:
            raise NotFound(f"{session_id[:80]!r} is no draft.", code="draft_not_found")
        window, most = self._model_limits(state)
        used = draft.input_tokens
        return Draft(
            session_id=state.id,
            role=draft.role,
            project=draft.project,
            task_slug=draft.task_slug,
            task_dir=draft.task_dir,
            channel_id=draft.channel_id,
            started_at=draft.started_at,
            last_activity_at=draft.last_activity_at,
            turn_count=draft.turn_count,
            status=draft.status,
            cumulative_cost_usd=_cost(state),
            last_input_tokens=used,
            last_output_tokens=draft.output_tokens,
            context_window=window,
            max_output_tokens=most,
            context_pct=round(used / window * 100, 2) if window else None,
            activity=state.activity,
            closed_reason=draft.closed_reason,
        )

    def summary(self, session_id: str) -> DraftSummary:
        """What a draft amounts to, from its beginning to its end or to its last event."""
        state = self._harness.state(session_id)
        draft = state.draft
        if draft is None:
            raise NotFound(f"{session_id[:80]!r} is no draft.", code="draft_not_found")
        end = draft.closed_at or state.updated_at
        return DraftSummary(
            session_id=state.id,
            task_slug=draft.task_slug,
            turns=draft.turn_count,
            cost=_cost(state),
            seconds=(to_millis(end) - to_millis(draft.started_at)) / 1000,
        )

    async def catch_up(self) -> None:
        """At a start: close what is damaged, and write what a killed process did not."""
        for row in pool.open_rows(self._log.db):
            if row.kind != "draft":
                continue
            if self.is_whole(row.session_id, thoroughly=True):
                await self._write(row.session_id)
            else:
                await self.close_damaged(row.session_id)

    def is_whole(self, session_id: str, *, thoroughly: bool = False) -> bool:
        """Whether a session can be gone on with: no event is missing; and, looked at thoroughly, all can be read."""
        try:
            self._harness.state(session_id)
            count, last = self._log.db.execute(
                "SELECT count(*), max(seq) FROM events WHERE session_id=?", (session_id,)
            ).fetchone()
            if thoroughly:
                queries.history(self._log.db, session_id)
        except UNREADABLE:
            return False
        return bool(count and count == last)

    def hear(self, event: ev.Event) -> None:
        """Something happened in a draft's session: what is on disk for people follows."""
        if event.type in ENDINGS or event.type in ("draft_closed", "context_compacted", "compaction_undone"):
            failed = isinstance(event.data, ev.TurnFailed) and event.data.error.code in ("internal_error", Damaged.code)
            self._write_soon(event.session_id, check=failed)

    async def close(self) -> None:
        """Finish what is being written."""
        await asyncio.gather(*self._writing.values(), return_exceptions=True)

    async def close_damaged(self, session_id: str) -> Conflict:
        """Close a draft that cannot go on, and give what to tell of it; nothing else is touched."""
        row = next((one for one in pool.open_rows(self._log.db) if one.session_id == session_id), None)
        try:
            await self._log.append(session_id, [(None, ev.DraftClosed(reason=DAMAGED))])
        except UNREADABLE:  # not even that can be written: it is called closed in the table, which `agi repair` remakes
            await self._log.maintain(lambda db: pool.close_row(db, session_id))
            self._crew.pool.add(session_id)
        if row is not None:
            await self._crew.recorded(row.project_path, row.task_slug)
        return Conflict(
            f"The draft {session_id} was closed: {DAMAGED}",
            code="no_active_draft",
            hint="Draft the role again; it begins with a fresh session. `agi repair` may bring the old one back.",
        )

    def _refuse_second(self, db: sqlite3.Connection, root: str) -> None:
        session_id = pool.open_draft(db, root)
        if session_id is not None:
            raise Conflict(
                f"A draft is active in this project: {session_id}.",
                code="draft_active",
                hint="Undraft it first, or talk to it; any client of the project can.",
            )

    def _model_limits(self, state: SessionState) -> tuple[int | None, int | None]:
        """What the model that answered last, or that would answer first, takes in and gives out."""
        draft = state.draft
        try:
            site = self._harness.site(state.workspace_path)
            provider, model = (draft.provider, draft.model) if draft else ("", "")
            if not provider:
                agent = site.agents.find(state.agent)
                choice = site.models.describe(
                    state.provider, state.model, default_provider=agent.provider, default_model=agent.model
                )
                provider, model = choice.provider, choice.model
            return site.facts.window(provider, model), site.facts.max_output(provider, model)
        except AgiError:
            return None, None  # the folder, the role or the model is gone; whoever asks something is told

    def _write_soon(self, session_id: str, *, check: bool) -> None:
        before = self._writing.get(session_id)

        async def after() -> None:
            if before is not None:
                await asyncio.gather(before, return_exceptions=True)
            await self._write(session_id)
            if check and not self.is_whole(session_id, thoroughly=True):
                await self.close_damaged(session_id)

        task = asyncio.create_task(after(), name=f"draft.json {session_id}")
        self._writing[session_id] = task
        task.add_done_callback(lambda done: self._written(session_id, done))

    def _written(self, session_id: str, done: asyncio.Task[None]) -> None:
        if self._writing.get(session_id) is done:
            del self._writing[session_id]

    async def _write(self, session_id: str) -> None:
        """Write `draft.json` and the task's record; where that is not possible, the log says so once."""
        try:
            state = self._harness.state(session_id)
        except UNREADABLE:
            return
        if state.draft is None:
            return
        try:
            site = self._harness.site(state.workspace_path)
            if state.draft.provider:
                await site.facts.learn(state.draft.provider, proxies=self._harness.sites.proxies)
            data = msgspec.json.format(msgspec.json.encode(self.draft(session_id)), indent=2) + b"\n"
            path = f"{FOLDER}/{state.draft.task_slug}/{FILE}"
            await asyncio.to_thread(site.workspace.write_bytes, path, data)
            self._crew.tasks.record(site.workspace, state.draft.task_slug)
        except (AgiError, OSError) as error:
            if NOT_WRITTEN not in state.noticed:
                said = f"The draft's files in {FOLDER}/{state.draft.task_slug} cannot be written: {error}"
                await self._log.append(session_id, [(None, ev.Notice(code=NOT_WRITTEN, message=said))])


def no_draft(project: str) -> Conflict:
    """What to say where nobody is drafted."""
    return Conflict(
        f"No draft is active in {project!r}.", code="no_active_draft", hint="Draft a role first: `draft`, `agi draft`."
    )


def about_task(title: str, slug: str) -> str:
    """What an agent that works on a task is told about it."""
    return (
        f"You work on a task of this project: “{title}”. Its folder is {task_dir(slug)}; put what you write about the"
        " task there (notes, plans, results). task.json and draft.json in it are kept by the harness: leave them alone."
    )


def budget_of(agent: Agent, site: Site) -> Budgets | None:
    """What a session of this agent may cost: its own limit, unless the configured one is lower."""
    if agent.max_usd is None:
        return None
    limit = site.config.budget_per_session
    usd = agent.max_usd if limit.usd is None else min(agent.max_usd, limit.usd)
    return Budgets(per_session=msgspec.structs.replace(limit, usd=usd))


def _cost(state: SessionState) -> float | None:
    return 0.0 if not state.usage.requests else state.usage.cost_usd


def _refuse_closed(db: sqlite3.Connection, session_id: str) -> None:
    state = queries.session_state(db, session_id)
    if state.draft is None or state.draft.status == "closed":
        raise no_draft(state.draft.project if state.draft else session_id)
