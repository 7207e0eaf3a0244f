"""The harness: one data folder, its sessions, and the verbs every surface calls.

Commands go in, values and events come out; who asks, and in which words, is not known here.
May import: errors, protocol, eventlog, views, sessions.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct, UnsetType

from agi.config import Flags
from agi.errors import Conflict, Damaged, Invalid, Unavailable
from agi.eventlog import leases
from agi.eventlog.base import ENDINGS, Check, Cursor
from agi.eventlog.links import refuse_links
from agi.eventlog.log import EventLog
from agi.eventlog.repair import alone_at, rebuild_if_needed
from agi.eventlog.schema import FROM_MIRRORS
from agi.protocol import commands
from agi.protocol import events as ev
from agi.protocol.ids import PART, SESSION, new_id
from agi.protocol.messages import Message
from agi.protocol.parts import Text
from agi.protocol.resources import ResourceTag
from agi.protocol.sessions import Session
from agi.protocol.times import to_rfc3339
from agi.redaction import Redactor
from agi.sessions.memory import Memory
from agi.sessions.origin import claim, disown, doubted, is_ours, mark, mark_new
from agi.sessions.runners import Runners
from agi.sessions.sites import Site, Sites
from agi.sessions.turns import (
    is_raised,
    limits,
)
from agi.views import pool, queries
from agi.views.folding import begun
from agi.views.queries import Attachment, Before, Turn
from agi.views.state import SessionState, TurnState
from agi.views.tables import Tables

if TYPE_CHECKING:
    from agi.editing.seen import Seen
    from agi.eventlog.follow import Batch
    from agi.models.base import Model
    from agi.protocol.chains import LogCheck
    from agi.protocol.checkpoints import Reverted, SessionDiff
    from agi.protocol.compaction import Compacted
    from agi.protocol.context import ContextReport
    from agi.protocol.grants import Grant
    from agi.protocol.overview import Inbox, UsageReport
    from agi.protocol.search import Found, Search
    from agi.protocol.storage import Collected
    from agi.sessions.asking import Asking, Posted
    from agi.sessions.attachments import StoredFile
    from agi.sessions.canceling import Canceling
    from agi.sessions.crew import Crew
    from agi.sessions.isolating import Apart
    from agi.sessions.jobs import SessionsJobs
    from agi.sessions.queue import Queue
    from agi.sessions.runner import Runner
    from agi.sessions.titling import Titling
    from agi.sessions.undoing import Undoing
    from agi.sessions.warming import Warmer
    from agi.sessions.watching import Watching
    from agi.tools.base import Registry

# What a harness needs only for a turn, or for a verb, is imported there: a daemon listens, and a list of sessions is
# shown, sooner without it.

SEEN_KEPT = 500
"""Of how many sessions it is known, while this process lives, what they were shown of files."""


class HarnessSettings(Struct, frozen=True, kw_only=True):
    """Where a harness works and what it was told at its start."""

    project: Path
    home_config: Path
    env: Mapping[str, str]
    database: Path | None = None
    flags: Flags = Flags()
    trust_once: bool = False
    """Trust the project for this run, whatever its files say."""
    probe_ports: Mapping[str, int] | None = None
    """Where model servers of this machine are looked for, by provider; None is the usual ports."""


class Harness:
    """Holds the log and runs what is to be run."""

    def __init__(self, settings: HarnessSettings, *, stand_in: Model | None = None) -> None:
        self.settings = settings
        self.project = settings.project.resolve()
        self.folder = self.project / ".agi"
        database = settings.database or self.folder / "agi.sqlite"
        tables = Tables()
        refuse_links(self.folder)
        if settings.database is not None:
            from agi.eventlog.elsewhere import refuse_other  # late: hardly anybody names one

            refuse_other(database, self.folder)
            database = database.resolve()  # locks and journals lie beside the file itself, whatever leads to it
        self.redactor = Redactor()
        with alone_at(database):  # those who start together look one after the other
            self._foreign = not is_ours(self.folder, settings.home_config)
            planted = None if settings.database else doubted(self.folder, settings.home_config, tables)
            self._foreign = self._foreign or planted is not None
            is_new = not database.exists()
            self.rebuilt = planted or rebuild_if_needed(self.folder, database, tables)
            """What was rebuilt because the database was missing, damaged or made elsewhere; None if it was whole."""
            _ignore_state(self.folder)
            self.log = EventLog(self.folder, tables, database=database, redactor=self.redactor)
            if not settings.database and (is_new or self.rebuilt is not None):
                mark_new(database, self.folder, settings.home_config)
        trusted = frozenset({self.project}) if settings.trust_once else frozenset()
        self.sites = Sites(
            home_config=settings.home_config,
            env=settings.env,
            flags=settings.flags,
            redactor=self.redactor,
            trust_once=trusted,
            stand_in=stand_in,
            probe_ports=settings.probe_ports,
            hidden=(self.folder,),
            lender=self._lender,
        )
        self.memory = Memory(self.log)
        self._seen = lru_cache(maxsize=SEEN_KEPT)(_nothing_seen)
        self.runners = Runners(self.log, self._runner)
        self._undoing: Undoing | None = None
        self._titling: Titling | None = None
        self._crew: Crew | None = None
        self._watching: Watching | None = None

    @cached_property
    def apart(self) -> Apart:
        """Where workers change files."""
        from agi.sessions.isolating import Apart

        return Apart(self.folder, self.settings.home_config, self.settings.env)

    @cached_property
    def jobs(self) -> SessionsJobs:
        """What runs in the background."""
        from agi.sessions.jobs import SessionsJobs

        return SessionsJobs(self.log)

    @cached_property
    def queue(self) -> Queue:
        """The messages that wait."""
        from agi.sessions.queue import Queue

        return Queue(self.log, self.runners)

    @cached_property
    def _canceling(self) -> Canceling:
        from agi.sessions.canceling import Canceling

        return Canceling(self.log, self.runners)

    @cached_property
    def _asking(self) -> Asking:
        from agi.sessions.asking import Asking

        return Asking(self.log, self.runners, self.registry, self._canceling, self.site, lambda: self.apart)

    @cached_property
    def _warmer(self) -> Warmer:
        from agi.sessions.warming import Warmer

        return Warmer()

    def _lender(self, path: str) -> str | None:
        """The project of which a folder is a worker's copy."""
        session_id = self.apart.session_of(path)
        if session_id is None:
            return None
        return self.apart.lent.get(session_id) or self.state(session_id).project_path

    @cached_property
    def registry(self) -> Registry:
        """The tools every agent can be given."""
        from agi.tools.base import Registry
        from agi.tools.builtin import builtin_tools

        return Registry(builtin_tools(self.settings.env))

    def tools_known(self) -> Set[str]:
        """The name of every tool that an agent was ever given here: the built-in ones, the user's, those of servers."""
        return self.registry.ever_known()

    @property
    def crew(self) -> Crew:
        """Drafts, workers and tasks; on a running event loop."""
        if self._crew is None:
            from agi.sessions.crew import Crew  # late: most runs have none

            self._crew = Crew(self)
        return self._crew

    def _runner(self, session_id: str) -> Runner:
        from agi.sessions.runner import Runner

        return Runner(
            self.log,
            self.sites,
            self.registry,
            session_id,
            jobs=self.jobs,
            seen=self._seen(session_id),
            memory=self.memory,
            on_answered=self._title,
            team=lambda state, turn, agent: self.crew.team(state, turn, agent),
        )

    def _title(self, session_id: str, turn: TurnState) -> None:
        """After a turn: where the settings say so, a model is asked for a title; once, and nobody waits for it."""
        state = self.state(session_id)
        if self.site(state.workspace_path).config.titles.mode != "model" or state.ephemeral:
            return
        if queries.count_turns(self.log.db, session_id) == 1:
            from agi.sessions.titling import Titling  # late: most settings do not ask for it

            self._titling = self._titling or Titling(self.log, self.sites)
            self._titling.begin(session_id, turn.provider, turn.model)

    def site(self, path: str | Path | None = None) -> Site:
        """The workspace at `path` (default: the project), with its settings."""
        return self.sites.get(path or self.project)

    async def create_session(
        self,
        command: commands.CreateSession,
        *,
        ephemeral: bool = False,
        resource: ResourceTag | UnsetType = UNSET,
        also: Sequence[ev.EventData] = (),
        check: Check | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Begin a session; its folder is on disk when this returns. `also` is said of it in the same commit."""
        await self._ready()
        path = command.workspace_path or command.project_path or str(self.project)
        if command.workspace_path and command.project_path and command.workspace_path != command.project_path:
            raise Invalid(
                "workspace_path and project_path name different folders.",
                code="workspace_ambiguous",
                hint="They are two spellings of one thing; send one of them.",
            )
        if "\0" in path:
            raise Invalid("A path has no zero bytes.", code="workspace_invalid", hint="Send the folder's path.")
        if not Path(path).is_absolute():
            raise Invalid(f"{path!r} is not an absolute path.", code="workspace_not_absolute", hint="Begin it with /.")
        site = self.site(path)
        agent = site.agents.find(command.agent) if command.agent else site.agents.default(site.config)
        if command.provider or command.model:
            await site.models.look_around(command.provider)
            site.models.describe(command.provider, command.model)
        session_id = session_id or new_id(SESSION)
        created = ev.SessionCreated(
            id=session_id,
            agent=agent.name,
            workspace_path=str(site.opened.root),
            project_path=str(site.project),
            created_at=to_rfc3339(time.time()),
            title=command.title,
            provider=command.provider,
            model=command.model,
            system_prompt=command.system_prompt,
            auto_run=command.auto_run,
            budget=command.budget,
            ephemeral=ephemeral,
            resource=resource,
        )
        notices = [ev.Notice(code="setting_ignored", message=warning) for warning in site.config.warnings]
        said = [(None, data) for data in (created, *also, *notices)]
        events = await self.log.append(session_id, said, check=check)
        await self.log.mirrored()
        self._warmer.begin(site, agent, command, lambda: self.registry.definitions())
        return begun(events).public(self.log.epoch)  # nobody works for it yet, and no row has to be read

    async def fork_session(self, session_id: str, command: commands.ForkSession) -> Session:
        """Begin another session with what was said in this one so far, or up to a point; this one is only read."""
        from agi.sessions.forking import fork_session  # late: hardly any run forks

        await self._ready()
        site = self.site(self.state(session_id).workspace_path)
        if command.agent:
            site.agents.find(command.agent)
        if command.provider or command.model:
            await site.models.look_around(command.provider)
            site.models.describe(command.provider, command.model)
        return self.session(await fork_session(self.log, session_id, command))

    async def verify_log(self, session_id: str, head: str = "") -> LogCheck:
        """Look whether a session's log is as it was written; `head` is the hash of an event that somebody kept."""
        from agi.eventlog.verify import LogFiles  # late: hardly any run looks
        from agi.views.comparing import differing
        from agi.views.tables import anchor

        await self._ready()
        self.state(session_id)
        await self.log.mirrored()
        files = LogFiles(self.log.folder, self.log.path)
        return await asyncio.to_thread(files.check, session_id, anchor, head, comparing=differing)

    async def update_session(self, session_id: str, command: commands.UpdateSession) -> Session:
        """Change a session's settings."""
        state = self.state(session_id)
        site = self.site(state.workspace_path)
        if command.agent:
            site.agents.find(command.agent)
        if command.provider or command.model:
            await site.models.look_around(command.provider)
            site.models.describe(command.provider, command.model)
        if command == commands.UpdateSession():
            return self.session(session_id)
        update = ev.SessionUpdated(
            title=command.title,
            agent=command.agent,
            provider=command.provider,
            model=command.model,
            budget=command.budget,
        )
        await self.log.append(session_id, [(None, update)])
        before, after = limits(state.budget, site.config), limits(command.budget or state.budget, site.config)
        if is_raised(before, after):
            await self._go_on(session_id)
        return self.session(session_id)

    async def _go_on(self, session_id: str) -> None:
        """Take up the turn that ended because a limit was reached, unless something else runs by now."""
        state = self.state(session_id)
        if state.exhausted and state.turn is None and not state.queue:
            with suppress(Conflict):
                await self.retry(session_id, state.exhausted)

    async def delete_session(self, session_id: str) -> None:
        """Remove a session for good; a running one must be canceled first."""
        state = self.state(session_id)
        if state.turn is not None or state.queue or state.compaction is not None:
            raise Conflict("The session is running.", code="session_running", hint="Cancel it first.")
        if state.draft is not None and state.draft.status == "active":
            raise Conflict("The session is a draft.", code="session_drafted", hint="Undraft it first.")
        await self.jobs.end_all(session_id, "the session was deleted")
        await self._delete(session_id)

    async def _delete(self, session_id: str, check: Check | None = None) -> None:
        state = self.state(session_id)
        await self.log.delete(session_id, check=check)
        if state.worker is not None and state.worker.kept_apart:
            await self.apart.remove(session_id, self.site(state.project_path).workspace)
            await self.sites.forget(state.workspace_path)
        if (self.folder / "checkpoints").exists():
            # A fork can still take back what it was forked from; what no fork needs any more goes with the last one.
            lineage = (session_id, *(state.forked_from.ancestors if state.forked_from else ()))
            for one in queries.unneeded(self.log.db, lineage):
                await self._undo().forget(one)

    async def collect_garbage(self, command: commands.CollectGarbage) -> Collected:
        """Remove sessions that are over the limits, and what is left behind; or say what would go."""
        from agi.sessions.collecting import collect, with_limits  # late: hardly any run makes room

        await self._ready()
        policy = with_limits(
            self.site().config.retention,
            older_than_days=command.older_than_days,
            max_bytes=command.max_bytes,
            keep_sessions=command.keep_sessions,
        )
        return await collect(self.log, policy, self._delete, dry_run=command.dry_run)

    async def post_message(self, session_id: str, command: commands.PostMessage) -> Posted:
        """Add a message and, unless told otherwise, have it answered: now, or after or by what is running."""
        await self._ready()
        return await self._asking.post(session_id, command)

    async def retry(self, session_id: str, turn_id: str) -> Posted:
        """Answer the message of a turn again that was not answered to its end; the model knows what was done."""
        await self._ready()
        return await self._asking.retry(session_id, turn_id)

    async def cancel(self, session_id: str, command: commands.Cancel) -> tuple[str, ...]:
        """Stop the running turn and drop the queue (or just the named turn); returns the turns that will end.

        Unless told otherwise, workers below it are stopped as well; their sessions stay and can be talked to.
        """
        await self._ready()
        return await self._canceling.cancel(session_id, command)

    async def add_context(self, session_id: str, messages: Sequence[commands.OneShotMessage]) -> None:
        """Put an earlier conversation into the session, as if it had been held here; nothing of it is answered."""
        from agi.sessions.composing import compose

        await self._ready()
        self.state(session_id)
        said = [compose(session_id, one.role, (Text(text=one.content, id=new_id(PART)),)) for one in messages]
        if said:
            await self.log.append(session_id, [(None, ev.MessageAdded(message=one, run=False)) for one in said])

    async def approve(self, session_id: str, command: commands.Approve) -> tuple[Grant, ...]:
        """Answer a pending approval; the turn that waits for it goes on. Gives what is remembered of the answer."""
        from agi.sessions.approvals import give_answer
        from agi.sessions.grants import keep_grants

        await self._ready()
        if pool.children(self.log.db, session_id):
            from agi.sessions.below import asked_by  # late: most sessions have no workers

            session_id = asked_by(self.log.db, session_id, command.tool_call_id)
        state = self.state(session_id)
        if command.remember == "workspace" and not self.site(state.workspace_path).trusted:
            raise Invalid(
                "This workspace is not trusted, so nothing is remembered for it.",
                code="cannot_be_remembered",
                hint="Approve it once or for the session, or run `agi trust`.",
            )
        event = await give_answer(self.log, session_id, command)
        self.runners.ensure(session_id)
        grants = event.data.grants if isinstance(event.data, ev.ApprovalGranted) else ()
        if command.remember == "workspace" and grants:
            await asyncio.to_thread(keep_grants, self.settings.home_config, state.project_path, grants)
        return grants

    async def resolve_preflight(
        self, session_id: str, turn_id: str, command: commands.ResolvePreflight
    ) -> ev.PreflightResolved:
        """Answer the plan of a turn; with a yes the turn begins, and what was approved runs unasked."""
        from agi.sessions import preflights  # late: few turns begin with one
        from agi.sessions.preparing import judging_toolbox

        await self._ready()
        state = self.state(session_id)
        pending = preflights.pending_at(self.log.db, session_id, turn_id, command.digest)
        site = self.site(state.workspace_path)
        toolbox = await judging_toolbox(self.sites, site, self.registry, state)
        resolved = preflights.resolution(pending, command, toolbox, site.config.patch_review)
        await preflights.give_answer(self.log, session_id, turn_id, command, resolved)
        self.runners.ensure(session_id)
        return resolved

    async def wait_preflight(self, session_id: str, turn_id: str) -> ev.PreflightRequested | None:
        """Return once a turn's steps are proposed; None if it ended without them."""
        from agi.sessions.preflights import wait_until_proposed  # late, likewise

        return await wait_until_proposed(self.log, session_id, turn_id)

    def grants(self, session_id: str | None = None) -> list[Grant]:
        """What people allowed for longer than one call: in one session, or in all of them and in every workspace."""
        from agi.sessions.grants import list_grants, session_grants

        if session_id is not None:
            return session_grants(self.log, session_id)
        return list_grants(self.log, self.settings.home_config)

    async def revoke_grant(self, grant_id: str, session_id: str | None = None) -> None:
        """Ask again about what was allowed; raises NotFound."""
        from agi.sessions.grants import revoke_grant, revoke_session_grant

        if session_id is not None:
            await revoke_session_grant(self.log, session_id, grant_id)
        else:
            await revoke_grant(self.log, self.settings.home_config, grant_id)

    async def context(self, session_id: str, *, text: bool = False) -> ContextReport:
        """What a session's model is shown, what was left out and why; with `text`, the very words."""
        from agi.sessions.showing import session_context  # late: only who asks needs it

        state = self.state(session_id)
        return await session_context(self.log, self.site(state.workspace_path), self.registry, state, text=text)

    async def diff(self, session_id: str, *, turn: str = "", start: str = "", end: str = "") -> SessionDiff:
        """What a session changed: on the whole, in one turn, or between two points."""
        return await self._undo().diff(session_id, turn=turn, start=start, end=end)

    async def revert(self, session_id: str, command: commands.Revert) -> Reverted:
        """Take back what a session did since a point, or say what that would mean."""
        await self._ready()
        return await self._undo().revert(session_id, command)

    async def compact(self, session_id: str, command: commands.Compact) -> Compacted:
        """Make a conversation shorter for the model, now or before the running turn's next call; or undo that."""
        await self._ready()
        from agi.sessions.compacting import Compacting  # late: hardly any run asks for it

        return await Compacting(self.log, self.runners).compact(session_id, command)

    def _undo(self) -> Undoing:
        if self._undoing is None:
            from agi.sessions.undoing import Ground, Undoing  # late: hardly any run takes something back

            def ground(workspace_path: str) -> Ground:
                site = self.site(workspace_path)
                return Ground(site.workspace, site.config.checkpoints)

            self._undoing = Undoing(self.log, self.runners, self.folder, ground)
        return self._undoing

    async def wait_turn(self, session_id: str, turn_id: str) -> Turn:
        """Return once the turn has ended, or the session is gone; one whose message another took up ends with that."""
        heard = asyncio.Event()

        def listen(event: ev.Event) -> None:
            if event.type == "session_deleted" or event.type in ENDINGS:
                heard.set()

        self.log.listen(session_id, listen)
        try:
            while True:
                turn = queries.turn(self.log.db, session_id, turn_id)
                if turn.steered_into:
                    turn_id = turn.steered_into
                elif turn.status in ("queued", "running"):
                    heard.clear()
                    await heard.wait()
                else:
                    return turn
        finally:
            self.log.hub.unlisten(session_id, listen)

    async def add_attachment(self, session_id: str, filename: str, mime_type: str, data: bytes) -> ev.AttachmentAdded:
        """Store a file with the session."""
        from agi.sessions.attachments import store

        self.state(session_id)
        added = await asyncio.to_thread(store, self.session_folder(session_id), filename, mime_type, data)
        await self.log.append(session_id, [(None, added)])
        return added

    def attachments(self, session_id: str) -> list[Attachment]:
        """The session's attachments."""
        self.state(session_id)
        return queries.attachments(self.log.db, session_id)

    def fetch_file(self, session_id: str, *names: str) -> StoredFile:
        """Find a stored file of a session."""
        from agi.sessions.attachments import fetch

        self.state(session_id)
        return fetch(self.session_folder(session_id), *names)

    def state(self, session_id: str) -> SessionState:
        """How a session stands; raises NotFound."""
        return queries.session_state(self.log.db, session_id)

    def session(self, session_id: str) -> Session:
        """A session as clients see it; raises NotFound."""
        session = self.state(session_id).public(self.log.epoch)
        if not pool.children(self.log.db, session_id):
            return session
        from agi.sessions.below import with_below  # late, as above

        return with_below(self.log.db, session)

    def sessions(
        self, *, limit: int = 100, before: Before | None = None, unlisted: bool = False, forked_from: str = ""
    ) -> list[Session]:
        """Sessions, most recently touched first; only those forked from one, if it is named."""
        if forked_from:
            found = queries.list_forks(self.log.db, forked_from, limit=limit, before=before)
        else:
            found = queries.list_sessions(self.log.db, limit=limit, before=before, unlisted=unlisted)
        return [state.public(self.log.epoch) for state in found]

    @property
    def watching(self) -> Watching:
        """The list of all sessions, and who watches it."""
        if self._watching is None:
            from agi.sessions.watching import Watching  # late: only who shows a list needs it

            self._watching = Watching(self.log, self.site)
        return self._watching

    def inbox(self) -> Inbox:
        """Everything that waits for a person, in all sessions."""
        from agi.sessions.overview import inbox  # late, likewise

        return inbox(self.log.db)

    def usage(self, *, days: int, utc_offset: int = 0, session_id: str = "") -> UsageReport:
        """What model calls used in the last days."""
        from agi.views import usage

        now = int(time.time() * 1000)
        return usage.report(self.log.db, now_ms=now, days=days, utc_offset=utc_offset, session_id=session_id)

    def messages(self, session_id: str, *, limit: int, before: str | None) -> tuple[list[Message], bool]:
        """A page of a session's messages, and whether there are earlier ones."""
        reverts = self.state(session_id).reverts
        return queries.list_messages(self.log.db, session_id, limit=limit, before=before, reverts=reverts)

    async def search(self, asked: Search) -> Found:
        """What was said and done in sessions, by its words."""
        return await self.memory.search(asked)

    def turn(self, session_id: str, turn_id: str) -> Turn:
        """One turn; raises NotFound."""
        return queries.turn(self.log.db, session_id, turn_id)

    def turn_messages(self, session_id: str, turn_id: str) -> list[Message]:
        """What was said in one turn."""
        return queries.turn_messages(self.log.db, session_id, turn_id)

    def follow(self, session_id: str, cursor: Cursor | None) -> AsyncIterator[Batch]:
        """A session's events after `cursor`, past and live; raises NotFound, and Damaged where its end is lost."""
        last = self.state(session_id).last_seq
        if (found := self.log.last_seq(session_id)) < last:
            self.state(session_id)  # it may have been removed in between
            text = f"The log of {session_id} is damaged: nothing is left behind event {found}, and there were {last}."
            raise Damaged(text, hint=FROM_MIRRORS)
        return self.log.follow(session_id, cursor)

    def session_folder(self, session_id: str) -> Path:
        """Where a session's files are."""
        return self.folder / "sessions" / session_id

    async def own_log(self) -> int:
        """Make a log that came from elsewhere safe to work with; returns how many of its sessions were closed."""
        if not self._foreign:
            return 0
        touched = await disown(self.log)
        origin = claim(self.folder, self.settings.home_config)
        if not self.settings.database:
            mark(self.log.path, origin)
        self._foreign = False
        return touched

    async def recover(self) -> int:
        """Take up every turn that is open or queued and that no living process runs; returns how many sessions."""
        await self.own_log()
        if queries.sessions_with_jobs(self.log.db):
            await self.jobs.close_dead()
        if pool.has_rows(self.log.db):
            await self.crew.catch_up()
        found = [one for one in queries.live_sessions(self.log.db) if leases.is_free(self.log.db, one)]
        for session_id in found:
            self.runners.ensure(session_id)
        return len(found)

    async def close(self) -> None:
        """Stop: running turns stay open in the log and go on at the next start."""
        if "_warmer" in self.__dict__:
            await self._warmer.close()
        if self._watching is not None:
            self._watching.close()
        if self._titling is not None:
            await self._titling.close()
        await self.runners.close()
        if self._crew is not None:
            await self._crew.close()
        if "jobs" in self.__dict__:
            await self.jobs.close()
        await self.memory.close()
        await self.sites.close()
        if "agi.checkpoints.opened" in sys.modules:  # else nothing has been opened
            from agi.checkpoints.opened import close_store

            close_store(self.folder)
        await self.log.close()

    async def _ready(self) -> None:
        """Asked by every verb that could let something run."""
        if self.runners.closing:
            raise Unavailable("The daemon is shutting down.", hint="Try again in a moment.")
        if self._foreign:
            await self.own_log()


def _nothing_seen(session_id: str) -> Seen:
    from agi.editing.seen import Seen

    return Seen()


def _ignore_state(folder: Path) -> None:
    """Keep what the harness writes out of the project's version control."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        fd = os.open(folder / ".gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return
    with os.fdopen(fd, "w") as file:
        file.write(".gitignore\nagi.sqlite*\norigin\nsessions/\ndaemon.*\n")
