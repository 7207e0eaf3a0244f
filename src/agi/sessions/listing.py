"""The models that can be asked at a site, for clients to choose from. To be imported late, with what it needs.

May import: config, models, net, sessions.
"""

from __future__ import annotations

from collections.abc import Mapping

from agi.models.listing import ModelList, list_models
from agi.net.route import Proxies
from agi.sessions.sites import Site


async def models_at(site: Site, env: Mapping[str, str], *, probe_ports: Mapping[str, int] | None = None) -> ModelList:
    """What can be asked here, and what is known of it; servers with an address of their own are asked, briefly."""
    return await list_models(site.models, site.config, proxies=Proxies.from_env(env), ports=probe_ports)
