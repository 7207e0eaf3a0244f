"""Running a session's turns, one after the other, while this process holds its lease.

A runner lives as long as there is something to run: it takes up a turn that a crash cut off, then whatever is queued.
May import: errors, protocol, eventlog, loop, views, sessions.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from agi.agents.base import Agent
from agi.editing.seen import Seen
from agi.errors import AgiError, Conflict, Damaged, DiskFull, LeaseLost, StorageError
from agi.eventlog import leases
from agi.eventlog.base import Entry, Lease
from agi.eventlog.log import EventLog
from agi.loop.base import Outcome, Plan, Ports
from agi.loop.schemas import checked_schema
from agi.loop.turn import run_turn
from agi.models.base import Model
from agi.protocol import events as ev
from agi.protocol.messages import Usage
from agi.protocol.sessions import ErrorInfo, QueuedTurn
from agi.protocol.times import to_rfc3339
from agi.protocol.tools import ToolKind
from agi.sessions.approvals import Approvals
from agi.sessions.attachments import Files
from agi.sessions.closing import after_cancel, after_crash
from agi.sessions.contexts import open_context
from agi.sessions.ending import error_info, our_failure, session_ending, turn_ending, unready
from agi.sessions.ground import ground_of
from agi.sessions.jobs import SessionsJobs
from agi.sessions.journal import Journal
from agi.sessions.media import TurnMedia
from agi.sessions.memory import Memory
from agi.sessions.own_servers import canceled_or, notices
from agi.sessions.preparing import surroundings, wants_preflight
from agi.sessions.sites import Site, Sites
from agi.sessions.toolbox import Toolbox
from agi.sessions.turn_jobs import TurnJobs
from agi.sessions.turns import limits
from agi.tools.base import UNFINISHED, Registry, Tool
from agi.views import queries
from agi.views.delegated import delegated
from agi.views.state import SessionState, TurnState
from agi.views.told import told_messages

RESUMES = 3
"""How often a turn may be cut off by crashes before it counts as the cause of them."""
WAIT_ELSEWHERE_S = 0.5
WORTH_LEARNING = 2000
"""Tokens of a conversation from which on it matters how much the model takes, and its server is asked."""


class Runner:
    """Runs one session's turns."""

    def __init__(
        self,
        log: EventLog,
        sites: Sites,
        registry: Registry,
        session_id: str,
        jobs: SessionsJobs | None = None,
        seen: Seen | None = None,
        memory: Memory | None = None,
        on_answered: Callable[[str, TurnState], None] | None = None,
        team: Callable[[SessionState, TurnState, Agent], tuple[Tool, ...]] | None = None,
    ) -> None:
        self._log = log
        self._jobs = jobs
        self._memory = memory
        self._sites = sites
        self._registry = registry
        self.session_id = session_id
        self._lease: Lease | None = None
        self._turn_task: asyncio.Task[Outcome] | asyncio.Task[Registry] | None = None
        self._turn_id = ""
        self._compaction: asyncio.Task[None] | None = None
        self._people: Approvals | None = None
        self._journal: Journal | None = None
        self._seen = seen
        self._on_answered = on_answered
        self._team = team

    async def run(self, is_over: Callable[[], bool], lease: Lease | None = None) -> None:
        """Run until nothing is left; `is_over` is asked, without a pause before returning, whether that still holds."""
        self._lease = lease
        self._log.listen(self.session_id, self._hear)
        try:
            while await self._run_next() or not is_over():
                pass
        except LeaseLost:
            return  # another process goes on from here; it holds the truth now
        except DiskFull as full:
            with suppress(StorageError):  # then nobody could be told
                await self._say_paused(full)
            raise
        finally:
            self._log.hub.unlisten(self.session_id, self._hear)
            if self._lease is not None:
                await self._log.release_lease(self._lease)

    async def _say_paused(self, full: DiskFull) -> None:
        """Record that the turn waits for room, which may be in the room that is set aside for this."""
        turn = queries.session_state(self._log.db, self.session_id).turn
        if turn is None or turn.paused or self._lease is None:
            return
        text = f"{full.message} The turn waits, and goes on by itself when there is room again."
        notice = ev.Notice(code=ev.DISK_FULL, message=text)
        await self._log.append_last_word(self.session_id, [(turn.id, notice)], lease=self._lease)

    async def _run_next(self) -> bool:
        """Run the turn that is open or next in line; False if there is none."""
        if not self._has_work():
            return False
        taken_over = self._lease is None
        if taken_over and not await self._take_lease():
            return True
        state = queries.session_state(self._log.db, self.session_id)  # again: it may have changed while we waited
        if state.turn is None and not state.queue:
            await self._compact(state)
            return True
        if state.turn is not None and taken_over:
            await self._resume(state, state.turn)
        elif state.turn is None and state.queue:
            await self._start(state, state.queue[0])
        await self._run_open_turn()
        return True

    def _has_work(self) -> bool:
        state = queries.session_state(self._log.db, self.session_id)
        return state.turn is not None or bool(state.queue) or state.compaction is not None

    async def _take_lease(self) -> bool:
        try:
            self._lease = await self._log.take_lease(self.session_id)
        except Conflict:
            await asyncio.sleep(WAIT_ELSEWHERE_S)  # the process that has it runs the queue as well
            return False
        return True

    async def _start(self, state: SessionState, queued: QueuedTurn) -> None:
        try:
            await look_around(self._sites.get(state.workspace_path), state, queued)
            data = self.started(state, queued)
        except AgiError as error:
            failed = ev.TurnFailed(error=error_info(error), usage=Usage())
            over = [session_ending(failed)] if len(state.queue) <= 1 else []
            await self._append([(queued.turn_id, ending) for ending in (failed, *over)])
            return
        await self._append([(queued.turn_id, data)])

    def started(self, state: SessionState, queued: QueuedTurn) -> ev.TurnStarted:
        """Say who will answer; raises what is wrong with the asked agent, provider or model."""
        return turn_started(self._sites.get(state.workspace_path), state, queued, self._registry)

    async def _resume(self, state: SessionState, turn: TurnState) -> None:
        """Close what a crash left open, so that the turn can go on; files that were half changed are put back."""
        pieces = self._log.read(self.session_id, turn.open_seq - 1, 10_000) if turn.open_message else []
        closed = after_crash(turn, self._is_repeatable, pieces, to_rfc3339(time.time()))
        why = "There is room on the disk again" if turn.paused else "The process that ran it stopped"
        resumed = ev.TurnResumed(reason=f"{why}; it goes on from its last event.")
        notices = await self._put_back(state)
        await self._append([(turn.id, data) for data in (*notices, *closed, resumed)])

    async def _put_back(self, state: SessionState) -> list[ev.Notice]:
        try:
            workspace = self._sites.get(state.workspace_path).workspace
            paths = await asyncio.to_thread(workspace.put_back, self._session_folder() / UNFINISHED)
        except (AgiError, OSError) as error:
            return [ev.Notice(code="not_put_back", message=f"A change that was cut off was not put back: {error}")]
        told = ", ".join(paths[:10])
        return [ev.Notice(code="put_back", message=f"A change was cut off; put back: {told}.")] if paths else []

    async def _run_open_turn(self) -> None:
        state = queries.session_state(self._log.db, self.session_id)
        turn = state.turn
        if turn is None or self._lease is None:
            return
        journal = self._journal = Journal(self._log, self.session_id, turn.id, self._lease, state.last_seq)
        self._people = None
        began = time.monotonic()
        try:
            outcome = await self._outcome(state, turn, journal)
        except asyncio.CancelledError:
            await journal.keep_spoken()
            raise
        await journal.settle()
        waited = self._people.waited if self._people else 0.0
        last = turn_ending(outcome, journal.turn(), time.monotonic() - began - waited)
        loose_ends = [] if isinstance(last, ev.TurnCompleted) else self._loose_ends(turn, journal)
        await journal.finish([*loose_ends, last], session_ending(last))
        if self._on_answered is not None and isinstance(last, ev.TurnCompleted):
            self._on_answered(self.session_id, turn)

    async def _outcome(self, state: SessionState, turn: TurnState, journal: Journal) -> Outcome | None:
        """Run the turn as a task of its own; None if it was canceled."""
        if turn.cancel_requested:
            return None
        if turn.resumes - turn.pauses > RESUMES:
            text = f"The turn was cut off {turn.resumes} times; it is not tried again by itself."
            error = ErrorInfo(code="interrupted", message=text, hint="Retry it if you know why.")
            return Outcome(stop_reason="error", error=error)
        self._turn_id = turn.id
        try:
            registry = await self._prepared(state, turn, journal)
            if registry is None or journal.turn().cancel_requested:
                return None  # meanwhile
            plan, ports = await self._plan(state, turn, journal, registry)
        except DiskFull:
            raise  # the turn waits for room
        except AgiError as error:
            return Outcome(stop_reason="error", error=error_info(error))
        except Exception as problem:
            return our_failure(problem, self._log.path)
        running = self._turn_task = asyncio.create_task(run_turn(plan, ports), name=f"turn {turn.id}")
        try:
            return await self._watched(running)
        finally:
            self._turn_task = None

    async def _prepared(self, state: SessionState, turn: TurnState, journal: Journal) -> Registry | None:
        """Look up what the turn needs; where servers may be slow, as a task of its own. None if it was canceled."""
        site = self._sites.get(state.workspace_path)
        looking = self._look_up(state, turn, journal)
        if not site.own_servers.may_be_at(site):
            return await looking
        task = self._turn_task = asyncio.create_task(looking, name=f"preparing {turn.id}")
        return await canceled_or(task)

    async def _look_up(self, state: SessionState, turn: TurnState, journal: Journal) -> Registry:
        """Ask around for what the turn needs to know about its model, where nobody has said it; gives its tools."""
        site = self._sites.get(state.workspace_path)
        # A server that was found when the turn began has to be found again after a restart.
        await site.models.look_around(turn.provider)
        sized = site.config.compaction.enabled and state.context_tokens >= WORTH_LEARNING
        priced = turn.preflight or any(budget.usd is not None for budget in limits(state.budget, site.config))
        if sized or priced:
            await site.facts.learn(turn.provider, proxies=self._sites.proxies)
        registry = self._registry
        try:
            found = await site.own_tools.joined(site, self._registry, start=True)
            registry = found.registry
            for notice in notices(found.problems, journal.was_noticed):
                journal.note(notice)
        except Exception as error:  # whatever is wrong with them, the turn can be answered without
            journal.note(unready(error))
        agent = site.agents.find(turn.agent)
        if self._team is not None and has_team(agent, state):
            team = self._team(state, turn, agent)
            taken = registry.names()  # a workspace may have a tool of the same name
            registry = registry.joined(tool for tool in team if tool.definition.name not in taken)
        return registry

    async def _watched(self, task: asyncio.Task[Outcome]) -> Outcome | None:
        try:
            return await canceled_or(task)  # if the process is stopping, the turn stays open and goes on later
        except Damaged as damage:  # what was read; where nothing can be written either, the turn's end is not
            return Outcome(stop_reason="error", error=error_info(damage))
        except StorageError:
            raise  # the log cannot be written: the turn stays open, as it is there
        except Exception as problem:
            return our_failure(problem, self._log.path)

    async def _plan(
        self, state: SessionState, turn: TurnState, journal: Journal, registry: Registry
    ) -> tuple[Plan, Ports]:
        site = self._sites.get(state.workspace_path)
        agent = with_team(site.agents.find(turn.agent), state)
        config = site.config
        turn_budget, session_budget = limits(state.budget, config)
        self._sites.own_cache(site)
        opened = await open_context(self._log, site, registry, state, turn)
        history = told_messages(self._log.db, state, turn.id)
        for data in opened.events:
            journal.note(data)  # nobody waits for it: the model can be asked meanwhile
        plan = Plan(
            session_id=state.id,
            turn_id=turn.id,
            agent=agent.name,
            system=opened.system,
            model=site.models.resolve(turn.provider, turn.model),
            fallback=lambda provider, name: fallback(site, provider, name),
            breaker=lambda provider: self._sites.breaker(site, provider),
            facts=site.facts,
            history=(*history, *opened.messages),
            options=turn.options or {},
            schema=checked_schema(turn.options),
            media=TurnMedia(site, Files(self._session_folder()).read, self._sites.proxies),
            max_steps=config.max_steps(agent.name) or agent.max_steps,
            turn_budget=turn_budget,
            session_budget=session_budget,
            session_seconds=state.seconds,
            verify=config.verify,
            verify_asks=site.verify_asks,
            review=config.patch_review,
            reviewer=named_model(site, config.patch_review.model),
            delegated=lambda: (delegated(self._log.db, state.id, turn.id), delegated(self._log.db, state.id)),
            compaction=config.compaction,
            summariser=named_model(site, config.compaction.model),
            surroundings=lambda: surroundings(site),
        )
        toolbox = self._toolbox(site, agent, state, turn, journal, registry)
        patience = config.approval_timeout_s
        self._people = Approvals(self._log, journal, turn.approval_timeout_s if patience is None else patience)
        return plan, Ports(journal=journal, toolbox=toolbox, people=self._people)

    def _toolbox(
        self, site: Site, agent: Agent, state: SessionState, turn: TurnState, journal: Journal, registry: Registry
    ) -> Toolbox:
        lasting = self._sites.grants(site)
        return Toolbox(
            registry=registry,
            agent=agent,
            policy=site.config.approval,
            grants=lambda: (*journal.state().grants, *lasting()),
            workspace=site.workspace,
            session_folder=self._session_folder(),
            turn_id=turn.id,
            verify_commands=site.config.verify.commands,
            no_commands=site.no_commands(),
            note=journal.note,
            ground=ground_of(site),
            cell=site.cell,
            seen=self._seen,
            checkpoints=site.config.checkpoints,
            was_noticed=journal.was_noticed,
            skills=site.skills,
            redactor=self._log.redactor,
            approved=journal.approved,
            jobs=TurnJobs(self._jobs, self.session_id, turn.id, journal.emit) if self._jobs else None,
            memory=self._memory.of(state.id, state.project_path) if self._memory else None,
        )

    async def _compact(self, state: SessionState) -> None:
        """Make the compaction that somebody asked for, while nothing else runs."""
        if state.compaction is None or self._lease is None:
            return
        from agi.sessions.compacting import IdleJournal, compact_idle  # late: few sessions are asked for it

        site = self._sites.get(state.workspace_path)
        idle = TurnState(id="", message_id="", agent="", provider="", model="", started_at=state.updated_at)
        journal = IdleJournal(self._log, self.session_id, self._lease, state.last_seq, idle)

        async def prepare() -> tuple[Plan, Ports]:
            nobody = QueuedTurn(turn_id="", message_id="")
            await look_around(site, state, nobody)
            who = turn_started(site, state, nobody, self._registry)
            idle.agent, idle.provider, idle.model = who.agent, who.provider, who.model
            return await self._plan(state, idle, journal, await self._look_up(state, idle, journal))

        self._compaction = asyncio.create_task(compact_idle(journal, prepare), name=f"compact {self.session_id}")
        try:
            await canceled_or(self._compaction)  # if the process is stopping, it is made at the next start
        finally:
            self._compaction = None

    def cancel_turn(self, turn_id: str) -> None:
        """Stop the turn if it is the one that is running here."""
        if self._turn_task is not None and self._turn_id == turn_id:
            self._turn_task.cancel()

    def _hear(self, event: ev.Event) -> None:
        if self._journal is not None:
            self._journal.heard(event.seq)
        if event.type == "cancel_requested" and event.turn_id:
            self.cancel_turn(event.turn_id)
        elif self._compaction and isinstance(event.data, ev.CompactionFailed) and event.data.code == "canceled":
            self._compaction.cancel()

    def _loose_ends(self, turn: TurnState, journal: Journal) -> list[ev.EventData]:
        history = journal.deferred_messages()
        with suppress(Damaged):  # then what was begun is closed, as the turn's state has it
            history = [*queries.turn_messages(self._log.db, self.session_id, turn.id), *history]
        return after_cancel(journal.turn(), history, journal.turn().cancel_reason)

    async def _append(self, entries: list[Entry]) -> None:
        await self._log.append(self.session_id, entries, lease=self._lease)

    def _session_folder(self) -> Path:
        return self._log.folder / "sessions" / self.session_id

    def _is_repeatable(self, name: str) -> bool:
        definition = self._registry.find(name)
        if definition is None:
            from agi.tools.team import REPEATABLE  # late: only after a crash

            return name in REPEATABLE
        return definition.kind == ToolKind.READ


def has_team(agent: Agent, state: SessionState) -> bool:
    """Whether an agent deals with the harness itself: one that is drafted, that works for another, or that may."""
    return state.has_team or bool(agent.permissions)


def with_team(agent: Agent, state: SessionState) -> Agent:
    """The agent as it may be where it is drafted or works for somebody: the tools for that are its own too."""
    if agent.tools is None or not has_team(agent, state):
        return agent
    from agi.tools.team import NAMES  # late: most sessions have no team

    return msgspec.structs.replace(agent, tools=(*agent.tools, *NAMES))


def named_model(site: Site, named: str | None) -> Callable[[], Model] | None:
    """A model that is configured for one purpose, as `provider/model`; asked for when it is needed."""
    return None if named is None else lambda: site.models.resolve(*named.split("/", 1))


def fallback(site: Site, provider: str, name: str) -> Model | None:
    """The model to ask in the place of another, as configured."""
    for choice in site.models.fallbacks(provider, name):
        return site.models.resolve(choice.provider, choice.model)
    return None


async def look_around(site: Site, state: SessionState, queued: QueuedTurn) -> None:
    """Look for models on this machine if who answers depends on it; to be awaited before `turn_started`."""
    asked = queued.asked
    agent = site.agents.find(asked.agent or state.agent)
    provider = asked.provider or (None if asked.model else state.provider)
    await site.models.look_around(provider, default_provider=agent.provider)


def turn_started(site: Site, state: SessionState, queued: QueuedTurn, registry: Registry) -> ev.TurnStarted:
    """Settle who answers a message: what it asked for, else the session's, else the agent's, else the configured."""
    asked = queued.asked
    agent = site.agents.find(asked.agent or state.agent)
    choice = site.models.describe(
        asked.provider or (None if asked.model else state.provider),
        asked.model or (None if asked.provider else state.model),
        default_provider=agent.provider,
        default_model=agent.model,
    )
    return ev.TurnStarted(
        message_id=queued.message_id,
        agent=agent.name,
        provider=choice.provider,
        model=choice.model,
        options=asked.options,
        on_ask=asked.on_ask,
        approval_timeout_s=asked.approval_timeout_s,
        retry_of=queued.retry_of,
        preflight=wants_preflight(site, agent, asked, registry.definitions()),
        settings=settings_of(site, agent),
    )


def settings_of(site: Site, agent: Agent) -> ev.TurnSettings:
    """What a turn of an agent goes by here and now."""
    config = site.config
    return ev.TurnSettings(
        max_steps=config.max_steps(agent.name) or agent.max_steps,
        turn_budget=config.budget_per_turn,
        session_budget=config.budget_per_session,
        verify=config.verify,
        verify_asks=site.verify_asks,
        review=config.patch_review,
        compaction=config.compaction,
    )


def take_lease_check(session_id: str, owner: str, taken: list[Lease]) -> Callable[[sqlite3.Connection], None]:
    """A check that takes the session's lease in the same transaction as the events it comes with."""

    def check(db: sqlite3.Connection) -> None:
        taken[:] = [leases.take(db, session_id, owner)]

    return check
