"""`/v1/sessions`: begin, list, look at, change and remove sessions. May import: errors, protocol, sessions,
server.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from agi.protocol.commands import CreateSession, UpdateSession
from agi.protocol.sessions import Session
from agi.protocol.times import to_millis
from agi.server.answers import Json, NoContent
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route

Limit = Annotated[int, Meta(ge=1, le=1000, description="At most this many.")]
Time = Annotated[
    str,
    Meta(
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z(,sess_[0-9a-f]{32})?$",
        description="Only sessions touched earlier: the `next` of the page you have, or an updated_at.",
    ),
]


class SessionsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which sessions."""

    limit: Limit = 100
    before: Time | UnsetType = UNSET
    forked_from: Annotated[str, Meta(max_length=200, description="Only sessions forked from this one.")] = ""


class Sessions(Struct, frozen=True):
    """Sessions, most recently touched first."""

    sessions: list[Session]
    next: str | None
    """What to send as `before` for the page behind this one; null if this is the last."""


async def create(request: Request[CreateSession, None]) -> ASGIApp:
    """Begin a session."""
    return Json(await request.harness.create_session(request.body), 201)


async def list_sessions(request: Request[None, SessionsQuery]) -> ASGIApp:
    """List sessions."""
    time, _, session_id = ("" if request.query.before is UNSET else request.query.before).partition(",")
    limit = request.query.limit
    before = (to_millis(time), session_id) if time else None
    found = request.harness.sessions(limit=limit + 1, before=before, forked_from=request.query.forked_from)
    last = found[limit - 1] if len(found) > limit else None
    return Json(Sessions(found[:limit], f"{last.updated_at},{last.id}" if last else None))


async def get(request: Request[None, None]) -> ASGIApp:
    """One session, and how it stands."""
    return Json(request.harness.session(request.session_id))


async def update(request: Request[UpdateSession, None]) -> ASGIApp:
    """Change a session's settings."""
    return Json(await request.harness.update_session(request.session_id, request.body))


async def delete(request: Request[None, None]) -> ASGIApp:
    """Remove a session for good."""
    await request.harness.delete_session(request.session_id)
    return NoContent()


ROUTES = (
    Route(
        method="POST",
        path="/v1/sessions",
        handler=create,
        name="createSession",
        summary="Begin a session on a workspace.",
        body=CreateSession,
        body_is_optional=True,
        answers={201: Session},
        errors=(422, 507),
        example={"workspace_path": "/home/me/project", "system_prompt": "Be brief.", "auto_run": True},
    ),
    Route(
        method="GET",
        path="/v1/sessions",
        handler=list_sessions,
        name="listSessions",
        summary="List sessions, most recent first.",
        query=SessionsQuery,
        answers={200: Sessions},
    ),
    Route(
        method="GET",
        path="/v1/sessions/{session_id}",
        handler=get,
        name="getSession",
        summary="A session's metadata and latest state.",
        answers={200: Session},
        errors=(404,),
    ),
    Route(
        method="PATCH",
        path="/v1/sessions/{session_id}",
        handler=update,
        name="updateSession",
        summary="Change a session's title, agent, provider or model.",
        body=UpdateSession,
        body_is_optional=True,
        answers={200: Session},
        errors=(404, 422, 507),
        example={"title": "Fix the parser"},
    ),
    Route(
        method="DELETE",
        path="/v1/sessions/{session_id}",
        handler=delete,
        name="deleteSession",
        summary="Remove a session, its log and its files for good.",
        answers={204: None},
        errors=(404, 409),
    ),
)
