"""`/v1/sessions/{session_id}/queue`: the messages that wait: list, edit, drop, and hand to the turn that runs.

May import: protocol, sessions, server.
"""

from __future__ import annotations

from msgspec import Struct

from agi.protocol.commands import Command, EditMessage
from agi.protocol.sessions import QueuedMessage
from agi.server.answers import Json, NoContent
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route


class WaitingMessages(Struct, frozen=True):
    """What waits, the next one first: those that steer, then the others."""

    queue: list[QueuedMessage]


class SteerNow(Command, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing needs to be said."""


async def list_queue(request: Request[None, None]) -> ASGIApp:
    """What waits."""
    return Json(WaitingMessages(request.harness.queue.all(request.session_id)))


async def edit(request: Request[EditMessage, None]) -> ASGIApp:
    """Have a message that waits say something else."""
    return Json(await request.harness.queue.edit(request.session_id, request.path["message_id"], request.body))


async def drop(request: Request[None, None]) -> ASGIApp:
    """Take a message out."""
    await request.harness.queue.drop(request.session_id, request.path["message_id"])
    return NoContent()


async def steer(request: Request[SteerNow, None]) -> ASGIApp:
    """Hand a message to the running turn."""
    return Json(await request.harness.queue.steer(request.session_id, request.path["message_id"]))


ROUTES = (
    Route(
        method="GET",
        path="/v1/sessions/{session_id}/queue",
        handler=list_queue,
        name="listQueue",
        summary="The messages that wait, the next one first.",
        answers={200: WaitingMessages},
        errors=(404,),
    ),
    Route(
        method="PATCH",
        path="/v1/sessions/{session_id}/queue/{message_id}",
        handler=edit,
        name="editQueuedMessage",
        summary="Have a message that waits say something else; 409 once it was taken up or dropped.",
        body=EditMessage,
        answers={200: QueuedMessage},
        errors=(404, 409, 422, 507),
        example={"content": "Also update the README, in German."},
    ),
    Route(
        method="DELETE",
        path="/v1/sessions/{session_id}/queue/{message_id}",
        handler=drop,
        name="dropQueuedMessage",
        summary="Drop a message that waits; 409 once it was taken up or dropped.",
        answers={204: None},
        errors=(404, 409, 507),
    ),
    Route(
        method="POST",
        path="/v1/sessions/{session_id}/queue/{message_id}/steer",
        handler=steer,
        name="steerQueuedMessage",
        summary="Have the running turn take up a message that waits, at its next step.",
        body=SteerNow,
        body_is_optional=True,
        answers={200: QueuedMessage},
        errors=(404, 409, 422, 507),
        example={},
    ),
)
