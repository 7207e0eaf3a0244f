"""WebSockets by uvicorn: the parts of it that speak them, without its command line.

The package imports its command line on its own account: an option parser, reloading and worker processes, none of which
is ours. Its parts do not need that, so they are imported from a package whose own file has not run. Whoever asks the
package itself for anything (the MCP SDK might) gets all of it, as usual. May import: server.host.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from agi.server.host import Server as Host


def _bare_package(name: str) -> None:
    """Make `name` known with nothing in it but the way to its parts; its own file runs when something else is asked."""
    spec = importlib.util.find_spec(name)
    if name in sys.modules or spec is None or spec.loader is None:
        return
    package = importlib.util.module_from_spec(spec)
    loader = spec.loader

    def rest(wanted: str) -> object:
        del package.__dict__["__getattr__"]
        loader.exec_module(package)
        return getattr(package, wanted)

    package.__dict__["__getattr__"] = rest
    sys.modules[name] = package


_bare_package("uvicorn")

from uvicorn.config import Config  # noqa: E402  # only now
from uvicorn.protocols.utils import ClientDisconnected  # noqa: E402
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol  # noqa: E402
from uvicorn.server import Server, ServerState  # noqa: E402

vars(sys.modules["uvicorn"]).update(Config=Config, Server=Server)  # its other parts ask the package for these

__all__ = ["Config", "Server", "WebSockets"]


class WebSocket(WebSocketsSansIOProtocol):
    """One that keeps nothing for a client that does not read: no answers to its pings, and no end that waits for it."""

    def handle_ping(self) -> None:
        """Answer, unless the client does not take what it was sent before."""
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def keepalive_timeout(self) -> None:
        """The client shows no life: what it has not taken by now is for nobody."""
        super().keepalive_timeout()
        self.transport.abort()

    async def send(self, message: Any) -> None:
        """Say it; whoever goes on after the end hears, as after any other, that nobody listens."""
        await self.writable.wait()
        if self.close_sent:
            raise ClientDisconnected
        await super().send(message)
        self.handshake_complete = self.handshake_complete or self.close_sent  # a refusal is complete, too

    async def run_asgi(self) -> None:
        """Have the application talk; when it is done, the client has a moment to hear the rest of it."""
        await super().run_asgi()
        if not self.disconnected:
            self.loop.call_later(self.close_timeout, self.transport.abort)


class WebSockets:
    """The WebSockets of one server, counted and ended with its other connections."""

    def __init__(self, host: Host, max_message: int) -> None:
        self._host = host
        self._config = Config(
            cast(Any, host.app),
            http=asyncio.Protocol,
            ws=WebSocket,
            ws_max_size=max_message,
            ws_per_message_deflate=False,
            interface="asgi3",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            # Headers of a proxy would let any client choose the address it seems to come from.
            proxy_headers=False,
            server_header=False,
        )
        self._config.load()
        self._state = ServerState()
        self._state.connections, self._state.tasks = host.connections, host.tasks

    def protocol(self) -> WebSocket:
        """One of them, for a connection whose handshake it is to read."""
        self._state.default_headers = [(b"date", self._host.clock.date())]
        return WebSocket(self._config, self._state, {})
