"""The shape of an agent, and the set of those there are.

Which of an agent's tools exist is the tool registry's business: names it does not know are simply not offered.
May import: errors, config, protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from agi.config import Config
from agi.errors import Invalid
from agi.protocol.preflight import PreflightMode

if TYPE_CHECKING:
    from agi.protocol.drafts import RoleProblem

DEFAULT_AGENT = "build"


class Agent(Struct, frozen=True, kw_only=True):
    """Who answers: a prompt, the tools it may use, and how far it may go."""

    name: str
    """What it is asked for by."""
    description: str
    """What it is for, in a line."""
    prompt: str
    """What the model is told first."""
    tools: tuple[str, ...] | None
    """Names or aliases of the tools it may use; None is all of them."""
    max_steps: int
    """Model calls one turn may make."""
    provider: str | None = None
    """The provider it prefers."""
    model: str | None = None
    """The model it prefers."""
    preflight: PreflightMode | None = None
    """When its turns begin with a preflight; None is as configured."""
    source: Literal["builtin", "project", "user"] = "builtin"
    """Who wrote it; a project's agent, or one it changed, is the project's."""
    permissions: tuple[str, ...] = ()
    """What it may do with the harness itself, where it is drafted: start workers, see and add projects."""
    max_usd: float | None = None
    """What a session that it is drafted or dispatched for may cost."""


class Agents:
    """The agents there are, by name; `named_tools` holds, by agent, the tools that a project's file names for it.

    Whether there are such tools is for those to say who know the tools.
    """

    def __init__(
        self,
        agents: Iterable[Agent],
        named_tools: Mapping[str, tuple[str, ...]] | None = None,
        problems: tuple[RoleProblem, ...] = (),
    ) -> None:
        self._by_name = {agent.name: agent for agent in agents}
        self.problems = problems
        """Files of roles that do not count, or not in full."""
        self.named_tools: Mapping[str, tuple[str, ...]] = MappingProxyType(dict(named_tools or {}))

    def all(self) -> tuple[Agent, ...]:
        """Give every agent, sorted by name."""
        return tuple(self._by_name[name] for name in sorted(self._by_name))

    def find(self, name: str) -> Agent:
        """Look an agent up; an unknown name is answered with the nearest ones."""
        agent = self._by_name.get(name)
        if agent is None:
            raise Invalid(f"There is no agent {name!r}.", hint=self._nearest(name), code="unknown_agent")
        return agent

    def default(self, config: Config) -> Agent:
        """Give the agent of a session that names none."""
        return self.find(config.default_agent or DEFAULT_AGENT)

    def _nearest(self, name: str) -> str:
        from difflib import get_close_matches  # late: needed only for a typing mistake

        near = get_close_matches(name, self._by_name, n=3)
        if near:
            return f"Did you mean {' or '.join(near)}?"
        return f"Agents: {', '.join(sorted(self._by_name))}."
