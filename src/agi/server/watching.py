"""`/v1/watch`: one stream about all sessions, for those who show a list of them.

May import: protocol, eventlog, sessions, server.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from agi.protocol.overview import Removed, Snapshot
from agi.server.asgi import ASGIApp
from agi.server.events import Follow, Position, position
from agi.server.request import Request
from agi.server.routes import Route
from agi.server.sse import EventStream, frame
from agi.sessions.watching import Told, Unread

Limit = Annotated[int, Meta(ge=1, le=5000, description="How many sessions a snapshot has at most.")]
_encode = msgspec.json.Encoder().encode


class WatchQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to begin, and with how much."""

    after: Position | UnsetType = UNSET
    limit: Limit = 1000
    follow: Follow = True


async def watch(request: Request[None, WatchQuery]) -> ASGIApp:
    """How all sessions stand, and each time one of them stands otherwise."""
    start = position(request, request.query.after)
    rounds = request.harness.watching.watch(start, request.query.limit)
    return EventStream(told_rounds(rounds, follow=request.query.follow), request.shared)


async def told_rounds(rounds: AsyncGenerator[Unread, None], *, follow: bool = True) -> AsyncGenerator[bytes, None]:
    """What a watcher is sent."""
    async with aclosing(rounds) as source:
        async for told, cursor in source:
            yield _frames(told, str(cursor).encode())
            if not follow:
                return


def _frames(told: Told, cursor: bytes) -> bytes:
    """All of a round at once. The cursor stands at its last frame: half a round is no place to go on from."""
    if isinstance(told, Snapshot):
        frames = [frame("snapshot", _encode(told))]
    else:
        frames = [frame("removed" if isinstance(one, Removed) else "session", _encode(one)) for one in told]
    return b"\n".join(frames) + b"id: %b\n\n" % cursor


ROUTES = (
    Route(
        method="GET",
        path="/v1/watch",
        handler=watch,
        name="watchSessions",
        summary="How all sessions stand, and every change of that, as an event stream.",
        query=WatchQuery,
        answers={},
        streams="watch",
    ),
)
