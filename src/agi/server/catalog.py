"""What clients may choose from: agents, tools, models.

May import: errors, protocol, policy, models, sessions, server.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from agi.agents.base import Agent
from agi.errors import Invalid
from agi.models.listing import ModelList, default_choice
from agi.models.resolve import Choice
from agi.policy.approval import is_listed
from agi.protocol.commands import Name
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route
from agi.sessions.listing import Asked, models_at, wanted_at
from agi.sessions.sites import Site
from agi.sessions.tool_lists import ToolList
from agi.tools.base import Registry


class AgentInfo(Struct, frozen=True, kw_only=True):
    """An agent a session can have; `tools` are those it may use."""

    name: str
    description: str
    tools: tuple[str, ...]
    max_steps: int
    source: Literal["builtin", "project", "user"]


class AgentList(Struct, frozen=True):
    """Every agent, and the one of a session that names none."""

    agents: list[AgentInfo]
    default: str


class ModelsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a session would name: `default` of the answer is who answers there."""

    agent: Annotated[Name | None, Meta(description="Its agent; the default one unless given.")] = None
    provider: Annotated[Name | None, Meta(description="Its provider.")] = None
    model: Annotated[Name | None, Meta(description="Its model.")] = None


async def list_agents(request: Request[None, None]) -> ASGIApp:
    """The project's agents."""
    site = request.harness.site()
    registry = (await site.own_tools.joined(site, request.harness.registry)).registry
    agents = [_agent(registry, site, agent) for agent in site.agents.all()]
    return Json(AgentList(agents, site.agents.default(site.config).name))


async def list_tools(request: Request[None, None]) -> ASGIApp:
    """Every tool, and what is wrong with the project's own."""
    site = request.harness.site()
    return Json(await site.own_tools.listed(site, request.harness.registry))


async def list_models(request: Request[None, ModelsQuery]) -> ASGIApp:
    """The models of the providers that are set up; servers with an address of their own are asked for theirs."""
    settings, query = request.harness.settings, request.query
    asked = Asked(agent=query.agent, provider=query.provider, model=query.model)
    return Json(await models_at(request.harness.site(), settings.env, asked, probe_ports=settings.probe_ports))


async def default_model(site: Site) -> tuple[Choice | None, str]:
    """The model that answers by default, or why none does."""
    try:
        _, wanted = wanted_at(site)
    except Invalid as error:
        return None, f"{error.message} {error.hint}"
    await site.models.look_around(default_provider=wanted.default_provider)
    return default_choice(site.models, wanted)


def _agent(registry: Registry, site: Site, agent: Agent) -> AgentInfo:
    return AgentInfo(
        name=agent.name,
        description=agent.description,
        tools=tuple(tool.name for tool in registry.definitions() if is_listed(tool, agent.tools)),
        max_steps=site.config.max_steps(agent.name) or agent.max_steps,
        source=agent.source,
    )


ROUTES = (
    Route(
        method="GET",
        path="/v1/agents",
        handler=list_agents,
        name="listAgents",
        summary="The agents a session can have.",
        answers={200: AgentList},
        errors=(422,),
    ),
    Route(
        method="GET",
        path="/v1/tools",
        handler=list_tools,
        name="listTools",
        summary="The tools there are, and why some of the project's own are not.",
        answers={200: ToolList},
        errors=(422,),
    ),
    Route(
        method="GET",
        path="/v1/models",
        handler=list_models,
        name="listModels",
        summary="The models that can be asked, and which one is by default.",
        query=ModelsQuery,
        answers={200: ModelList},
        errors=(422,),
    ),
)
