"""`/v1/sessions/{session_id}/export`: a session as one file. May import: protocol, sessions, replay, server."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from agi.server.answers import Sent
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route

_TYPES = {
    "cassette": ("agi-cassette", "application/x-ndjson"),
    "ndjson": ("ndjson", "application/x-ndjson"),
    "markdown": ("md", "text/markdown; charset=utf-8"),
}


class ExportQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As what."""

    format: Annotated[
        Literal["cassette", "ndjson", "markdown"],
        Meta(description="To be played again, to be processed, or to be read."),
    ] = "ndjson"


async def export(request: Request[None, ExportQuery]) -> ASGIApp:
    """The whole session as one file."""
    from agi.replay.formats import exported  # late: hardly any daemon is asked for it

    body = await exported(request.harness, request.session_id, request.query.format)
    ending, mime_type = _TYPES[request.query.format]
    return Sent(body, f"{request.session_id}.{ending}", mime_type)


ROUTES = (
    Route(
        method="GET",
        path="/v1/sessions/{session_id}/export",
        handler=export,
        name="exportSession",
        summary="A session as one file: a cassette to be played again, its events, or Markdown.",
        query=ExportQuery,
        answers={200: bytes},
        errors=(404, 422, 503),
    ),
)
