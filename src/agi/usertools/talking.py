"""Talk with the program inside: start it in a cell, hand it one request, take one answer, and see it to its end.

The answer has a way of its own, a socket in the place of the program's input, so that nothing a tool prints can be
taken for it. Time, output and answer are bounded. May import: errors, sandbox, workspace.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from agi.errors import Unavailable
from agi.workspace.children import Channel
from agi.workspace.launching import launch, refuse_unstarted
from agi.workspace.processes import child_environment, see_through

if TYPE_CHECKING:
    from agi.sandbox.cell import Cell

INSIDE = Path(__file__).with_name("inside.py")
_LAST_WORDS_S = 0.5
_PIECE = 1 << 16
_HEAD = 4_096


class Limits(Struct, frozen=True, kw_only=True):
    """How long it may take, and how much it may say."""

    seconds: float
    output: int
    """Bytes it may print, both channels together, before it is stopped."""
    answer: int
    """Bytes of its answer."""


class Spoken(Struct, frozen=True, kw_only=True):
    """How it ended, and what it answered: a line of JSON, or nothing."""

    answer: bytes
    exit_code: int | None
    signal: str
    timed_out: bool
    flooded: bool
    leftovers: bool
    notes: tuple[str, ...]
    seconds: float

    def ending(self, limits: Limits) -> str:
        """How it ended, in words, where it gave no answer."""
        if self.flooded:
            return f"it was stopped: it printed more than {limits.output:,} bytes"
        if self.timed_out:
            return f"it was stopped after {limits.seconds:g} s"
        how = f"it was ended by {self.signal}" if self.signal else f"it ended with exit code {self.exit_code}"
        return "; ".join((f"{how}, without an answer", *self.notes))


async def talk(
    request: bytes, *, cwd: Path, cell: Cell | None, limits: Limits, on_bytes: Callable[[Channel, bytes], None]
) -> Spoken:
    """Have one request answered; canceling ends the program and all it started.

    Raises `Unavailable` if the sandbox cannot be started, not even when tried again; then nothing ran.
    """
    try:
        return await _talk_once(request, cwd=cwd, cell=cell, limits=limits, on_bytes=on_bytes)
    except Unavailable:  # as where the workspace changed while its sandbox was built
        return await _talk_once(request, cwd=cwd, cell=cell, limits=limits, on_bytes=on_bytes)


async def _talk_once(
    request: bytes, *, cwd: Path, cell: Cell | None, limits: Limits, on_bytes: Callable[[Channel, bytes], None]
) -> Spoken:
    loop = asyncio.get_running_loop()
    began = loop.time()
    heard = _Heard(on_bytes, limits.output)
    ours, theirs = socket.socketpair()
    with ours:
        ours.setblocking(False)
        with theirs:
            env = child_environment(os.environ, os.getpid())
            # Isolated from the environment and the folder; nothing is written beside what is imported.
            argv = [sys.executable, "-I", "-B", "-X", "utf8", str(INSIDE)]
            launched = await launch(argv, cwd=cwd, env=env, on_bytes=heard.take, stdin=theirs.fileno(), cell=cell)
        heard.stop = launched.stop
        asking = asyncio.create_task(_ask(ours, request, limits.answer), name="asking a user tool")
        try:
            timed_out, leftovers = await see_through(launched, limits.seconds)
            await asyncio.wait({asking}, timeout=_LAST_WORDS_S)
        finally:
            aftermath = launched.close()
            asking.cancel()
            (answer,) = await asyncio.gather(asking, return_exceptions=True)
    if not timed_out:
        refuse_unstarted(launched, heard.head.decode(errors="replace"))
    exit_code, signal_name = launched.ending()
    return Spoken(
        answer=answer if isinstance(answer, bytes) else b"",
        exit_code=exit_code,
        signal=signal_name,
        timed_out=timed_out,
        flooded=heard.left < 0,
        leftovers=leftovers or aftermath.leftovers,
        notes=aftermath.notes,
        seconds=loop.time() - began,
    )


async def _ask(ours: socket.socket, request: bytes, most: int) -> bytes:
    """Send the request, and take the first line that comes back; nothing if it is too long or does not come."""
    loop = asyncio.get_running_loop()
    answer = bytearray()
    try:
        await loop.sock_sendall(ours, request)
        ours.shutdown(socket.SHUT_WR)
        while piece := await loop.sock_recv(ours, _PIECE):
            answer += piece
            if piece.find(b"\n") >= 0:
                return bytes(answer.partition(b"\n")[0])
            if len(answer) > most:
                break
    except OSError:
        pass  # it is gone; how it ended says why
    return b""


class _Heard:
    """Passes on what is printed, and stops who prints too much."""

    def __init__(self, on_bytes: Callable[[Channel, bytes], None], most: int) -> None:
        self._on_bytes = on_bytes
        self.left = most
        self.head = b""
        self.stop: Callable[[], None] = lambda: None

    def take(self, channel: Channel, data: bytes) -> None:
        """Take the next bytes of a channel."""
        if channel == "stderr" and len(self.head) < _HEAD:
            self.head += data[: _HEAD - len(self.head)]
        if self.left < 0:
            return
        self.left -= len(data)
        self._on_bytes(channel, data)
        if self.left < 0:
            self.stop()
