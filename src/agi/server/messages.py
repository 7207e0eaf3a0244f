"""`/v1/sessions/{session_id}/messages`: what was said, and saying something.

`parts` answers at once, `content` when the turn has ended, `wait` overrides both; with `Accept: text/event-stream` the
wait becomes a stream of the turn. May import: protocol, views, sessions, server.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from agi.eventlog.base import Cursor
from agi.protocol.commands import PostMessage
from agi.protocol.events import AnyVerification, Verification, in_todays_words
from agi.protocol.messages import Message, StopReason, Usage
from agi.protocol.sessions import ErrorInfo, TurnStatus
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.rendered import rendered_messages
from agi.server.replies import Ending, stream_turn, wait_for_turn
from agi.server.request import Request
from agi.server.routes import Route
from agi.views.asides import Aside, Took, asides

Limit = Annotated[int, Meta(ge=1, le=1000, description="At most this many, the latest.")]
MessageId = Annotated[str, Meta(pattern="^msg_[0-9a-f]{32}$", description="Only messages before this one.")]


class MessagesQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which messages."""

    limit: Limit = 100
    before: MessageId | UnsetType = UNSET
    render: Annotated[Literal["html"], Meta(description="Add what the web page shows.")] | UnsetType = UNSET


class TurnEnding(Struct, frozen=True, kw_only=True):
    """How a turn stands, beside its messages."""

    status: TurnStatus
    verification: Verification
    error: ErrorInfo | None
    note: str
    """Why it ended before it was done."""


class _Outcome(Struct, frozen=True):
    verification: AnyVerification = "not_run"
    error: ErrorInfo | None = None
    note: str = ""


class Messages(Struct, frozen=True, kw_only=True):
    """A page of messages in the order they were said."""

    messages: list[Message]
    has_more: bool
    """Whether there are earlier ones."""
    html: dict[str, list[str | None]] | UnsetType = UNSET
    """With `render`: the parts of each answer as sanitised HTML, by the message's id; null where a part is no text."""
    turns: dict[str, TurnEnding] | UnsetType = UNSET
    """With `render`: how the turns of these messages stand."""
    asides: list[Aside] | UnsetType = UNSET
    """With `render`: what the log has between them: questions answered, checks, waits, notices."""
    calls: dict[str, Took] | UnsetType = UNSET
    """With `render`: how the calls of these messages went or go, and how long they took, by their id."""


class Accepted(Struct, frozen=True, kw_only=True):
    """The message is in the log; `turn_id` answers it, if anything does."""

    message_id: str
    turn_id: str | None
    queued: bool
    """Another turn is running; this one waits for it, or with the mode `steer` for its next step."""


class TurnReply(Struct, frozen=True, kw_only=True):
    """The turn has ended; `message` is the last thing the agent said in it."""

    message: Message | None
    turn_id: str
    message_id: str
    turn_status: TurnStatus
    stop_reason: StopReason
    usage: Usage
    verification: Verification
    output: Raw | UnsetType = UNSET
    """The answer as a value that fits `options.schema`, where one was sent."""
    note: str | UnsetType = UNSET
    """Why it ended before it was done, such as which limit was reached."""


async def list_messages(request: Request[None, MessagesQuery]) -> ASGIApp:
    """A page of messages with their parts."""
    before = None if request.query.before is UNSET else request.query.before
    found, has_more = request.harness.messages(request.session_id, limit=request.query.limit, before=before)
    if request.query.render is UNSET:
        return Json(Messages(messages=found, has_more=has_more))
    html = await rendered_messages(found)
    turns = {turn_id: _ending(request, turn_id) for turn_id in {one.turn_id for one in found} if turn_id}
    told, calls = asides(request.harness.log.db, request.session_id, found, before=before, has_more=has_more)
    return Json(Messages(messages=found, has_more=has_more, html=html, turns=turns, asides=told, calls=calls))


def _ending(request: Request[None, MessagesQuery], turn_id: str) -> TurnEnding:
    turn = request.harness.turn(request.session_id, turn_id)
    outcome = msgspec.json.decode(turn.outcome, type=_Outcome) if turn.outcome else _Outcome()
    verification = in_todays_words(outcome.verification)
    return TurnEnding(status=turn.status, verification=verification, error=outcome.error, note=outcome.note)


async def post(request: Request[PostMessage, None]) -> ASGIApp:
    """Say something, and wait for the answer or not."""
    command, session_id = request.body, request.session_id
    log = request.harness.log
    start = Cursor(log.last_seq(session_id), None, log.epoch)
    posted = await request.harness.post_message(session_id, command)
    waits = command.content is not None if command.wait is None else command.wait
    if posted.turn_id is None or not waits:
        accepted = Accepted(message_id=posted.message_id, turn_id=posted.turn_id, queued=posted.queued)
        return Json(accepted, 202)
    if request.wants_events():
        return stream_turn(request, session_id, posted.turn_id, start)
    ending = await wait_for_turn(request, session_id, posted.turn_id)
    if not isinstance(ending, Ending):
        return ending
    return Json(
        TurnReply(
            message=ending.message,
            turn_id=ending.turn_id,
            message_id=posted.message_id,
            turn_status=ending.status,
            stop_reason=ending.stop_reason,
            usage=ending.usage,
            verification=ending.verification,
            output=ending.output,
            note=ending.note,
        )
    )


ROUTES = (
    Route(
        method="GET",
        path="/v1/sessions/{session_id}/messages",
        handler=list_messages,
        name="listMessages",
        summary="A session's messages with their parts, the latest page first asked for.",
        query=MessagesQuery,
        answers={200: Messages},
        errors=(404,),
    ),
    Route(
        method="POST",
        path="/v1/sessions/{session_id}/messages",
        handler=post,
        name="postMessage",
        summary="Say something: `parts` answers at once, `content` when the turn has ended or as a stream of it.",
        body=PostMessage,
        answers={200: TurnReply, 202: Accepted},
        streams="stream",
        errors=(404, 422, 502, 503, 507),
        example={"role": "user", "parts": [{"type": "text", "text": "Please update the README."}], "auto_run": True},
    ),
)
