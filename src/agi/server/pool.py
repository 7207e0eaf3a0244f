"""`/v1/pool`: who is alive, drafted agents and workers, each with whom it works for.

May import: protocol, sessions, server.
"""

from __future__ import annotations

from msgspec import Struct

from agi.protocol.drafts import PooledAgent
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route


class PoolList(Struct, frozen=True):
    """Everyone who is alive, the oldest first."""

    agents: list[PooledAgent]


async def list_pool(request: Request[None, None]) -> ASGIApp:
    """Who is alive."""
    return Json(PoolList(request.harness.crew.pool.agents()))


ROUTES = (
    Route(
        method="GET",
        path="/v1/pool",
        handler=list_pool,
        name="listPool",
        summary="List the drafted agents and workers that are alive, and whom each works for.",
        answers={200: PoolList},
    ),
)
