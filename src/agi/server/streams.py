"""`/v1/streams`: the event streams of sessions and of the list of them, many over one WebSocket, for the page.

Browsers keep six ordinary connections to one place for all their tabs together, and each stream would hold one;
WebSockets do not count among them. A message to the client is the number it gave the stream, a line break, and frames
just as that stream has them by itself; number 0 is the connection's own. Each stream has a follower of its own, which
lets no event be left out. May import: errors, protocol, eventlog, sessions, server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from agi.errors import AgiError, TooMany
from agi.eventlog.base import Cursor, parse_cursor
from agi.server.errors import ErrorDetail, status_of
from agi.server.events import followed
from agi.server.refusals import Refusal
from agi.server.request import Shared, decode_body
from agi.server.sockets import NOT_PROVED, Socket
from agi.server.sse import frame, heartbeat, paced
from agi.server.watching import told_rounds
from agi.server.words import envelope_words

MOST = 100
"""How many streams one connection may have."""
LISTED = 1000
"""How many sessions the list begins with at most."""

Number = Annotated[int, Meta(ge=1, le=1 << 31)]
_encode = msgspec.json.Encoder().encode


class Auth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="auth"):
    """The page's half of the pass; the cookie came with the handshake."""

    key: Annotated[str, Meta(max_length=200)]


class Follow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="follow"):
    """Tell what happens in a session, or without one in the list of them, after this id of an event."""

    id: Number
    session_id: Annotated[str, Meta(max_length=200)] = ""
    after: Annotated[str, Meta(max_length=60)] = ""


class Drop(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="drop"):
    """Tell no more of it."""

    id: Number


Says = Auth | Follow | Drop
_decoder: msgspec.json.Decoder[Says] = msgspec.json.Decoder(Says)


class Refused(ErrorDetail, frozen=True, kw_only=True):
    """`refused`: why there is no such stream, or no more of it."""

    status: int


class Streams:
    """One page."""

    def __init__(self, socket: Socket, shared: Shared) -> None:
        self._socket = socket
        self._shared = shared
        self._told: dict[int, asyncio.Task[None]] = {}
        self._doubt: Callable[[], Refusal | None] = lambda: None
        """Why whoever proved itself would not be let in any more."""
        self._beating: asyncio.Task[None] | None = None

    async def proved(self, text: str, prove: Callable[[str], Refusal | None]) -> bool:
        """Whether the first message is the key that goes with the cookie."""
        try:
            message = _read(text)
        except AgiError:
            return False
        self._doubt = partial(prove, message.key if isinstance(message, Auth) else "")
        return self._doubt() is None

    async def begin(self) -> None:
        """Show that the connection lives, from now on."""
        self._beating = asyncio.create_task(self._beat(), name="streams beat")

    async def hear(self, text: str) -> None:
        """Begin a stream or end one; what is wrong is told under its number, and the connection lives on."""
        number = 0
        try:
            message = _read(text)
            if isinstance(message, Auth):
                return  # known already, which does no harm
            number = message.id
            await self._drop(number)
            if isinstance(message, Follow):
                self._follow(message)
        except AgiError as error:
            await self._refuse(number, error)

    async def close(self) -> None:
        """Tell nothing any more."""
        tasks = [*self._told.values(), *([self._beating] if self._beating else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _follow(self, asked: Follow) -> None:
        if len(self._told) >= MOST:
            raise TooMany(f"One connection has {MOST} streams at most.", hint="Drop one first.")
        harness = self._shared.harness
        start = parse_cursor(asked.after) if asked.after else None
        if asked.session_id:
            begin = start or Cursor(0, None, harness.log.epoch)
            pieces = followed(harness, asked.session_id, begin, envelope_words)
        else:
            pieces = told_rounds(harness.watching.watch(start, LISTED))
        task = self._told[asked.id] = asyncio.create_task(self._tell(asked, pieces), name=f"stream {asked.id}")
        task.add_done_callback(partial(self._over, asked.id))

    async def _drop(self, number: int) -> None:
        if (task := self._told.pop(number, None)) is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _tell(self, asked: Follow, pieces: AsyncGenerator[bytes, None]) -> None:
        """Tell until there is no more: the session is gone, its log is damaged, or nobody listens."""
        with suppress(OSError):  # the client has gone; whoever reads the socket notices too
            async with aclosing(paced(pieces)) as source:
                async for piece in source:
                    await self._say(asked.id, piece)
            try:
                self._shared.harness.state(asked.session_id)
            except AgiError as error:
                await self._refuse(asked.id, error)

    def _over(self, number: int, task: asyncio.Task[None]) -> None:
        if self._told.get(number) is task:
            del self._told[number]
        if not task.cancelled() and (error := task.exception()) is not None:  # a mistake of ours
            told = {"message": "A stream failed.", "exception": error}
            asyncio.get_running_loop().call_exception_handler(told)

    async def _refuse(self, number: int, error: AgiError) -> None:
        told = Refused(code=error.code, message=error.message, hint=error.hint, status=status_of(error))
        await self._say(number, frame("refused", _encode(told)) + b"\n")

    async def _say(self, number: int, frames: bytes) -> None:
        await self._socket.say((b"%d\n" % number + frames).decode(errors="replace"))

    async def _beat(self) -> None:
        """Say regularly that the connection lives; and end it when its pass has run out or was revoked."""
        with suppress(OSError):
            while True:
                await asyncio.sleep(self._shared.settings.heartbeat_s)
                if self._doubt() is not None:
                    await self._socket.end(NOT_PROVED)
                    return
                await self._say(0, heartbeat())


def _read(text: str) -> Says:
    return decode_body(_decoder, text.encode(errors="replace"), "The message", "docs/api.md lists every message.")
