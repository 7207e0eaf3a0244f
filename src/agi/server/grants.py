"""`/v1/grants` and `/v1/sessions/{session_id}/grants`: what people allowed for longer than one call.

May import: protocol, sessions, server.
"""

from __future__ import annotations

from msgspec import Struct

from agi.protocol.grants import Grant
from agi.server.answers import Json, NoContent
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route


class Grants(Struct, frozen=True, kw_only=True):
    """What is not asked about again, with the rule that says so."""

    grants: list[Grant]


async def list_all(request: Request[None, None]) -> ASGIApp:
    """Those of every workspace, and of every session of this project."""
    return Json(Grants(grants=request.harness.grants()))


async def list_of_session(request: Request[None, None]) -> ASGIApp:
    """Those of one session."""
    return Json(Grants(grants=request.harness.grants(request.session_id)))


async def revoke(request: Request[None, None]) -> ASGIApp:
    """Ask again about it, wherever it is kept."""
    await request.harness.revoke_grant(request.path["grant_id"])
    return NoContent()


async def revoke_of_session(request: Request[None, None]) -> ASGIApp:
    """Ask again about it in this session."""
    await request.harness.revoke_grant(request.path["grant_id"], request.session_id)
    return NoContent()


ROUTES = (
    Route(
        method="GET",
        path="/v1/grants",
        handler=list_all,
        name="listGrants",
        summary="What was allowed for longer than one call: in workspaces, and in the sessions of this project.",
        answers={200: Grants},
    ),
    Route(
        method="DELETE",
        path="/v1/grants/{grant_id}",
        handler=revoke,
        name="revokeGrant",
        summary="Ask again about what was allowed, in a workspace or a session.",
        answers={204: None},
        errors=(404, 507),
    ),
    Route(
        method="GET",
        path="/v1/sessions/{session_id}/grants",
        handler=list_of_session,
        name="listSessionGrants",
        summary="What was allowed for the rest of a session.",
        answers={200: Grants},
        errors=(404,),
    ),
    Route(
        method="DELETE",
        path="/v1/sessions/{session_id}/grants/{grant_id}",
        handler=revoke_of_session,
        name="revokeSessionGrant",
        summary="Ask again about what was allowed for the rest of a session.",
        answers={204: None},
        errors=(404, 507),
    ),
)
