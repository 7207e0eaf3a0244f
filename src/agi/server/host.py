"""The server: listens on one socket, has connections made and requests answered, and stops when it is told to.

What happens on a connection is said in `server/connection.py` and `server/limits.py`. May import: server.asgi,
server.exchange, server.listening.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

from agi.server.asgi import ASGIApp
from agi.server.exchange import Clock, Exchange
from agi.server.listening import BACKLOG

KEEP_ALIVE_S = 75.0
"""How long a connection may rest between two requests."""
GRACE_S = 5.0
"""How long answers that are under way have at the end."""
_LOOK_S = 0.02
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Server:
    """A server for one application, from `serve` until `should_exit`."""

    def __init__(self, app: ASGIApp, sock: socket.socket, connect: Callable[[Server], asyncio.Protocol]) -> None:
        self.app = app
        self.sock = sock
        self.connections: set[Any] = set()
        """Those that are open, WebSockets among them; each can `shutdown`."""
        self.tasks: set[asyncio.Task[None]] = set()
        """The requests that are being answered."""
        self.servers: list[asyncio.Server] = []
        self.clock = Clock()
        self.keep_alive_s = KEEP_ALIVE_S
        self.grace_s = GRACE_S
        self.force_exit = False
        """Whether the end waits for nobody."""
        self.on_started: Callable[[], None] = lambda: None
        """Called once it answers."""
        self.on_signal: Callable[[], object] = lambda: None
        """Called when the process is asked to end, in the middle of whatever it does."""
        self._connect = connect
        self._exit = asyncio.Event()

    @property
    def started(self) -> bool:
        """Whether it listens."""
        return bool(self.servers)

    @property
    def should_exit(self) -> bool:
        """Whether it was told to stop; set it on the event loop."""
        return self._exit.is_set()

    @should_exit.setter
    def should_exit(self, told: bool) -> None:
        if told:
            self._exit.set()

    def answer(self, exchange: Exchange) -> None:
        """Have a request answered."""
        task = asyncio.get_running_loop().create_task(exchange.run(self.app))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def serve(self) -> None:
        """Serve until told to exit."""
        loop = asyncio.get_running_loop()
        # It listens again, so it must be told how many may wait.
        self.servers = [await loop.create_server(lambda: self._connect(self), sock=self.sock, backlog=BACKLOG)]
        with _on_signals(lambda number, frame: self.on_signal()):
            self.on_started()
            await self._exit.wait()
            await self._shut_down()

    async def _shut_down(self) -> None:
        for listener in self.servers:
            listener.close()
        for connection in list(self.connections):
            connection.shutdown()
        until = asyncio.get_running_loop().time() + self.grace_s
        while (self.connections or self.tasks) and not self.force_exit:
            if asyncio.get_running_loop().time() > until:
                for task in self.tasks:
                    task.cancel()
                return
            await asyncio.sleep(_LOOK_S)


@contextlib.contextmanager
def _on_signals(tell: Callable[[int, object], object]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, tell) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
