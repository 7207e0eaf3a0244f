"""`/v1/sessions/{session_id}/diff` and `/revert`: what a session changed, and taking it back.

May import: protocol, sessions, server.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

from agi.protocol.checkpoints import Reverted, SessionDiff
from agi.protocol.commands import Revert
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route

Point = Annotated[str, Meta(max_length=200, description="A turn (its beginning), a checkpoint, or `start`.")]


class DiffQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which changes: all of them, one turn's, or those between two points."""

    turn: Annotated[str, Meta(max_length=200, description="Only what this turn changed.")] = ""
    start: Point = field(name="from", default="")
    to: Point = ""


async def diff(request: Request[None, DiffQuery]) -> ASGIApp:
    """What a session changed."""
    query = request.query
    return Json(await request.harness.diff(request.session_id, turn=query.turn, start=query.start, end=query.to))


async def revert(request: Request[Revert, None]) -> ASGIApp:
    """Take it back, or say what that would mean."""
    return Json(await request.harness.revert(request.session_id, request.body))


ROUTES = (
    Route(
        method="GET",
        path="/v1/sessions/{session_id}/diff",
        handler=diff,
        name="getDiff",
        summary="What a session changed in its files, as diffs.",
        query=DiffQuery,
        answers={200: SessionDiff},
        errors=(404, 409, 422),
    ),
    Route(
        method="POST",
        path="/v1/sessions/{session_id}/revert",
        handler=revert,
        name="revert",
        summary="Take back a session's changes of files, its conversation, or both; or preview that.",
        body=Revert,
        answers={200: Reverted},
        errors=(404, 409, 422, 503, 507),
        example={"to": "turn_019a00000000700080000000000000aa", "what": "files", "preview": True},
    ),
)
