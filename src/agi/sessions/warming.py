"""A small model on this machine reads slowly, so it begins when a session is opened, before anything is asked.

In the background; whatever goes wrong is told when somebody asks. May import: errors, agents, models, sessions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from agi.agents.base import Agent
from agi.errors import AgiError
from agi.protocol.commands import CreateSession
from agi.protocol.tools import ToolDefinition
from agi.sessions.sites import Site

if TYPE_CHECKING:
    from agi.models.resolve import Choice


@runtime_checkable
class Warming(Protocol):
    """A model that can read ahead."""

    async def warm(self, system: str, tools: tuple[ToolDefinition, ...]) -> None:
        """Read what is known before the first question."""


Tools = Callable[[], tuple[ToolDefinition, ...]]
"""What there is, worked out only for a model that reads ahead."""


class Warmer:
    """The readings that are under way."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, site: Site, agent: Agent, command: CreateSession, tools: Tools) -> None:
        """Have the session's model read ahead, if it is one that should."""
        task = asyncio.create_task(_warm(site, agent, command, tools), name="warming a small model")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Stop."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _warm(site: Site, agent: Agent, command: CreateSession, tools: Tools) -> None:
    with suppress(AgiError):
        if not site.models.is_small(_choice(site, agent, command).provider):
            return
        await site.models.look_around(command.provider, default_provider=agent.provider)
        choice = _choice(site, agent, command)
        model = site.models.resolve(choice.provider, choice.model)
        if isinstance(model, Warming):
            from agi.policy.approval import is_listed  # late: most models are not small

            offered = tuple(tool for tool in tools() if is_listed(tool, agent.tools))
            head = site.context(agent, choice.provider, choice.model, command.system_prompt, offered)
            await model.warm(head.system, offered)


def _choice(site: Site, agent: Agent, command: CreateSession) -> Choice:
    """Who would answer, as far as is known by now."""
    return site.models.describe(
        command.provider, command.model, default_provider=agent.provider, default_model=agent.model
    )
