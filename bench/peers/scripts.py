"""Programs of a few lines around a library, run as a peer: once, or for many sessions over stdio.

A script takes the provider's URL and, to be a server, `--serve`: then each line it reads names a session in which one
turn is wanted, and it prints that line again when the turn is over.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from bench.peers import talking
from bench.peers.base import Ground, Shows

FOLDER = Path(__file__).parent / "programs"


class _Serving:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.pid = process.pid
        self._process = process
        self._numbers = count(1)
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := (await self._process.stdout.readline()).decode().strip():
            if (waiting := self._waiting.pop(line, None)) is not None:
                waiting.set_result(None)
        for waiting in self._waiting.values():
            waiting.set_exception(RuntimeError("it ended"))

    async def session(self) -> str:
        return f"session{next(self._numbers)}"

    async def turn(self, session: str) -> None:
        assert self._process.stdin is not None
        self._waiting[session] = asyncio.get_running_loop().create_future()
        self._process.stdin.write(session.encode() + b"\n")
        await asyncio.wait_for(self._waiting[session], talking.PATIENCE_S)


class Script:
    """One of the programs in the folder beside, run by a Python that has its library."""

    program: str
    shows: Shows = "as it comes"
    keeps = False

    def __init__(self) -> None:
        self._url = ""

    def python(self) -> str:
        """The interpreter it is run by."""
        return sys.executable

    def settle(self, ground: Ground, url: str) -> None:
        self._url = url

    def start(self) -> tuple[str, ...]:
        return self.python(), str(FOLDER / self.program), "--version"

    def one_shot(self, ground: Ground) -> tuple[str, ...]:
        return self.python(), str(FOLDER / self.program), self._url

    @asynccontextmanager
    async def serve(self, ground: Ground) -> AsyncIterator[_Serving]:
        async with talking.started((*self.one_shot(ground), "--serve"), ground.env, ground.project) as process:
            await talking.line_with(process, "ready")
            yield _Serving(process)
