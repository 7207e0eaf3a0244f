"""`/v1/sessions/{session_id}/context`: what a session's model is shown, what was left out, and why.

May import: protocol, sessions, server.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from agi.protocol.context import ContextReport
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route


class ContextQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of it."""

    text: Annotated[bool, Meta(description="With the text of each section.")] = False


async def get_context(request: Request[None, ContextQuery]) -> ASGIApp:
    """What the model is shown."""
    return Json(await request.harness.context(request.session_id, text=request.query.text))


ROUTES = (
    Route(
        method="GET",
        path="/v1/sessions/{session_id}/context",
        handler=get_context,
        name="getContext",
        summary="What the model is shown: sections with provenance and cost, what was left out and why.",
        query=ContextQuery,
        answers={200: ContextReport},
        errors=(404, 422),
    ),
)
