"""What a turn's model is shown: the head its session has, made anew only for a named cause; and what is told beside it.

The head is read back from the log, so it is the same bytes from turn to turn and from process to process, whatever has
become of the files it was made from. What has changed since is said in a message, once. May import: protocol, context,
eventlog, views, sessions.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from agi.agents.base import Agent
from agi.context.assembling import assemble, text_of
from agi.context.base import REPO_MAP, TOOLS, Ask, Context, Piece, Source
from agi.context.changes import ABOUT, changes
from agi.eventlog.log import EventLog
from agi.policy.approval import is_listed
from agi.protocol.context import ORIGIN, AssemblyCause, ContextSection
from agi.protocol.events import ContextAdded, ContextAssembled, EventData, MessageAdded, TurnStarted
from agi.protocol.ids import MESSAGE, PART, new_id
from agi.protocol.messages import Message
from agi.protocol.parts import Text, plain_text
from agi.protocol.times import to_rfc3339
from agi.protocol.tools import ToolDefinition
from agi.tools.base import Registry
from agi.views import queries
from agi.views.context import ContextState
from agi.views.rows import as_written
from agi.views.state import SessionState, TurnState

if TYPE_CHECKING:
    from agi.sessions.sites import Site

PATIENCE_S = 0.15
"""How long all sources of a turn are waited for together: the first words must not wait for them."""


class Opened(Struct, frozen=True, kw_only=True):
    """What a turn begins with: the head of its requests, what to log of it, and the messages that tell the rest."""

    system: str
    events: tuple[EventData, ...] = ()
    messages: tuple[Message, ...] = ()


async def open_context(log: EventLog, site: Site, registry: Registry, state: SessionState, turn: TurnState) -> Opened:
    """Find what a turn's model is to be shown; writes nothing. A turn that was cut off goes on with what it had.

    So does whoever asks a model between turns, as a turn without an id.
    """
    recorded = recorded_head(log, state)
    goes_on = bool(turn.steps or turn.resumes or not turn.id)
    if recorded is not None and goes_on:
        return Opened(system=Context(recorded.sections).system)
    agent = site.agents.find(turn.agent)
    if recorded is not None and state.context.turn_id == turn.id:
        now = Context(recorded.sections)  # made a moment ago, see `first_head`
    else:
        tools = offered(registry, agent)
        takes_long = site.own_skills.may_be_at(site.workspace)  # there may be thousands
        began = queries.first_words(log.db, state.id) if takes_long else ""
        asked = (agent, turn.provider, turn.model, state.system_prompt, tools, began)
        now = cleaned(log, await asyncio.to_thread(site.context, *asked) if takes_long else site.context(*asked))
    cause = why_anew(state.context, now, turn)
    if recorded is not None and (cause is None or not is_other(recorded, now)):
        told = await _Beside(log, site, state, turn, agent).told(recorded, state.context, now)
        return Opened(system=Context(recorded.sections).system, events=told, messages=_messages(told))
    head = ContextAssembled(
        cause=cause or "first_turn",  # a head that cannot be read back is as good as none
        agent=turn.agent,
        provider=turn.provider,
        model=turn.model,
        sections=now.sections,
    )
    if goes_on:
        return Opened(system=now.system, events=(head,) if turn.id else ())
    told = await _Beside(log, site, state, turn, agent).told(head, as_if(state.context, head), now)
    return Opened(system=now.system, events=(head, *told), messages=_messages(told))


def first_head(
    log: EventLog, site: Site, registry: Registry, state: SessionState, started: TurnStarted
) -> ContextAssembled | None:
    """The head of a session that has none, to be logged in one go with its first turn; None if that has to wait.

    What tools and skills a project has of its own takes a while to find out: a turn there makes its head when it runs.
    """
    if state.context.seq or site.own_tools.may_be_at(site) or site.own_skills.may_be_at(site.workspace):
        return None
    agent = site.agents.find(started.agent)
    tools = offered(registry, agent)
    now = cleaned(log, site.context(agent, started.provider, started.model, state.system_prompt, tools))
    return ContextAssembled(
        cause="first_turn",
        agent=started.agent,
        provider=started.provider,
        model=started.model,
        sections=now.sections,
    )


def _messages(events: Sequence[EventData]) -> tuple[Message, ...]:
    return tuple(one.message for one in events if isinstance(one, MessageAdded))


def offered(registry: Registry, agent: Agent) -> tuple[ToolDefinition, ...]:
    """The tools an agent is offered."""
    return tuple(tool for tool in registry.offered() if is_listed(tool, agent.tools))


def recorded_head(log: EventLog, state: SessionState) -> ContextAssembled | None:
    """The head the session has, as the log holds it."""
    if not state.context.seq:
        return None
    found = log.read(state.id, state.context.seq - 1, 1)
    with as_written("a session's context"):
        data = found[0].data if found else None
    return data if isinstance(data, ContextAssembled) else None


def why_anew(known: ContextState, now: Context, turn: TurnState) -> AssemblyCause | None:
    """The cause for which the head may change; None if it must not."""
    if not known.seq:
        return "first_turn"
    if known.due is not None:
        return known.due
    if known.agent != turn.agent:
        return "agent_changed"
    if (known.provider, known.model) != (turn.provider, turn.model):
        return "model_changed"
    changed = any(one.name == TOOLS and known.head.get(one.key) != one.digest for one in now.sections)
    return "tools_changed" if changed else None


def is_other(recorded: ContextAssembled, now: Context) -> bool:
    """Whether another head would be other bytes."""
    before = Context(recorded.sections)
    tools = [one.digest for one in before.of("tools")] != [one.digest for one in now.of("tools")]
    return tools or before.system != now.system


def as_if(known: ContextState, head: ContextAssembled) -> ContextState:
    """What has been told, once this head is."""
    keys = {one.key: one.digest for one in head.sections}
    rest = {key: told for key, told in known.added.items() if key not in keys}
    return ContextState(seq=1, head=keys, added=rest, paths=known.paths)


def cleaned(log: EventLog, context: Context) -> Context:
    """The same without secrets, as the log will have it: what is told must be what is read back."""
    clean = log.redactor.clean_text
    return Context(tuple(replace(one, text=clean(one.text), source=clean(one.source)) for one in context.sections))


class _Beside(Struct, frozen=True):
    """What is told beside the head at the start of a turn: changes, rules of folders, what sources know."""

    log: EventLog
    site: Site
    state: SessionState
    turn: TurnState
    agent: Agent

    async def told(self, head: ContextAssembled, known: ContextState, now: Context) -> tuple[EventData, ...]:
        """The events that tell it; none if there is nothing."""
        below = cleaned(self.log, self.site.nested(self.turn.provider, self.turn.model, known.paths))
        found = changes((*now.sections, *below.sections), known, {one.key: one for one in head.sections})
        gathered = cleaned(self.log, await self._gathered(known))
        return added(self.state.id, self.turn.id, [*found, *gathered.sections])

    async def _gathered(self, known: ContextState) -> Context:
        """What the sources know for this turn, as far as they say it in time."""
        turn = self.turn
        sources = [one for one in self.site.sources(turn.provider, self.agent) if _is_due(one.name, known)]
        if not sources:
            return Context()
        budgets = self.site.budgets(turn.provider, turn.model)
        question = self._question()
        tasks = [
            asyncio.create_task(
                one.gather(Ask(text=question, paths=tuple(known.paths), tokens=budgets.get(one.name, 0)))
            )
            for one in sources
        ]
        try:
            await asyncio.wait(tasks, timeout=PATIENCE_S)
        finally:
            for task in tasks:
                task.cancel()
                task.add_done_callback(_is_over)
        # Not waited for: one that is in a thread goes on until that is done, and a turn must not wait so long.
        found = assemble([_piece(one, task) for one, task in zip(sources, tasks, strict=True)], budgets).sections
        return Context(tuple(one for one in found if known.digest(one.key) != one.digest))

    def _question(self) -> str:
        said = queries.turn_messages(self.log.db, self.state.id, self.turn.id)
        return next((plain_text(one.parts) for one in said if one.id == self.turn.message_id), "")


def added(session_id: str, turn_id: str, sections: Sequence[ContextSection]) -> tuple[EventData, ...]:
    """The events that tell sections in a message of the harness."""
    if not sections:
        return ()
    text = text_of(sections)
    message = Message(
        id=new_id(MESSAGE),
        role="user",
        parts=(Text(text=f"{ABOUT}\n\n{text}", id=new_id(PART)),),
        created_at=to_rfc3339(time.time()),
        session_id=session_id,
        turn_id=turn_id,
        status="complete",
        origin=ORIGIN,
    )
    listed = tuple(replace(one, text="") for one in sections)
    said = ContextAdded(message_id=message.id if text else None, sections=listed)
    return (MessageAdded(message=message, run=False), said) if text else (said,)


def _is_due(name: str, known: ContextState) -> bool:
    """A map is told once, until the conversation is made anew; a choice of files is made for each question."""
    return name != REPO_MAP or not any(told.digest for key, told in known.added.items() if _name(key) == REPO_MAP)


def _name(key: str) -> str:
    return key.partition(" ")[0]


def _is_over(task: asyncio.Task[Piece]) -> None:
    """Nobody asks any more what came of it."""
    if not task.cancelled():
        task.exception()


def _piece(source: Source, task: asyncio.Task[Piece]) -> Piece:
    """What a source said; one that fails, for whatever reason, must not cost the turn."""
    refused = f"it took longer than {PATIENCE_S * 1000:.0f} ms"
    if task.done() and not task.cancelled():
        problem = task.exception()
        if problem is None:
            return replace(task.result(), place="conversation")
        refused = f"it failed: {type(problem).__name__}"
    return Piece(name=source.name, source="workspace", place="conversation", refused=refused)
