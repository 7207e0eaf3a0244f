"""`/v1/sessions/{session_id}/events` and `/stream`: a session as it was and as it goes on, in two vocabularies.

`/events` begins with the history, `/stream` with now; both go on exactly where a reader says it stands.
May import: protocol, eventlog, sessions, server.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from agi.eventlog.base import Cursor, parse_cursor
from agi.server.asgi import ASGIApp
from agi.server.request import Request
from agi.server.routes import Route
from agi.server.snapshot import resync_frame
from agi.server.sse import EventStream, Reading, Words, told
from agi.server.words import dotted_words, envelope_words
from agi.sessions.harness import Harness

POSITION = r"^([0-9]{1,15}(:[0-9]{1,15})?(@[0-9]{1,15})?)?$"
"""The form of an event's id; only told, since what does not fit is malformed and not merely invalid."""
Position = Annotated[
    str,
    Meta(
        description="The id of the last event you have; beats the header Last-Event-ID.",
        extra_json_schema={"pattern": POSITION},
    ),
]
Follow = Annotated[bool, Meta(description="Go on with what happens; without it the stream ends with the history.")]
Count = Annotated[int, Meta(ge=1, le=1_000_000, description="End after this many events.")]


class EventsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to begin and where to end."""

    after: Position | UnsetType = UNSET
    follow: Follow = True
    limit: Count | UnsetType = UNSET


class StreamQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to begin."""

    after: Position | UnsetType = UNSET


async def events(request: Request[None, EventsQuery]) -> ASGIApp:
    """History, then live, in the log's own words."""
    query = request.query
    start = position(request, query.after) or Cursor(0, None, request.harness.log.epoch)
    return _stream(request, start, envelope_words, follow=query.follow, limit=query.limit)


async def stream(request: Request[None, StreamQuery]) -> ASGIApp:
    """Live from now, in dotted words."""
    log = request.harness.log
    start = position(request, request.query.after) or Cursor(log.last_seq(request.session_id), None, log.epoch)
    return _stream(request, start, dotted_words(log.epoch))


def position(request: Request[object, object], after: str | UnsetType) -> Cursor | None:
    """Where the reader stands, if it says so; what cannot be a position is refused wherever it stands."""
    said = [request.headers.get("last-event-id", ""), "" if after is UNSET else after]
    positions = [parse_cursor(text) for text in said if text]
    return positions[-1] if positions else None


def _stream(
    request: Request[object, object],
    start: Cursor,
    words: Words,
    *,
    follow: bool = True,
    limit: int | UnsetType = UNSET,
) -> EventStream:
    most = None if limit is UNSET else limit
    pieces = followed(request.harness, request.session_id, start, words, follow=follow, limit=most)
    return EventStream(pieces, request.shared)


def followed(
    harness: Harness, session_id: str, start: Cursor, words: Words, *, follow: bool = True, limit: int | None = None
) -> AsyncGenerator[bytes, None]:
    """What a reader is sent of a session; raises NotFound."""
    batches = harness.follow(session_id, start)
    reading = Reading(words, partial(resync_frame, harness, session_id), limit=limit)
    return told(batches, reading, follow=follow)


ROUTES = (
    Route(
        method="GET",
        path="/v1/sessions/{session_id}/events",
        handler=events,
        name="getEvents",
        summary="A session's events, history then live, as an event stream in snake_case words.",
        query=EventsQuery,
        answers={},
        streams="events",
        errors=(404,),
    ),
    Route(
        method="GET",
        path="/v1/sessions/{session_id}/stream",
        handler=stream,
        name="getStream",
        summary="What happens in a session from now on, as an event stream in dotted words.",
        query=StreamQuery,
        answers={},
        streams="stream",
        errors=(404,),
    ),
)
