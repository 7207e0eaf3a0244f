"""`/v1/one-shot`: one question, one answer, in a session of its own that is kept but not listed.

May import: errors, protocol, sessions, server.
"""

from __future__ import annotations

from msgspec import UNSET, Raw, Struct, UnsetType

from agi.errors import AgiError, Invalid
from agi.eventlog.base import Cursor
from agi.protocol.commands import CreateSession, OneShot, OneShotMessage, PostMessage, UploadAttachment
from agi.protocol.events import ApprovalDenied, DenialCause
from agi.protocol.messages import Message, StopReason, Usage
from agi.protocol.parts import File, InputPart, Text, plain_text
from agi.server.answers import Json
from agi.server.asgi import ASGIApp
from agi.server.replies import Ending, stream_turn, wait_for_turn
from agi.server.request import Request
from agi.server.routes import Route
from agi.server.uploads import decoded
from agi.sessions.harness import Harness

EVENTS = 100_000
"""More than one turn can write."""


class RefusedCall(Struct, frozen=True, kw_only=True):
    """A call that was not run, and who or what refused it."""

    tool_call_id: str
    name: str
    cause: DenialCause
    reason: str


class OneShotReply(Struct, frozen=True, kw_only=True):
    """The answer: `content` is its text, `message` the whole of it."""

    session_id: str
    turn_id: str
    message: Message | None
    content: str
    usage: Usage
    stop_reason: StopReason
    refused: tuple[RefusedCall, ...]
    """The calls that needed a person's word and did not get it; nobody watches a one-shot."""
    output: Raw | UnsetType = UNSET
    """The answer as a value that fits `options.schema`, where one was sent."""
    note: str | UnsetType = UNSET
    """Why it ended before it was done, such as which limit was reached."""


async def ask(request: Request[OneShot, None]) -> ASGIApp:
    """Ask once."""
    earlier, prompt = _conversation(request.body)
    session_id, turn_id = await _begin(request, earlier, prompt)
    if request.wants_events():
        start = Cursor(0, None, request.harness.log.epoch)
        return stream_turn(request, session_id, turn_id, start, first="session_created")
    ending = await wait_for_turn(request, session_id, turn_id)
    if not isinstance(ending, Ending):
        return ending
    return Json(
        OneShotReply(
            session_id=session_id,
            turn_id=turn_id,
            message=ending.message,
            content=plain_text(ending.message.parts) if ending.message else "",
            usage=ending.usage,
            stop_reason=ending.stop_reason,
            refused=_refused(request, session_id),
            output=ending.output,
            note=ending.note,
        )
    )


def _refused(request: Request[OneShot, None], session_id: str) -> tuple[RefusedCall, ...]:
    denials = [event.data for event in request.harness.log.read(session_id, 0, EVENTS)]
    return tuple(
        RefusedCall(tool_call_id=one.tool_call_id, name=one.name, cause=one.cause, reason=one.reason)
        for one in denials
        if isinstance(one, ApprovalDenied)
    )


def _conversation(command: OneShot) -> tuple[list[OneShotMessage], str]:
    """What was said before, and what is asked now."""
    if (command.prompt is None) == (command.messages is None):
        hint = "Send exactly one of the two."
        raise Invalid("A one-shot has either `prompt` or `messages`.", code="prompt_missing", hint=hint)
    if command.prompt is not None:
        return [], command.prompt
    said = command.messages or []
    last = said[-1]
    if last.role != "user" or not last.content:
        hint = "End `messages` with what the user asks."
        raise Invalid("The last of `messages` is not the user's.", code="prompt_missing", hint=hint)
    return said[:-1], last.content


async def _begin(request: Request[OneShot, None], earlier: list[OneShotMessage], prompt: str) -> tuple[str, str]:
    """Make the session and ask; if that cannot be, nothing stays behind."""
    command, harness = request.body, request.harness
    wanted = CreateSession(agent=command.agent, provider=command.provider, model=command.model)
    session = await harness.create_session(wanted, ephemeral=True)
    try:
        if earlier:
            await harness.add_context(session.id, earlier)
        parts = [Text(text=prompt), *[await _attached(harness, session.id, one) for one in command.attachments]]
        message = PostMessage(parts=parts, auto_run=True, options=command.options, on_ask=command.on_ask)
        posted = await harness.post_message(session.id, message)
    except AgiError:
        await harness.delete_session(session.id)
        raise
    return session.id, posted.turn_id or ""


async def _attached(harness: Harness, session_id: str, given: UploadAttachment) -> InputPart:
    """Store a file; which kind of part it is goes by its bytes, once it is posted."""
    added = await harness.add_attachment(session_id, given.filename, given.mime_type, decoded(given.data))
    return File(ref=added.ref, mime_type=added.mime_type, name=given.filename)


ROUTES = (
    Route(
        method="POST",
        path="/v1/one-shot",
        handler=ask,
        name="askOnce",
        summary="Ask once: answered as JSON when it is done, or as a stream.",
        body=OneShot,
        answers={200: OneShotReply},
        streams="stream",
        errors=(422, 502, 503, 507),
        example={"prompt": "What is in this folder?", "agent": "general"},
    ),
)
