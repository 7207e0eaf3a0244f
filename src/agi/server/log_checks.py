"""`/v1/sessions/{session_id}/verify`: does a session's log hold. May import: protocol, sessions, server."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from agi.protocol.chains import LogCheck
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route

Head = Annotated[
    str, Meta(pattern="^((late:|anew:)?[0-9a-f]{64})?$", description="The hash of an event, kept elsewhere.")
]


class VerifyQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the log is held against."""

    head: Head = ""


async def verify(request: Request[None, VerifyQuery]) -> ASGIApp:
    """Look a session's log through."""
    return Json(await request.harness.verify_log(request.session_id, request.query.head))


ROUTES = (
    Route(
        method="GET",
        path="/v1/sessions/{session_id}/verify",
        handler=verify,
        name="verifyLog",
        summary="Check the hash chain of a session's log, in the database and its mirror; only reads.",
        query=VerifyQuery,
        answers={200: LogCheck},
        errors=(404, 422, 503),
    ),
)
