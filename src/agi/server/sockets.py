"""WebSockets as surfaces see them: text messages in and out, a credential first, an end when the daemon stops.

A client that could not send the token as a header proves itself with its first message. What the messages mean is the
surfaces' business. May import: errors, server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

import msgspec

from agi.server.asgi import Receive, Scope, Send
from agi.server.guard import FACTS
from agi.server.refusals import Refusal
from agi.server.request import Shared, first_of

PROOF_S = 5.0
"""How long a client that is not known yet may take to prove itself."""
WAITING = 256
"""How many messages may wait to be handled; then the client is not read until some are."""
RESTARTS = 1012
NOT_PROVED = 4401
"""Close codes: the daemon stops and may be back; the client did not prove itself."""

_encode = msgspec.json.Encoder().encode


class Surface(Protocol):
    """One client's conversation over a socket."""

    async def proved(self, text: str, prove: Callable[[str], Refusal | None]) -> bool:
        """Whether the first message of an unknown client proves it; answers it either way."""

    async def begin(self) -> None:
        """The client is known."""

    async def hear(self, text: str) -> None:
        """Take one message."""

    async def close(self) -> None:
        """The client has gone, or is to go."""


class Socket:
    """One connection. Sending waits while the client does not read, so nothing piles up here."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._one_at_a_time = asyncio.Lock()

    async def say(self, message: object) -> None:
        """Send one message: text as it is, anything else as JSON."""
        text = message if isinstance(message, str) else _encode(message).decode()
        async with self._one_at_a_time:
            await self._send({"type": "websocket.send", "text": text})

    async def end(self, code: int) -> None:
        """Close the connection; whoever reads it comes to its end."""
        await self._send({"type": "websocket.close", "code": code})

    async def messages(self) -> AsyncIterator[str]:
        """What the client says, until it has gone; bytes are read as text."""
        while (event := await self._receive())["type"] == "websocket.receive":
            text = event.get("text")
            yield text if text is not None else event.get("bytes", b"").decode(errors="replace")


class SocketRoute:
    """A path that speaks one surface's words over WebSockets."""

    def __init__(self, shared: Shared, make: Callable[[Socket, Shared], Surface]) -> None:
        self._shared = shared
        self._make = make

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hold one conversation."""
        if (await receive())["type"] != "websocket.connect":
            return
        await send({"type": "websocket.accept"})
        surface = self._make(Socket(receive, send), self._shared)
        prove = ((scope.get("extensions") or {}).get(FACTS) or {}).get("prove")
        talk = asyncio.create_task(_talk(surface, Socket(receive, send).messages(), prove))
        try:
            await first_of(talk, self._shared.stopped)
            code = talk.result() if talk.done() else RESTARTS
        finally:
            talk.cancel()
            await asyncio.gather(talk, return_exceptions=True)
            await surface.close()
        if code is not None:
            await send({"type": "websocket.close", "code": code})


async def _talk(surface: Surface, messages: AsyncIterator[str], prove: Any) -> int | None:
    """Hear the client out; gives the code to close with, None if it has closed."""
    if prove is not None:
        try:
            async with asyncio.timeout(PROOF_S):
                text = await anext(messages, None)
        except TimeoutError:
            return NOT_PROVED
        if text is None:
            return None
        if not await surface.proved(text, prove):
            return NOT_PROVED
    await surface.begin()
    async for text in messages:
        await surface.hear(text)
    return None
