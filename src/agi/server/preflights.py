"""`/v1/sessions/{session_id}/preflight`: have the steps of a turn proposed, and say yes or no to them.

The checklist is also in the session as `pending_preflight`, and in its events. May import: errors, protocol, sessions,
server.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from agi.errors import Conflict, Invalid, Unavailable
from agi.protocol.commands import PostMessage, ResolvePreflight
from agi.protocol.preflight import EstimatedCost, PreflightStep
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.errors import error_answer
from agi.server.replies import Ending, wait_for_turn
from agi.server.request import Request
from agi.server.routes import Route


class Checklist(Struct, frozen=True, kw_only=True):
    """What the agent is going to do, what that is expected to cost, and what to know before."""

    turn_id: str
    message_id: str
    steps: tuple[PreflightStep, ...]
    estimated_cost: EstimatedCost
    required_permissions: tuple[str, ...]
    warnings: tuple[str, ...]
    digest: str


class Resolved(Struct, frozen=True, kw_only=True):
    """The answer counts; it was the first."""

    status: Literal["ok"] = "ok"
    turn_id: str
    approved: bool
    steps: tuple[PreflightStep, ...]
    """What was approved: edited, and without what was left out."""
    skipped: tuple[PreflightStep, ...]


async def propose(request: Request[PostMessage, None]) -> ASGIApp:
    """Say something, and wait until the agent has proposed its steps."""
    command, session_id = request.body, request.session_id
    if command.role != "user" or command.auto_run is False or command.preflight is False:
        raise Invalid(
            "A preflight is for a message that is answered.",
            code="preflight_invalid",
            hint="Leave out `role`, `auto_run` and `preflight`, or use POST …/messages.",
        )
    posted = await request.harness.post_message(session_id, replace(command, auto_run=True, preflight=True))
    turn_id = posted.turn_id or ""
    try:
        found = await request.wait(request.harness.wait_preflight(session_id, turn_id))
    except Unavailable as error:
        return error_answer(error, turn_id=turn_id)
    if found is None:
        return await _without(request, session_id, turn_id)
    checklist = Checklist(
        turn_id=turn_id,
        message_id=posted.message_id,
        steps=found.steps,
        estimated_cost=found.estimated_cost,
        required_permissions=found.required_permissions,
        warnings=found.warnings,
        digest=found.digest,
    )
    return Json(checklist)


async def _without(request: Request[PostMessage, None], session_id: str, turn_id: str) -> ASGIApp:
    """The turn ended before there was a plan: why."""
    ending = await wait_for_turn(request, session_id, turn_id)
    if not isinstance(ending, Ending):
        return ending
    note = ending.note if isinstance(ending.note, str) else ""
    text = f"The turn ended before its steps were proposed ({ending.stop_reason}). {note}".strip()
    return error_answer(Conflict(text, code="preflight_not_proposed", hint="Ask again."), turn_id=turn_id)


async def resolve(request: Request[ResolvePreflight, None]) -> ASGIApp:
    """Let the turn begin, with all its steps or those that are named; or end it."""
    turn_id = request.path["turn_id"]
    request.harness.state(request.session_id)  # an unknown session is told as such, not as an unknown turn
    done = await request.harness.resolve_preflight(request.session_id, turn_id, request.body)
    return Json(Resolved(turn_id=turn_id, approved=done.approved, steps=done.steps, skipped=done.skipped))


ROUTES = (
    Route(
        method="POST",
        path="/v1/sessions/{session_id}/preflight",
        handler=propose,
        name="preflight",
        summary="Say something, and have the agent propose its steps before it begins; answers with the checklist.",
        body=PostMessage,
        answers={200: Checklist},
        errors=(404, 409, 422, 502, 503, 507),
        example={"content": "Please update the README."},
    ),
    Route(
        method="POST",
        path="/v1/sessions/{session_id}/preflight/{turn_id}",
        handler=resolve,
        name="resolvePreflight",
        summary="Approve or refuse the proposed steps, as they are or edited; the first answer counts.",
        body=ResolvePreflight,
        answers={200: Resolved},
        errors=(404, 409, 422, 507),
        example={
            "approved": True,
            "edited_steps": [{"id": "step_1", "description": "Write the README."}],
        },
    ),
)
