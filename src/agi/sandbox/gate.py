"""The gate in a wall without doors: a listening socket that was made inside a sandbox and is served by the daemon.

A socket belongs to the network it was made in, whoever holds it. A small program makes one on the sandbox's own
loopback and hands it out; nothing else of the daemon is reachable from inside, and nothing of ours stays there. May
import: sandbox.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from agi.sandbox.base import Confinement
from agi.sandbox.hosts import Hosts
from agi.sandbox.proxy import LONGEST_HEAD, Proxy
from agi.sandbox.wrapped import Wrapped

SHIM = Path(__file__).with_name("shim.py")
PORT = 3128
"""Where the proxy is, on a loopback that is the command's alone."""


class Gate:
    """Waits for the door from inside, then serves it until the command is over."""

    def __init__(self, proxy: Proxy, wrapped: Wrapped) -> None:
        self._proxy = proxy
        self._ours, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.setblocking(False)
        self.channel = inner.fileno()
        """The descriptor on which the door is handed out."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        wrapped.pass_fds.append(self.channel)
        wrapped.until_started.callback(inner.close)
        wrapped.until_over.callback(self._close)
        wrapped.on_start.append(self._open)
        wrapped.notes.append(proxy.notes)
        wrapped.env.update(_variables())

    def through(self, argv: Sequence[str]) -> list[str]:
        """The command behind the door; -I and -S keep the workspace and the environment out of who makes it."""
        return [sys.executable, "-I", "-S", str(SHIM), str(PORT), str(self.channel), *argv]

    def _open(self, pid: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._ours, self._take)

    def _take(self) -> None:
        """The door has come, or the command ended without."""
        self._stop_waiting()
        with suppress(OSError):
            _, fds, _, _ = socket.recv_fds(self._ours, 1, 1)
            if fds:
                door = socket.socket(fileno=fds[0])
                self._task = asyncio.get_running_loop().create_task(self._serve(door))

    async def _serve(self, door: socket.socket) -> None:
        with suppress(OSError):
            async with await asyncio.start_server(self._proxy.accept, sock=door, limit=LONGEST_HEAD) as server:
                await server.serve_forever()

    def _stop_waiting(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self._ours)
            self._loop = None

    def _close(self) -> None:
        self._stop_waiting()
        if self._task is not None:
            self._task.cancel()
        self._proxy.close()
        self._ours.close()


def open_gate(wrapped: Wrapped, confinement: Confinement) -> Gate:
    """A gate for a command, through which the hosts it may reach are reached."""
    return Gate(Proxy(Hosts(confinement.hosts, confinement.denied_hosts)), wrapped)


def _variables() -> dict[str, str]:
    url = f"http://127.0.0.1:{PORT}"
    none = "localhost,127.0.0.1,::1"
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), url)
    return {**proxies, "NO_PROXY": none, "no_proxy": none, "NODE_USE_ENV_PROXY": "1"}
