"""Canceling and retrying: what a person does about a turn as a whole. May import: protocol, sessions, server."""

from __future__ import annotations

import asyncio
from typing import Literal

from msgspec import Struct

from agi.protocol.commands import Cancel, Command
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route
from agi.views.queries import Turn


class Canceled(Struct, frozen=True, kw_only=True):
    """Which turns end; `canceling` while one of them still needs to come to a stop."""

    turn_ids: tuple[str, ...]
    status: Literal["canceled", "canceling"]


class Retry(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing needs to be said."""


class Retried(Struct, frozen=True, kw_only=True):
    """The new turn that answers the same message."""

    turn_id: str
    message_id: str
    retry_of: str
    queued: bool


async def cancel(request: Request[Cancel, None]) -> ASGIApp:
    """Stop what runs and drop what is queued, or just one turn; waits a moment for it to be over."""
    turn_ids = await request.harness.cancel(request.session_id, request.body)
    waits = [asyncio.ensure_future(request.harness.wait_turn(request.session_id, turn)) for turn in turn_ids]
    late: set[asyncio.Future[Turn]] = set()
    if waits:  # there are none where a compaction was canceled
        _, late = await asyncio.wait(waits, timeout=request.shared.settings.cancel_wait_s)
    for wait in late:
        wait.cancel()
    await asyncio.gather(*waits, return_exceptions=True)
    return Json(Canceled(turn_ids=turn_ids, status="canceling" if late else "canceled"))


async def retry(request: Request[Retry, None]) -> ASGIApp:
    """Answer the message of a turn again that failed, was canceled or was cut short."""
    turn_id = request.path["turn_id"]
    request.harness.state(request.session_id)  # an unknown session is told as such, not as an unknown turn
    posted = await request.harness.retry(request.session_id, turn_id)
    new = Retried(turn_id=posted.turn_id or "", message_id=posted.message_id, retry_of=turn_id, queued=posted.queued)
    return Json(new, 202)


ROUTES = (
    Route(
        method="POST",
        path="/v1/sessions/{session_id}/cancel",
        handler=cancel,
        name="cancel",
        summary="Stop the running turn and drop the queue; with a turn's id, only that turn.",
        body=Cancel,
        body_is_optional=True,
        answers={200: Canceled},
        errors=(404, 409, 422, 507),
        example={"reason": "Wrong file."},
    ),
    Route(
        method="POST",
        path="/v1/sessions/{session_id}/turns/{turn_id}/retry",
        handler=retry,
        name="retryTurn",
        summary="Answer the message of a turn again that failed, was canceled, or was cut short by a limit.",
        body=Retry,
        body_is_optional=True,
        answers={202: Retried},
        errors=(404, 409, 422, 503, 507),
        example={},
    ),
)
