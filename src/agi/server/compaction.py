"""`/v1/sessions/{session_id}/compact`: a conversation made shorter for the model, or that undone.

May import: protocol, sessions, server.
"""

from __future__ import annotations

from agi.protocol.commands import Compact
from agi.protocol.compaction import Compacted
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route


async def compact(request: Request[Compact, None]) -> ASGIApp:
    """Do it now, or say that the running turn will."""
    done = await request.harness.compact(request.session_id, request.body)
    return Json(done, 202 if done.status == "queued" else 200)


ROUTES = (
    Route(
        method="POST",
        path="/v1/sessions/{session_id}/compact",
        handler=compact,
        name="compact",
        summary="Make a session's conversation shorter for the model, or undo the last time that was done.",
        body=Compact,
        body_is_optional=True,
        answers={200: Compacted, 202: Compacted},
        errors=(404, 409, 422, 503, 507),
        example={"focus": "the failing parser test"},
    ),
)
