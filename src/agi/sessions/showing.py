"""What is in a session's context, what was left out and why: a report, made from the log and never written to it.

To be imported late, with what it needs. May import: protocol, context, eventlog, views, sessions.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from agi.agents.base import Agent
from agi.context import compact_view
from agi.context.base import TODO, Context
from agi.context.measuring import request_size, reserve_of, size_of
from agi.context.prefix import told_tools, tools_piece
from agi.context.tokens import tokens_of
from agi.errors import AgiError
from agi.eventlog.log import EventLog
from agi.loop.history import normalise
from agi.models.facts import Facts
from agi.protocol.context import AssemblyCause, ContextReport, ContextSection, WindowSource
from agi.protocol.events import ContextAdded, ContextCompacted
from agi.protocol.messages import Message
from agi.protocol.parts import ToolResultPart, plain_text
from agi.protocol.tools import ToolDefinition
from agi.sessions.contexts import cleaned, offered, recorded_head
from agi.sessions.sites import Site
from agi.tools.base import Registry
from agi.views import queries
from agi.views.state import SessionState
from agi.views.told import compaction_of, told_messages


async def session_context(
    log: EventLog, site: Site, registry: Registry, state: SessionState, *, text: bool = False
) -> ContextReport:
    """The context of a session as its last turn had it; before the first turn, as that one would have it."""
    registry = (await site.own_tools.joined(site, registry)).registry
    recorded = recorded_head(log, state)
    if recorded is None:
        agent = site.agents.find(state.agent)
        provider, model = await _who(site, agent, state.provider, state.model)
        tools = offered(registry, agent)
        began = queries.first_words(log.db, state.id)
        sections = cleaned(log, site.context(agent, provider, model, state.system_prompt, tools, began)).sections
        cause: AssemblyCause = "first_turn"
    else:
        running = state.turn or state.context
        agent, provider, model = site.agents.find(running.agent), running.provider, running.model
        tools, sections, cause = offered(registry, agent), recorded.sections, recorded.cause
    compaction = compaction_of(log.db, state)
    history = normalise(compact_view.told(told_messages(log.db, state), compaction), state.withheld)
    beside = (*_added(log, state, text), *_todo(history))
    report = _report(
        site, agent, provider, model, (*sections, *beside), history, tools, text=text, compaction=compaction
    )
    return replace(
        report,
        session_id=state.id,
        recorded=recorded is not None,
        cause=cause,
        withheld=len(state.withheld),
        compacted=compaction.dropped.messages if compaction is not None else 0,
    )


async def workspace_context(site: Site, registry: Registry, *, agent: str = "", text: bool = False) -> ContextReport:
    """What a new session here would be told first; opens no log."""
    chosen = site.agents.find(agent) if agent else site.agents.default(site.config)
    provider, model = await _who(site, chosen)
    tools = offered((await site.own_tools.joined(site, registry)).registry, chosen)
    context = site.context(chosen, provider, model, None, tools)
    return _report(site, chosen, provider, model, context.sections, (), tools, text=text)


async def _who(site: Site, agent: Agent, provider: str | None = None, model: str | None = None) -> tuple[str, str]:
    """The provider and model that would answer; nobody, where nobody is set up."""
    try:
        await site.models.look_around(provider, default_provider=agent.provider)
        choice = site.models.describe(provider, model, default_provider=agent.provider, default_model=agent.model)
    except AgiError:
        return "", ""
    return choice.provider, choice.model


def _report(
    site: Site,
    agent: Agent,
    provider: str,
    model: str,
    sections: Sequence[ContextSection],
    history: Sequence[Message],
    tools: Sequence[ToolDefinition],
    *,
    text: bool,
    compaction: ContextCompacted | None = None,
) -> ContextReport:
    window, source = _window(site.facts, provider, model)
    most = site.facts.max_output(provider, model)
    reserve = reserve_of(window, most, site.config.compaction) if window is not None else 0
    total = request_size(history, Context(tuple(sections)).tokens, (provider, model), compaction)
    if text:
        sections = [_with_tools(one, agent, tools) for one in sections]
    return ContextReport(
        session_id="",
        agent=agent.name,
        provider=provider,
        model=model,
        recorded=False,
        cause="first_turn",
        sections=tuple(one if text else replace(one, text="") for one in sections),
        messages=len(history),
        conversation_tokens=size_of(history),
        total_tokens=total,
        window=window,
        window_source=source,
        reserve=reserve,
        percent=round(100 * total / max(1, window - reserve), 1) if window is not None else None,
        withheld=0,
    )


def _window(facts: Facts, provider: str, model: str) -> tuple[int | None, WindowSource]:
    return facts.window(provider, model), facts.window_source(provider, model)


def _with_tools(section: ContextSection, agent: Agent, tools: Sequence[ToolDefinition]) -> ContextSection:
    """The definitions themselves are not in the log; they are told if they are still those."""
    if section.place != "tools" or section.digest != tools_piece(agent, tools).digest:
        return section
    return replace(section, text=told_tools(tools).decode())


def _added(log: EventLog, state: SessionState, text: bool) -> list[ContextSection]:
    """What was told in the conversation since, the last version of each; what was left out last is named too."""
    found: dict[str, ContextSection] = {}
    texts = {one.id: plain_text(one.parts) for one in queries.history(log.db, state.id)} if text else {}
    for seq in sorted({told.seq for told in state.context.added.values()}):
        for event in log.read(state.id, seq - 1, 1):
            data = event.data
            if isinstance(data, ContextAdded):
                said = texts.get(data.message_id or "", "")
                found.update((one.key, replace(one, text=said)) for one in data.sections)
    return list(found.values())


def _todo(history: Sequence[Message]) -> list[ContextSection]:
    """The agent's own list, where it has one: the last one it wrote."""
    for message in reversed(history):
        for part in message.parts:
            if isinstance(part, ToolResultPart) and part.content.name == TODO and part.content.ok:
                text = plain_text(part.content.parts)
                told = ContextSection(name=TODO, source="log", place="conversation", tokens=tokens_of(text), text=text)
                return [told]
    return []
