"""Daemons forked from a process that has everything loaded: that is most of what a start costs, and not what is tried.

What is forked runs the command line from its beginning, as a process of its own, on nothing but its folder. Run as
`python -m tests.torture.forked`, it takes orders on standard input, a socket, and answers each with a pid.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys

ROOMS = (
    *("checkpoints", "cli.serve", "context", "eventlog", "jobs", "loop", "models"),
    *("net", "sandbox", "server", "sessions", "tools", "views"),
)
"""What a busy daemon uses."""


class Stock:
    """The process that daemons are forked from."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
        command = (sys.executable, "-m", "tests.torture.forked")
        with theirs:
            self._process = subprocess.Popen(command, stdin=theirs, env=env)
        self._socket.recv(16)  # it has loaded all there is

    async def fork(self, argv: list[str], env: dict[str, str], stderr: int) -> Forked:
        """Start a command line in a process of its own."""
        reading, writing = os.pipe()
        try:
            socket.send_fds(self._socket, [json.dumps({"argv": argv, "env": env}).encode()], [writing, stderr])
        finally:
            os.close(writing)
        return await Forked.of(int(self._socket.recv(16)), reading)

    def close(self) -> None:
        """Fork no more."""
        self._socket.close()
        self._process.wait()


class Forked:
    """One that was forked, as `asyncio` has processes."""

    def __init__(self, pid: int, stdout: asyncio.StreamReader) -> None:
        self.pid = pid
        self.stdout = stdout
        self._pidfd = os.pidfd_open(pid)

    @classmethod
    async def of(cls, pid: int, reading: int) -> Forked:
        """The process, and what it says."""
        said = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(said)
        made = cls(pid, said)
        made._pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(reading, "rb"))
        return made

    _pipe: asyncio.ReadTransport

    def send_signal(self, number: int) -> None:
        """Unlike a pid, a handle is never another process's."""
        signal.pidfd_send_signal(self._pidfd, number)

    async def wait(self) -> None:
        """Return when it is dead, and let go of it."""
        loop = asyncio.get_running_loop()
        dead = loop.create_future()
        loop.add_reader(self._pidfd, lambda: dead.done() or dead.set_result(None))
        await dead
        loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._pipe.close()


def load() -> None:
    """Load all that a daemon at work would, so that those that are forked need not."""
    importlib.import_module("uvloop")
    for room in ROOMS:
        found = importlib.import_module(f"agi.{room}")
        for one in pkgutil.iter_modules(getattr(found, "__path__", ())):
            with contextlib.suppress(ImportError):  # what is not installed here, no daemon uses
                importlib.import_module(f"{found.__name__}.{one.name}")


def main(orders: socket.socket) -> None:
    """Fork as ordered, until nobody orders any more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system buries them
    load()
    orders.send(b"ready")
    while True:
        order, descriptors, *_ = socket.recv_fds(orders, 65536, 2)
        if not order:
            return
        pid = os.fork()
        if not pid:
            _become(orders, *descriptors, **json.loads(order))
        for descriptor in descriptors:
            os.close(descriptor)
        orders.send(str(pid).encode())


def _become(orders: socket.socket, stdout: int, stderr: int, argv: list[str], env: dict[str, str]) -> None:
    """Be that command line and nothing else."""
    orders.close()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor, number in ((stdout, 1), (stderr, 2), (nothing, 0)):
        os.dup2(descriptor, number)
    os.closerange(3, 64)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(env)
    from agi.cli.main import main as agi

    os._exit(agi(argv))


if __name__ == "__main__":
    main(socket.socket(fileno=0))
