"""`/mcp`: the harness as an MCP server over streamable HTTP, behind the same door as everything else.

The SDK holds the connections of clients; sessions, workers and questions are in the log. It is brought in when the
first client comes: it takes a second and some tens of megabytes. May import: errors, extras, sessions, server.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agi.errors import AgiError, Unavailable
from agi.extras import how_to_add
from agi.server.asgi import Receive, Scope, Send
from agi.server.errors import error_answer
from agi.server.mcp_desk import Desk
from agi.server.mcp_tools import TOOLS
from agi.server.request import Shared, first_of

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

MOST_SESSIONS = 100
IDLE_S = 30 * 60.0
RETRY_MS = 1000
"""After how long a client whose stream broke off is to come back."""
LEAVE_S = 0.5
"""How long a stream may take to end when the daemon stops."""

MakeServer = Callable[[Desk], "Server[Any]"]


def load_sdk() -> None:
    """Import the SDK; raises Unavailable if it is not installed."""
    try:
        for name in ("mcp.server.streamable_http_manager", "agi.server.mcp_server", "agi.server.mcp_store"):
            importlib.import_module(name)
    except ImportError as error:
        message = f"The MCP server needs the package mcp, which is missing: {error}."
        raise Unavailable(message, code="mcp_missing", hint=f"Run `{how_to_add('mcp')}`.") from error
    for name in ("mcp", "sse_starlette"):  # what goes wrong is answered; the access log has every request
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False


def _own_server(desk: Desk) -> Server[Any]:
    from agi.server.mcp_server import OwnTools, make_server  # late: they bring the SDK

    return make_server(OwnTools(desk))


class McpRoute:
    """The path and its clients."""

    def __init__(self, shared: Shared, make: MakeServer = _own_server) -> None:
        self._shared = shared
        self._make = make
        self._desk = Desk(shared.harness, TOOLS, shared.stopped.done)
        self._keeper: asyncio.Task[None] | None = None
        self._manager: Any = None
        self._ready: asyncio.Future[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request of a client."""
        try:
            self._desk.tools()
            await self._start()
        except AgiError as error:
            await error_answer(error)(scope, receive, send)
            return
        serving = asyncio.ensure_future(self._manager.handle_request(scope, receive, send))
        try:
            await first_of(serving, self._shared.stopped)
            await asyncio.wait({serving}, timeout=LEAVE_S)
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
        if not serving.cancelled():
            serving.result()

    async def _start(self) -> None:
        if self._shared.stopped.done():
            raise Unavailable("The daemon is shutting down.", hint="Try again in a moment.")
        if self._ready is None or (self._ready.done() and self._ready.exception() is not None):
            self._ready = asyncio.get_running_loop().create_future()
            self._keeper = asyncio.create_task(self._keep(self._ready), name="MCP server")
        await asyncio.shield(self._ready)

    async def _keep(self, ready: asyncio.Future[None]) -> None:
        """Hold the clients' connections, in one task as the SDK wants it, until the daemon stops."""
        try:
            await asyncio.to_thread(load_sdk)
            self._manager = _manager(self._make(self._desk))
            async with self._manager.run():
                ready.set_result(None)
                await asyncio.wait({self._shared.stopped})
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)


def _manager(server: Server[Any]) -> Any:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # late: see load_sdk

    from agi.server.mcp_store import Sent

    class Manager(StreamableHTTPSessionManager):
        """Keeps what was sent apart by session, so that nobody is repeated what another client was told."""

        def _admit_session(self, requestor: Any) -> Any:
            self.event_store = Sent()
            return super()._admit_session(requestor)

    return Manager(server, retry_interval=RETRY_MS, session_idle_timeout=IDLE_S, max_sessions=MOST_SESSIONS)
