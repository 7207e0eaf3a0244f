"""`/v1/inbox` and `/v1/usage`: what waits for a person in any session, and what the sessions used.

May import: protocol, sessions, server.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from agi.protocol.overview import Inbox, InboxItem, UsageReport
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route

Days = Annotated[int, Meta(ge=1, le=366, description="How many days, today included.")]
Offset = Annotated[int, Meta(ge=-840, le=840, description="Minutes that the days begin before those of UTC.")]
Named = Annotated[str, Meta(max_length=200, description="Only this session.")]


class UsageQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which time, in whose days, and of which session."""

    days: Days = 30
    utc_offset: Offset = 0
    session_id: Named = ""


class InboxQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How it is told."""

    render: Annotated[Literal["", "html"], Meta(description="`html`: changes also as HTML.")] = ""
    view: Annotated[Literal["inline", "split"], Meta(description="How the two sides of a change stand.")] = "inline"


async def inbox(request: Request[None, InboxQuery]) -> ASGIApp:
    """Everything that waits for a person."""
    found = request.harness.inbox()
    if request.query.render == "html":
        items = await asyncio.to_thread(lambda: [_rendered(one, request.query.view) for one in found.items])
        found = replace(found, items=items)
    return Json(found)


def _rendered(item: InboxItem, view: Literal["inline", "split"]) -> InboxItem:
    """The item with the change it asks about as a page shows it: in hunks where they can be accepted one by one."""
    asked = item.approval
    if asked is None or not (asked.hunks or asked.preview):
        return item
    from agi.rendering import diffs  # late: only a page needs it

    html = diffs.hunks_html(asked.hunks, view=view) if asked.hunks else diffs.html(asked.preview, view=view)
    return replace(item, html=html)


async def usage(request: Request[None, UsageQuery]) -> ASGIApp:
    """What model calls used."""
    query = request.query
    if query.session_id:
        request.harness.state(query.session_id)
    return Json(request.harness.usage(days=query.days, utc_offset=query.utc_offset, session_id=query.session_id))


ROUTES = (
    Route(
        method="GET",
        path="/v1/inbox",
        handler=inbox,
        name="getInbox",
        summary="Everything that waits for a person, in all sessions.",
        query=InboxQuery,
        answers={200: Inbox},
    ),
    Route(
        method="GET",
        path="/v1/usage",
        handler=usage,
        name="getUsage",
        summary="Tokens and cost by day, model and session.",
        query=UsageQuery,
        answers={200: UsageReport},
        errors=(404,),
    ),
)
