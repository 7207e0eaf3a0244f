"""The models that can be asked at a site, for clients to choose from. To be imported late, with what it needs.

May import: errors, config, models, net, sessions.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from agi.errors import Invalid
from agi.models.listing import ModelList, Wanted, list_models
from agi.net.route import Proxies
from agi.sessions.sites import Site


class Asked(Struct, frozen=True, kw_only=True):
    """What a session would name; None is what is configured."""

    agent: str | None = None
    provider: str | None = None
    model: str | None = None


NOTHING = Asked()


async def models_at(
    site: Site, env: Mapping[str, str], asked: Asked = NOTHING, *, probe_ports: Mapping[str, int] | None = None
) -> ModelList:
    """What can be asked here, and what is known of it; servers with an address of their own are asked, briefly.

    The default is the one of a session that names what is `asked`. Where that cannot be, it is said as its problem.
    """
    agent, wanted, problem = "", Wanted(provider=asked.provider, model=asked.model), ""
    try:
        agent, wanted = wanted_at(site, asked)
    except Invalid as error:
        problem = f"{error.message} {error.hint}"
    listed = await list_models(site.models, site.config, wanted, proxies=Proxies.from_env(env), ports=probe_ports)
    return replace(listed, default=None, problem=problem) if problem else replace(listed, agent=agent)


def wanted_at(site: Site, asked: Asked = NOTHING) -> tuple[str, Wanted]:
    """The agent of a session, and what it and the session say of the model. Raises Invalid for an unknown agent."""
    chosen = site.agents.find(asked.agent) if asked.agent else site.agents.default(site.config)
    wanted = Wanted(
        provider=asked.provider, model=asked.model, default_provider=chosen.provider, default_model=chosen.model
    )
    return chosen.name, wanted
