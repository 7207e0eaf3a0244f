"""Making a cassette of a session: its events, the settings it goes by, and the requests that models were sent.

Those come from playing it once. A session that does not play the same, because settings have changed since, is
exported all the same, and says so when it is played. May import: errors, protocol, eventlog, models, tools, views,
sessions, replay.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from agi import __version__
from agi.agents.base import Agent
from agi.errors import AgiError, Damaged, Invalid
from agi.eventlog import chain
from agi.eventlog.follow import NEAR_DAMAGE
from agi.eventlog.rows import read_page
from agi.eventlog.schema import UNREADABLE, connect, unreadable
from agi.protocol import events as ev
from agi.protocol.events import Event
from agi.protocol.policies import step_limit
from agi.protocol.times import to_rfc3339
from agi.protocol.tools import ToolDefinition, ToolKind
from agi.replay.cassette import MOST_BYTES, MOST_EVENTS, VERSION, Cassette, Conditions, Head, KnownModel, Request
from agi.replay.damage import damaged, refuse_unreadable
from agi.replay.playing import play
from agi.sessions.contexts import offered
from agi.sessions.harness import Harness
from agi.sessions.runner import has_team, with_team
from agi.sessions.sites import Site
from agi.tools.base import Registry
from agi.views import queries
from agi.views.state import SessionState, TurnState

PAGE = 2_000


async def make_cassette(harness: Harness, session_id: str) -> Cassette:
    """A session's cassette; raises NotFound, or Invalid for one that is too large or not as it was written."""
    state = harness.state(session_id)
    events = await asyncio.to_thread(read_all, harness, state)
    _refuse_changed(events)
    site = _site_of(harness, state)
    registry = harness.registry
    with contextlib.suppress(Exception):  # a project's tools may be broken by now; those that ran are in the log
        registry = (await site.own_tools.joined(site, registry)).registry
    conditions = _clean(harness, conditions_of(harness, site, registry, state, events))
    head = Head(
        version=VERSION,
        session_id=session_id,
        made_at=to_rfc3339(time.time()),
        made_by=__version__,
        events=len(events),
        head=events[-1].hash,
        conditions=conditions,
    )
    requests: tuple[Request, ...] = ()
    pieces: tuple[bytes, ...] = ()
    with contextlib.suppress(Invalid):  # a log that was repaired may not play; it can be looked at all the same
        played = await asyncio.to_thread(play, events, conditions)
        requests, pieces = (played.made, played.pieces) if played.identical else ((), ())
    return Cassette(head=head, events=tuple(events), requests=requests, pieces=pieces)


def _clean(harness: Harness, conditions: Conditions) -> Conditions:
    """Settings and descriptions of tools are no events: known secrets are taken out of them here."""
    return msgspec.json.decode(harness.redactor.clean(msgspec.json.encode(conditions)), type=Conditions)


def _site_of(harness: Harness, state: SessionState) -> Site:
    """Where its settings are; a worker's own folder is removed once its work was taken over."""
    for path in (state.workspace_path, state.project_path):
        with contextlib.suppress(AgiError):
            return harness.site(path)
    return harness.site()


def read_all(harness: Harness, state: SessionState) -> list[Event]:
    """Every event of a session, within what a cassette holds; `state` is how it stood shortly before."""
    events: list[Event] = []
    size = 0
    with closing(connect(harness.log.path)) as db:
        while page := _page(db, harness.log.path, state.id, len(events)):
            events += page
            size += sum(len(event.raw) for event in page)
            if size > MOST_BYTES // 2 or len(events) > MOST_EVENTS:
                raise Invalid(
                    f"The session is too large for a cassette (more than {MOST_BYTES // 2 // 1024 // 1024} MiB).",
                    code="session_too_large",
                    hint="Fork it at an earlier point, or export its events with --format ndjson.",
                )
        queries.session_state(db, state.id)  # one that was removed meanwhile is not damaged
    _refuse_another_end(events, state)
    return events


def _refuse_another_end(events: Sequence[Event], state: SessionState) -> None:
    """The row of a session and its events were written at once."""
    if len(events) < state.last_seq:
        raise damaged(f"nothing is left behind event {len(events)}, and there were {state.last_seq}")
    if state.head and chain.digest_of(events[state.last_seq - 1].hash) != chain.digest_of(state.head):
        raise damaged(f"event {state.last_seq} is not as it was written")


def _page(db: sqlite3.Connection, path: Path, session_id: str, after: int) -> list[Event]:
    """The next events, each readable and in its place."""
    page: list[Event] = []
    for limit in (PAGE, *NEAR_DAMAGE):
        try:
            page = read_page(db, session_id, after, limit)
            break
        except UNREADABLE as error:
            failure = unreadable(path, error)
            if not isinstance(failure, Damaged):
                raise failure from error
            if limit == 1:
                raise damaged(f"what comes behind event {after} cannot be read") from error
    for seq, one in enumerate(page, start=after + 1):
        if one.seq != seq:
            raise damaged(f"event {seq} is missing")
        refuse_unreadable(one)
    return page


def _refuse_changed(events: Sequence[Event]) -> None:
    """A cassette with a changed event would be refused by whoever reads it."""
    if seq := chain.broken_at(events):
        raise damaged(f"event {seq} is not as it was written")


def conditions_of(
    harness: Harness, site: Site, registry: Registry, state: SessionState, events: Sequence[Event]
) -> Conditions:
    """The settings that turns of these events go by now."""
    agents: dict[str, None] = {}
    models: dict[tuple[str, str], None] = {}
    for event in events:
        data = event.data
        if isinstance(data, ev.TurnStarted):
            agents[data.agent] = None
        if isinstance(data, ev.TurnStarted | ev.ModelSwitched):
            models[(data.provider, data.model)] = None
    tools: dict[str, tuple[ToolDefinition, ...]] = {}
    steps: dict[str, int] = {}
    known = registry
    for name in agents:
        try:
            agent = site.agents.find(name)
        except AgiError:
            tools[name], steps[name] = tuple(registry.definitions()), step_limit(name)  # it was removed since
            continue
        own = _with_team(harness, site, state, agent, registry)
        known = known if own is registry else own
        tools[name] = tuple(offered(own, with_team(agent, state)))
        steps[name] = site.config.max_steps(name) or agent.max_steps
    config = site.config
    return Conditions(
        max_steps=steps,
        turn_budget=config.budget_per_turn,
        session_budget=config.budget_per_session,
        verify=config.verify,
        verify_asks=site.verify_asks,
        review=config.patch_review,
        compaction=config.compaction,
        models=tuple(_known(site, *one) for one in models),
        tools=tools,
        known_tools=_tools_of(known, events),
    )


def _with_team(harness: Harness, site: Site, state: SessionState, agent: Agent, registry: Registry) -> Registry:
    """The tools with those by which an agent deals with the harness, where it has them."""
    if not has_team(agent, state):
        return registry
    nobody = TurnState(id="", message_id="", agent=agent.name, provider="", model="", started_at="")
    there = msgspec.structs.replace(state, workspace_path=str(site.workspace.root))  # its own may be gone
    team, taken = harness.crew.team(there, nobody, agent), registry.names()
    return registry.joined(tool for tool in team if tool.definition.name not in taken)


def _known(site: Site, provider: str, model: str) -> KnownModel:
    try:
        takes_schema = site.models.resolve(provider, model).takes_schema(with_tools=True)
    except AgiError:
        takes_schema = True
    return KnownModel(
        provider=provider,
        model=model,
        window=site.facts.window(provider, model),
        max_output=site.facts.max_output(provider, model),
        takes_schema=takes_schema,
        rates=site.facts.rates(provider, model),
    )


def _tools_of(registry: Registry, events: Sequence[Event]) -> tuple[ToolDefinition, ...]:
    """Every tool by now, and those that ran and are no more, as far as the log knows them."""
    known = {tool.name: tool for tool in registry.definitions()}
    names = {*known, *(alias for tool in known.values() for alias in tool.aliases)}
    for event in events:
        data = event.data
        if isinstance(data, ev.ToolCallStarted) and data.tool_call.name not in names:
            name = data.tool_call.name
            names.add(name)
            known[name] = ToolDefinition(name=name, description="", input_schema={}, kind=ToolKind(data.kind))
    return tuple(known.values())
