"""`/api/{kind}/{name}/agent`: seed 002's frontend talks to the agent of a resource: send, status, cancel, sessions,
history.

A translation of the session verbs into that seed's shapes. May import: errors, protocol, sessions, server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from agi.protocol.commands import PostMessage
from agi.protocol.messages import Message
from agi.protocol.parts import plain_text
from agi.protocol.resources import KINDS, ONE, AgentMessage, Resource, ResourceKind
from agi.protocol.times import to_millis
from agi.server.answers import Json, NoContent
from agi.server.asgi import ASGIApp
from agi.server.replies import Ending, wait_for_turn
from agi.server.request import Request
from agi.server.resource_words import HistoryMessage, ResponsePart, answer_parts, history_messages
from agi.server.resources import kind_of
from agi.server.routes import Route
from agi.sessions.resources import Resources

PAGE = 500
"""How many messages are read at a time."""


class AgentReply(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What was said, and what the agent answered."""

    message_id: str
    sent: str
    response: str
    prompt: str | UnsetType = UNSET
    responses: list[ResponsePart]
    session_id: str | UnsetType = UNSET


class AgentAsked(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was said, and the turn in which it is answered."""

    message_id: str
    session_id: str
    turn_id: str


class AgentStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether the agent is at work, and since when."""

    processing: bool
    started_at: str | None
    waiting_for: Literal["approval"] | UnsetType = UNSET
    """What it needs from a person before it can go on; absent while it needs nothing."""
    session_id: str | UnsetType = UNSET
    """The session that is at work, and in which an answer is to be given."""


class SessionsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many."""

    limit: Annotated[int, Meta(ge=1, le=1000, description="At most this many, the latest first.")] = 100


class SessionLine(Struct, frozen=True):
    """One session."""

    id: str
    title: str
    updated: str


class SessionLines(Struct, frozen=True):
    """Sessions, most recently touched first."""

    sessions: list[SessionLine]


class HistoryQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which session, and from when."""

    session_id: Annotated[str, Meta(min_length=1, max_length=200, description="One of the resource's sessions.")]
    start: (
        Annotated[int, Meta(ge=0, le=1 << 53, description="Only what was said at or after this time, in milliseconds.")]
        | UnsetType
    ) = UNSET


class History(Struct, frozen=True, kw_only=True, rename="camel"):
    """A conversation, in the order it was held."""

    session_id: str
    messages: list[HistoryMessage]


async def send(request: Request[AgentMessage, None]) -> ASGIApp:
    """Say something and, unless told not to, wait for the answer; the turn goes on if the client leaves."""
    resources, resource = _found(request)
    said = request.body
    if said.session_id is UNSET:
        session_id = await resources.begin(resource)
    else:
        session_id = resources.session(resource, said.session_id).id
    posted = await request.harness.post_message(session_id, PostMessage(content=said.message, auto_run=True))
    turn_id = posted.turn_id or ""
    if not said.wait:
        return Json(AgentAsked(message_id=posted.message_id, session_id=session_id, turn_id=turn_id), 202)
    ending = await wait_for_turn(request, session_id, turn_id)
    if not isinstance(ending, Ending):
        return ending
    messages = request.harness.turn_messages(session_id, turn_id)
    sent = next((one.created_at for one in messages if one.id == posted.message_id), "")
    return Json(
        AgentReply(
            message_id=posted.message_id,
            sent=sent,
            response=plain_text(ending.message.parts) if ending.message is not None else "",
            prompt=said.message,
            responses=answer_parts(messages, ending.message),
            session_id=session_id,
        )
    )


async def status(request: Request[None, None]) -> ASGIApp:
    """How the agent stands."""
    resources, resource = _found(request)
    busy = resources.busy(resource)
    if not busy:
        return Json(AgentStatus(processing=False, started_at=None))
    asking = next((one for one in busy if one.turn is not None and one.turn.pending), None)
    first = asking or busy[0]
    return Json(
        AgentStatus(
            processing=True,
            started_at=busy[0].turn.started_at if busy[0].turn else busy[0].updated_at,
            waiting_for=UNSET if asking is None else "approval",
            session_id=first.id,
        )
    )


async def cancel(request: Request[None, None]) -> ASGIApp:
    """Stop whatever the agent does; nothing to stop is fine. Waits a moment for it to be over."""
    resources, resource = _found(request)
    ended = await resources.cancel(resource)
    waits = [asyncio.ensure_future(request.harness.wait_turn(session, turn)) for session, turn in ended]
    if waits:
        await asyncio.wait(waits, timeout=request.shared.settings.cancel_wait_s)
    for wait in waits:
        wait.cancel()
    await asyncio.gather(*waits, return_exceptions=True)
    return NoContent()


async def sessions(request: Request[None, SessionsQuery]) -> ASGIApp:
    """The sessions of a resource."""
    resources, resource = _found(request)
    found = resources.sessions(resource, request.query.limit)
    return Json(SessionLines([SessionLine(one.id, one.title or "Untitled", one.updated_at) for one in found]))


async def history(request: Request[None, HistoryQuery]) -> ASGIApp:
    """What was said in one session."""
    resources, resource = _found(request)
    session_id = resources.session(resource, request.query.session_id).id
    start = 0 if request.query.start is UNSET else request.query.start
    said = [one for one in _all_messages(request, session_id, start) if to_millis(one.created_at) >= start]
    return Json(History(session_id=session_id, messages=history_messages(said)))


def _all_messages(request: Request[None, HistoryQuery], session_id: str, start: int) -> Iterator[Message]:
    """The messages in order, read from the end until they are earlier than asked for."""
    pages: list[list[Message]] = []
    before: str | None = None
    while True:
        page, has_more = request.harness.messages(session_id, limit=PAGE, before=before)
        pages.append(page)
        if not has_more or to_millis(page[0].created_at) < start:
            break
        before = page[0].id
    return (message for page in reversed(pages) for message in page)


def _found(request: Request[object, object]) -> tuple[Resources, Resource]:
    resources = Resources(request.harness)
    return resources, resources.find(kind_of(request), request.path["name"])


def _routes(kind: ResourceKind) -> tuple[Route, ...]:
    one, name = ONE[kind], "".join(word.capitalize() for word in ONE[kind].split())
    path = f"/api/{kind}/{{name}}/agent"
    return (
        Route(
            method="POST",
            path=path,
            handler=send,
            name=f"send{name}Message",
            summary=f"Say something to the agent of a {one}; answers when it has answered.",
            body=AgentMessage,
            answers={200: AgentReply, 202: AgentAsked},
            errors=(404, 409, 422, 502, 503, 507),
            example={"message": "What is this about?"},
        ),
        Route(
            method="GET",
            path=f"{path}/status",
            handler=status,
            name=f"get{name}AgentStatus",
            summary=f"Whether the agent of a {one} is at work, and whether it waits for a person.",
            answers={200: AgentStatus},
            errors=(404,),
        ),
        Route(
            method="POST",
            path=f"{path}/cancel",
            handler=cancel,
            name=f"cancel{name}Agent",
            summary=f"Stop whatever the agent of a {one} does.",
            answers={204: None},
            errors=(404,),
        ),
        Route(
            method="GET",
            path=f"{path}/sessions",
            handler=sessions,
            name=f"list{name}Sessions",
            summary=f"The sessions of a {one}, most recently touched first.",
            query=SessionsQuery,
            answers={200: SessionLines},
            errors=(404,),
        ),
        Route(
            method="GET",
            path=f"{path}/history",
            handler=history,
            name=f"get{name}History",
            summary=f"What was said in a session of a {one}.",
            query=HistoryQuery,
            answers={200: History},
            errors=(404,),
        ),
    )


ROUTES = tuple(route for kind in KINDS for route in _routes(kind))
