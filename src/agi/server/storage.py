"""`/v1/gc`: what takes room, and making some. May import: protocol, sessions, server."""

from __future__ import annotations

from agi.protocol.commands import CollectGarbage
from agi.protocol.storage import Collected
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route


async def collect(request: Request[CollectGarbage, None]) -> ASGIApp:
    """Make room, or say what would go."""
    return Json(await request.harness.collect_garbage(request.body))


ROUTES = (
    Route(
        method="POST",
        path="/v1/gc",
        handler=collect,
        name="collectGarbage",
        summary="Remove sessions over their limits and what was left behind, or say what would go and what takes room.",
        body=CollectGarbage,
        body_is_optional=True,
        answers={200: Collected},
        errors=(422, 503, 507),
        example={"dry_run": True, "older_than_days": 90},
    ),
)
