"""The harness in this process, as a client. To be imported late: it brings everything behind the front door with it.

A turn ends with the process that runs it, so whoever closes this client waits for its turn first.
May import: errors, protocol, config, trust, eventlog, sessions.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import cast

import msgspec
from msgspec import Struct

from agi.client.answers import resync
from agi.client.base import UNTOLD, Attached, MessagePage, ModelChoice, ModelList, Posted, Trust
from agi.client.settings import ClientSettings
from agi.client.tools import ToolList
from agi.config import Flags, project_dir
from agi.errors import AgiError, StorageError
from agi.eventlog.base import Cursor, LiveDelta, parse_cursor
from agi.eventlog.follow import Batch
from agi.protocol.checkpoints import Reverted, SessionDiff
from agi.protocol.commands import (
    Approve,
    Cancel,
    CollectGarbage,
    Compact,
    CreateSession,
    EditMessage,
    ForkSession,
    MoveToBackground,
    PostMessage,
    ResolvePreflight,
    Revert,
    SetTrust,
    UpdateSession,
)
from agi.protocol.compaction import Compacted
from agi.protocol.context import ContextReport
from agi.protocol.drafts import PooledAgent
from agi.protocol.events import Event
from agi.protocol.explanations import Explanation
from agi.protocol.grants import Grant
from agi.protocol.jobs import Job, JobOutput
from agi.protocol.messages import Message
from agi.protocol.rejudging import PolicyReplay
from agi.protocol.search import Found, Search
from agi.protocol.sessions import QueuedMessage, Session
from agi.protocol.skills import Skill, SkillList, SkillProblem
from agi.protocol.storage import Collected
from agi.protocol.tools import ToolDefinition
from agi.redaction import Redactor
from agi.sessions.harness import Harness, HarnessSettings
from agi.sessions.sites import Site, Sites
from agi.tools.builtin import builtin_tools
from agi.trust import TrustState, set_trust, trust_state

PAGE = 500


class InProcessClient:
    """Calls the harness's verbs directly."""

    def __init__(self, settings: ClientSettings) -> None:
        self._home_config = settings.home_config
        self._harness = _open(settings)
        self._notice = self._harness.rebuilt.told() if self._harness.rebuilt is not None else ""
        if settings.tell is not None and self._notice:
            settings.tell(self._notice)
            self._notice = ""
        self._harness.runners.on_failure = self._hear_failure
        self._failure: AgiError | None = None
        self._followers: set[asyncio.Task[object]] = set()

    @property
    def where(self) -> str:
        """Always `this process`."""
        return "this process"

    @property
    def notice(self) -> str:
        """Says so if the database was missing, damaged or made elsewhere, and nobody was told yet."""
        return self._notice

    async def create_session(self, command: CreateSession) -> Session:
        """Begin a session."""
        return await self._harness.create_session(command)

    async def fork_session(self, session_id: str, command: ForkSession) -> Session:
        """Begin another session with what was said in this one."""
        return await self._harness.fork_session(session_id, command)

    async def export(self, session_id: str, format: str) -> bytes:
        """A session as one file."""
        from agi.replay.formats import exported  # late: only who exports needs it

        return await exported(self._harness, session_id, format)

    async def update_session(self, session_id: str, command: UpdateSession) -> Session:
        """Change a session's settings."""
        return await self._harness.update_session(session_id, command)

    async def post_message(self, session_id: str, command: PostMessage) -> Posted:
        """Say something."""
        posted = await self._harness.post_message(session_id, command)
        return Posted(message_id=posted.message_id, turn_id=posted.turn_id, queued=posted.queued)

    async def queue(self, session_id: str) -> list[QueuedMessage]:
        """The messages that wait."""
        return self._harness.queue.all(session_id)

    async def edit_queued(self, session_id: str, message_id: str, command: EditMessage) -> QueuedMessage:
        """Have a message that waits say something else."""
        return await self._harness.queue.edit(session_id, message_id, command)

    async def drop_queued(self, session_id: str, message_id: str) -> None:
        """Take a message out that waits."""
        await self._harness.queue.drop(session_id, message_id)

    async def steer_queued(self, session_id: str, message_id: str) -> QueuedMessage:
        """Have the running turn take up a message that waits."""
        return await self._harness.queue.steer(session_id, message_id)

    async def attach(self, session_id: str, filename: str, data: bytes) -> Attached:
        """Store a file with a session."""
        added = await self._harness.add_attachment(session_id, filename, UNTOLD, data)
        return Attached(ref=added.ref, mime_type=added.mime_type, note=added.note)

    async def follow(self, session_id: str, after: str = "") -> AsyncGenerator[Event, None]:
        """Events after a position, past and live; raises what stopped the session's runner, if something did."""
        cursor = parse_cursor(after) if after else Cursor(0, None, self._harness.log.epoch)
        batches = cast("AsyncGenerator[Batch, None]", self._harness.follow(session_id, cursor))
        task = asyncio.current_task()
        if task is not None:
            self._followers.add(task)
        try:
            if self._failure is not None:
                raise self._failure
            async with aclosing(batches):
                async for batch in batches:
                    if batch.resync:
                        raise resync()
                    for delivery in batch.deliveries:
                        yield _event(delivery.item)
        except asyncio.CancelledError:
            if self._failure is None or task is None:
                raise
            task.uncancel()
            raise self._failure from None
        finally:
            if task is not None:
                self._followers.discard(task)

    def watch_connection(self, told: Callable[[bool], None]) -> None:
        """Nothing lies between us."""

    async def approve(self, session_id: str, command: Approve) -> None:
        """Answer a pending approval."""
        await self._harness.approve(session_id, command)

    async def resolve_preflight(self, session_id: str, turn_id: str, command: ResolvePreflight) -> None:
        """Answer the plan of a turn."""
        await self._harness.resolve_preflight(session_id, turn_id, command)

    async def cancel(self, session_id: str, command: Cancel) -> None:
        """Stop a turn."""
        await self._harness.cancel(session_id, command)

    async def session(self, session_id: str) -> Session:
        """One session."""
        return self._harness.session(session_id)

    async def sessions(self, *, limit: int = 100) -> list[Session]:
        """Sessions, most recently touched first."""
        return self._harness.sessions(limit=limit)

    async def messages(self, session_id: str) -> list[Message]:
        """Everything that was said in a session, in order."""
        found, more = self._harness.messages(session_id, limit=PAGE, before=None)
        while more:
            earlier, more = self._harness.messages(session_id, limit=PAGE, before=found[0].id)
            found = [*earlier, *found]
        return found

    async def message_page(self, session_id: str, *, before: str = "", limit: int = 100) -> MessagePage:
        """The latest messages, or those before the one that is named."""
        found, more = self._harness.messages(session_id, limit=limit, before=before or None)
        return MessagePage(messages=found, has_more=more)

    async def search(self, asked: Search) -> Found:
        """What was said and done in sessions, by its words."""
        return await self._harness.search(asked)

    async def delete_session(self, session_id: str) -> None:
        """Remove a session for good."""
        await self._harness.delete_session(session_id)

    async def collect_garbage(self, command: CollectGarbage) -> Collected:
        """Make room, or say what would go."""
        return await self._harness.collect_garbage(command)

    async def pool(self) -> list[PooledAgent]:
        """The drafted agents and workers that are alive."""
        return self._harness.crew.pool.agents()

    async def jobs(self, session_id: str) -> list[Job]:
        """What runs in the background, then what ended there last."""
        return await self._harness.jobs.all(session_id)

    async def job_output(self, session_id: str, job_id: str, since: int | None = None) -> JobOutput:
        """What a job said since an offset, or its last words."""
        return self._harness.jobs.output(session_id, job_id, since)

    async def stop_job(self, session_id: str, job_id: str) -> Job:
        """End a job."""
        return await self._harness.jobs.stop(session_id, job_id)

    async def move_to_background(self, session_id: str, command: MoveToBackground) -> Job:
        """Let the command of a running call go on as a job."""
        return await self._harness.jobs.move(session_id, command.tool_call_id)

    async def diff(self, session_id: str, *, turn: str = "", start: str = "", end: str = "") -> SessionDiff:
        """What a session changed in its files."""
        return await self._harness.diff(session_id, turn=turn, start=start, end=end)

    async def revert(self, session_id: str, command: Revert) -> Reverted:
        """Take back what a session did since a point, or say what that would mean."""
        return await self._harness.revert(session_id, command)

    async def compact(self, session_id: str, command: Compact) -> Compacted:
        """Make a conversation shorter for the model, or undo that."""
        return await self._harness.compact(session_id, command)

    async def context(self, session_id: str, *, text: bool = False) -> ContextReport:
        """What a session's model is shown."""
        return await self._harness.context(session_id, text=text)

    async def models(self, *, agent: str = "", provider: str = "", model: str = "") -> ModelList:
        """The models that can be asked for."""
        asked = {"agent": agent or None, "provider": provider or None, "model": model or None}
        return await _models(self._harness.site(), self._harness.settings.env, **asked)

    async def tools(self) -> ToolList:
        """The tools agents can be given."""
        site = self._harness.site()
        return _tool_list(await site.own_tools.listed(site, self._harness.registry))

    async def skills(self) -> SkillList:
        """The skills of the project and the user."""
        return await asyncio.to_thread(self._harness.site().skills().all)

    async def trust(self, path: Path) -> Trust:
        """How a workspace stands."""
        return _trust(path, trust_state(path, self._home_config))

    async def set_trust(self, command: SetTrust) -> Trust:
        """Trust a workspace as it is now, or no longer."""
        path = Path(command.path)
        return _trust(path, set_trust(path, self._home_config, command.trusted))

    async def grants(self) -> list[Grant]:
        """What was allowed for longer than one call."""
        return self._harness.grants()

    async def revoke_grant(self, grant_id: str) -> None:
        """Ask again about what was allowed."""
        await self._harness.revoke_grant(grant_id)

    async def close(self) -> None:
        """Stop whatever still runs and close the log."""
        await self._harness.close()

    def _hear_failure(self, session_id: str, error: BaseException) -> None:
        """A session's runner died: nothing will come any more, so whoever waits must hear of it."""
        if not session_id:
            return  # leases could not be renewed this time; the turn itself goes on
        text = f"The session stopped: {type(error).__name__}: {error}"
        self._failure = error if isinstance(error, AgiError) else StorageError(text, code="internal_error")
        for task in self._followers:
            task.cancel()


def _open(settings: ClientSettings) -> Harness:
    try:
        return Harness(
            HarnessSettings(
                project=settings.project,
                home_config=settings.home_config,
                env=settings.env,
                trust_once=settings.trust_once,
            )
        )
    except (OSError, sqlite3.Error) as error:
        message = f"The data folder {project_dir(settings.project)} cannot be used: {error}."
        raise StorageError(message, hint="`agi doctor` says more.") from error


async def answering_model(
    settings: ClientSettings, *, agent: str | None = None, provider: str | None = None, model: str | None = None
) -> tuple[str, ModelChoice]:
    """Tell which agent and model would answer in a new session; opens no log. Raises what is wrong with the wish."""
    with _site(settings) as site:
        chosen = site.agents.find(agent) if agent else site.agents.default(site.config)
        await site.models.look_around(provider, default_provider=chosen.provider)
        choice = site.models.describe(provider, model, default_provider=chosen.provider, default_model=chosen.model)
    return chosen.name, msgspec.convert(choice, ModelChoice, from_attributes=True)


async def offered_models(settings: ClientSettings) -> ModelList:
    """The models that can be asked for; opens no log. Raises what is wrong with the settings."""
    with _site(settings) as site:
        return await _models(site, settings.env)


async def offered_tools(settings: ClientSettings) -> ToolList:
    """The tools agents can be given; opens no log. Raises what is wrong with the settings."""
    from agi.tools.base import Registry  # late: only who lists tools needs it

    with _site(settings) as site:
        return _tool_list(await site.own_tools.listed(site, Registry(builtin_tools(settings.env))))


def offered_skills(settings: ClientSettings) -> SkillList:
    """The skills of the project and the user; opens no log. Raises what is wrong with the settings."""
    with _site(settings) as site:
        return site.skills().all()


class LoadedSkill(Struct, frozen=True, kw_only=True):
    """A skill, what it says, and the files beside it."""

    skill: Skill
    body: str
    files: tuple[str, ...]
    more_files: bool


def loaded_skill(settings: ClientSettings, name: str, file: str = "") -> LoadedSkill:
    """A skill with its text, or that of one of its files; opens no log. Raises AgiError if there is no such thing."""
    with _site(settings) as site:
        skills = site.skills()
        loaded = skills.load(name)
        body = skills.read(name, file) if file else loaded.body
    return LoadedSkill(
        skill=loaded.skill, body=body, files=tuple(one.path for one in loaded.files), more_files=loaded.more_files
    )


def checked_skill(folder: Path) -> Skill | SkillProblem:
    """The skill in a folder, or what is wrong with it; raises AgiError if there is none."""
    from agi.skills.loading import check_folder  # late: only who asks needs it

    return check_folder(folder)


async def new_context(settings: ClientSettings, *, agent: str = "", text: bool = False) -> ContextReport:
    """What a new session would be told first; opens no log. Raises what is wrong with the settings."""
    from agi.sessions.showing import workspace_context  # late: only who asks needs it
    from agi.tools.base import Registry

    with _site(settings) as site:
        return await workspace_context(site, Registry(builtin_tools(settings.env)), agent=agent, text=text)


def _tool_list(listed: object) -> ToolList:
    return msgspec.convert(msgspec.to_builtins(listed), ToolList)


class Held(Struct, frozen=True, kw_only=True):
    """What holds commands in, and why none may run, if none may."""

    rung: str
    network: str
    gaps: tuple[str, ...]
    why: tuple[str, ...]
    no_commands: str


def sandbox(settings: ClientSettings) -> Held:
    """Tell what holds commands here, by trying; opens no log, raises what is wrong with the settings."""
    from agi.sessions.cells import network_of  # late: only who asks needs it

    with _site(settings) as site:
        rung = site.cells.rung(site)
        return Held(
            rung=rung.name,
            network=network_of(site.config.sandbox),
            gaps=rung.gaps,
            why=rung.why,
            no_commands=site.no_commands(),
        )


def explained_call(settings: ClientSettings, *, tool: str, text: str, agent: str = "") -> Explanation:
    """Tell what would become of a call, and why; runs nothing and opens no log."""
    from agi.sessions.explaining import explain_call  # late: only who asks needs it

    with _site(settings) as site:
        return explain_call(site, settings.home_config, tool=tool, text=text, agent=agent)


def rejudged(
    settings: ClientSettings, events: Sequence[Event], policy: Path | None, tools: Sequence[ToolDefinition] = ()
) -> PolicyReplay:
    """Judge a session's calls by the settings of today, or by a policy in a file; runs nothing and opens no log."""
    from agi.replay.rejudging import read_policy, rejudge  # late: only who asks needs it

    given = None if policy is None else read_policy(policy)
    with _site(settings) as site:
        return rejudge(events, site, policy=given, source="" if policy is None else str(policy), tools=tools)


def tool_names() -> frozenset[str]:
    """Every name a tool goes by."""
    return frozenset(name for tool in builtin_tools() for name in (tool.definition.name, *tool.definition.aliases))


async def _models(site: Site, env: Mapping[str, str], **asked: str | None) -> ModelList:
    from agi.sessions.listing import Asked, models_at  # late: only who wants to choose a model needs it

    return msgspec.convert(await models_at(site, env, Asked(**asked)), ModelList, from_attributes=True)


@contextmanager
def _site(settings: ClientSettings) -> Iterator[Site]:
    """The project with its settings, for a look."""
    trusted = frozenset({settings.project.resolve()}) if settings.trust_once else frozenset()
    sites = Sites(
        home_config=settings.home_config, env=settings.env, flags=Flags(), redactor=Redactor(), trust_once=trusted
    )
    site = sites.get(settings.project)
    try:
        yield site
    finally:
        site.workspace.close()
        sites.cells.close()


def _trust(path: Path, state: TrustState) -> Trust:
    return Trust(
        path=str(path), trusted=state.trusted, reason=state.reason, changed=state.changed, problem=state.problem
    )


def _event(item: Event | LiveDelta) -> Event:
    if isinstance(item, LiveDelta):
        return Event.of(item.seq, item.ts, item.session_id, item.turn_id, item.data)
    return item
