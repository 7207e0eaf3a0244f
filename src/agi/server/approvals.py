"""`/v1/sessions/{session_id}/approve`: a person's answer to a gated call. May import: protocol, sessions, server."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from agi.protocol.commands import Approve
from agi.protocol.grants import Grant
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route


class Approved(Struct, frozen=True, kw_only=True):
    """The answer counts; it was the first."""

    status: Literal["ok"] = "ok"
    tool_call_id: str
    action: Literal["approve", "deny"]
    remembered: tuple[Grant, ...] | UnsetType = UNSET
    """What is not asked about again from now on."""


async def approve(request: Request[Approve, None]) -> ASGIApp:
    """Approve or deny a call that waits."""
    command = request.body
    grants = await request.harness.approve(request.session_id, command)
    approved = Approved(tool_call_id=command.tool_call_id, action=command.action, remembered=grants or UNSET)
    return Json(approved)


ROUTES = (
    Route(
        method="POST",
        path="/v1/sessions/{session_id}/approve",
        handler=approve,
        name="approve",
        summary="Approve or deny a gated tool call; the first answer counts.",
        body=Approve,
        answers={200: Approved},
        errors=(404, 409, 422, 507),
        example={
            "turn_id": "turn_019a00000000700080000000000000aa",
            "tool_call_id": "call_019a00000000700080000000000000bb",
            "action": "approve",
            "reason": "ok",
        },
    ),
)
