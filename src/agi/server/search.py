"""`/v1/search`: what was said and done in sessions, by its words. May import: protocol, sessions, server."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from agi.protocol.commands import Name
from agi.protocol.commands import Path as PathText
from agi.protocol.messages import Role
from agi.protocol.search import LONGEST_QUERY, MOST_HITS, Found, FoundKind, Search
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route

Time = Annotated[str, Meta(max_length=40, description="2026-01-31, or 2026-01-31T18:05:00Z.")]


class SearchQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is looked for, and where."""

    q: Annotated[str, Meta(max_length=LONGEST_QUERY, description='Words, "phrases", begin*; all must be there.')] = ""
    limit: Annotated[int, Meta(ge=1, le=MOST_HITS, description="At most this many.")] = 20
    session_id: Annotated[str, Meta(pattern="^sess_[0-9a-f]{32}$")] | UnsetType = UNSET
    role: Role | UnsetType = UNSET
    kind: FoundKind | UnsetType = UNSET
    tool: Name | UnsetType = UNSET
    path: Annotated[PathText, Meta(description="A file or folder touched in the same turn.")] | UnsetType = UNSET
    agent: Name | UnsetType = UNSET
    since: Time | UnsetType = UNSET
    until: Time | UnsetType = UNSET
    workspace_path: PathText | UnsetType = UNSET
    cursor: Annotated[str, Meta(max_length=100, description="The `next` of the page before.")] | UnsetType = UNSET


async def search(request: Request[None, SearchQuery]) -> ASGIApp:
    """The best hits."""
    given = {name: getattr(request.query, name) for name in request.query.__struct_fields__}
    asked = Search(**{name: value for name, value in given.items() if value is not UNSET})
    return Json(await request.harness.search(asked))


ROUTES = (
    Route(
        method="GET",
        path="/v1/search",
        handler=search,
        name="searchSessions",
        summary="Find messages, tool calls, touched files and titles of sessions by their words.",
        query=SearchQuery,
        answers={200: Found},
        errors=(422, 503),
    ),
)
