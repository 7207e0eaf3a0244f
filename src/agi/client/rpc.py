"""A client of `/v1/rpc`: calls methods of a running daemon by name, and hears what it tells unasked.

    async with connect("http://localhost:8787", token) as rpc:
        await rpc.call("draft", role="product-analyst", project="shop", task="checkout")
        await rpc.call("submit_prompt", content="What is missing?")
        async for method, params in rpc.notifications():
            ...

May import: errors, client.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agi.client.running import running_daemon
from agi.errors import AgiError, Unavailable

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

PATH = "/v1/rpc"
LARGEST = 64 << 20
UNHEARD = 100_000
"""How many notifications are kept for whoever hears them; the oldest go."""
_GONE = "The daemon closed the connection."


class CallFailed(AgiError):
    """The daemon answered with an error; `number` is JSON-RPC's code, `code` the daemon's own."""

    def __init__(self, message: str, *, number: int, code: str = "", hint: str = "") -> None:
        super().__init__(message, code=code or "rpc_error", hint=hint)
        self.number = number


class RpcClient:
    """One connection. Calls may be made at the same time; each gets its own answer."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._heard: asyncio.Queue[tuple[str, dict[str, Any]] | None] = asyncio.Queue()
        self._reader = asyncio.create_task(self._read(), name="rpc client")

    async def call(self, method: str, **params: object) -> Any:
        """Call a method; parameters that are None are left out. Raises CallFailed, or Unavailable."""
        if self._reader.done():
            raise Unavailable(_GONE, hint="Connect again.")
        id = next(self._ids)
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[id] = waiting
        given = {name: value for name, value in params.items() if value is not None}
        request = {"jsonrpc": "2.0", "id": id, "method": method, "params": given}
        try:
            try:
                await self._socket.send(msgspec.json.encode(request).decode())
            except Exception as error:  # whatever the library raises, nobody is there any more
                raise Unavailable(_GONE, hint="Connect again.") from error
            return await waiting
        finally:
            self._waiting.pop(id, None)

    async def notifications(self) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """What the daemon tells, by method and parameters, from the beginning of the connection to its end."""
        while (told := await self._heard.get()) is not None:
            yield told
        self._heard.put_nowait(None)  # so that everybody else who listens comes to the end too

    async def close(self) -> None:
        """Hang up; drafts and workers go on."""
        await self._socket.close()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def _read(self) -> None:
        try:
            async for text in self._socket:
                self._take(msgspec.json.decode(text))
        finally:
            self._heard.put_nowait(None)
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(Unavailable(_GONE, hint="Connect again; what was asked for goes on."))

    def _take(self, message: dict[str, Any]) -> None:
        if "method" in message:
            if self._heard.qsize() >= UNHEARD:
                self._heard.get_nowait()
            self._heard.put_nowait((message["method"], message.get("params") or {}))
            return
        waiting = self._waiting.get(message.get("id") or 0)
        if waiting is None or waiting.done():
            return
        error = message.get("error")
        if error is None:
            waiting.set_result(message.get("result"))
        else:
            data = error.get("data") or {}
            failed = CallFailed(
                error["message"], number=error["code"], code=data.get("code", ""), hint=data.get("hint", "")
            )
            waiting.set_exception(failed)


@asynccontextmanager
async def connect(url: str, token: str = "") -> AsyncIterator[RpcClient]:
    """Hold a connection to the daemon at `url`; raises Unavailable if it does not answer, or not to us."""
    from websockets.asyncio.client import connect as dial  # late: few commands need it
    from websockets.exceptions import WebSocketException

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    place = url.replace("http", "ws", 1).rstrip("/") + PATH
    try:
        socket = await dial(place, additional_headers=headers, proxy=None, max_size=LARGEST)
    except (OSError, WebSocketException, TimeoutError) as error:
        hint = "Is it running? `agi serve` starts it."
        raise Unavailable(f"The daemon at {url} does not answer: {error}.", hint=hint) from error
    client = RpcClient(socket)
    try:
        yield client
    finally:
        with suppress(WebSocketException):
            await client.close()


def connect_to(project: Path) -> AbstractAsyncContextManager[RpcClient]:
    """Hold a connection to the daemon that serves a project; raises Unavailable if none does."""
    daemon = running_daemon(project)
    if daemon is None:
        raise Unavailable(f"No daemon runs for {project}.", code="no_daemon", hint="Start one with `agi serve`.")
    return connect(daemon.url, daemon.token)
