"""`/v1/sessions/{session_id}/fork`: another session that begins with what was said in this one.

May import: protocol, sessions, server.
"""

from __future__ import annotations

from agi.protocol.commands import ForkSession
from agi.protocol.sessions import Session
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route


async def fork(request: Request[ForkSession, None]) -> ASGIApp:
    """Fork a session."""
    return Json(await request.harness.fork_session(request.session_id, request.body), 201)


ROUTES = (
    Route(
        method="POST",
        path="/v1/sessions/{session_id}/fork",
        handler=fork,
        name="forkSession",
        summary="Begin another session with what was said in this one, up to a point; also while this one runs.",
        body=ForkSession,
        body_is_optional=True,
        answers={201: Session},
        errors=(404, 409, 422, 503, 507),
        example={"message_id": "msg_019a00000000700080000000000000aa", "before": True},
    ),
)
