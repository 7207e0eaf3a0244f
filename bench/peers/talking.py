"""Ways in which peers that run on are spoken to: HTTP, or lines of JSON over stdio. Drivers say what is said."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from agi.net.http import HttpClient
from bench.peers.costs import OWN

PATIENCE_S = 120.0
ENDING_S = 3.0


@asynccontextmanager
async def started(
    command: tuple[str, ...], env: dict[str, str], cwd: Path, *, merged: bool = False
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process with stdin and stdout to talk to; ended with everything it started."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env=env,
        cwd=cwd,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT if merged else asyncio.subprocess.DEVNULL,
        limit=64 * 1024 * 1024,
        start_new_session=True,
    )
    OWN.add(process.pid)
    try:
        yield process
    finally:
        await _end(process)
        OWN.discard(process.pid)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask its whole group to end, wait a little, then insist."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
            await asyncio.wait_for(process.wait(), ENDING_S)
        except (ProcessLookupError, TimeoutError):
            pass
    transport = process._transport  # type: ignore[attr-defined]  # there is no other way to close its pipes
    transport.close()
    await asyncio.sleep(0)


async def line_with(process: asyncio.subprocess.Process, words: str) -> str:
    """The first line it prints that has these words; raises RuntimeError if it ends or takes too long before that."""
    assert process.stdout is not None
    seen: list[str] = []
    async with asyncio.timeout(PATIENCE_S):
        while line := (await process.stdout.readline()).decode(errors="replace"):
            seen.append(line.strip())
            if words in line:
                return line
    raise RuntimeError(f"it ended before it was ready: {' '.join(seen)[-200:]}")


async def drain(process: asyncio.subprocess.Process) -> None:
    """Read what it prints and forget it, so that it never waits for us."""
    assert process.stdout is not None
    while await process.stdout.read(65536):
        pass


class Http:
    """Posts JSON, gets JSON."""

    def __init__(self, url: str, token: str = "") -> None:
        self._url = url
        self._headers = {"content-type": "application/json"}
        if token:
            self._headers["authorization"] = f"Bearer {token}"
        self._client = HttpClient()

    async def __aenter__(self) -> Http:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.__aexit__(None, None, None)

    async def post(self, path: str, body: object) -> object:
        """Raises RuntimeError unless it went well."""
        data = json.dumps(body).encode()
        async with await self._client.request("POST", self._url + path, headers=self._headers, body=data) as response:
            said = await response.read()
            if response.status >= 300:
                raise RuntimeError(f"{path} answered {response.status}: {said[:200]!r}")
            return json.loads(said) if said else None


class Lines:
    """Lines of JSON over stdio: what answers which request, and what is told without being asked."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._answers: dict[object, asyncio.Future[dict[str, object]]] = {}
        self.told: asyncio.Queue[dict[str, object]] = asyncio.Queue()
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            try:
                said = json.loads(line)
            except ValueError:
                continue
            waiting = self._answers.pop(said.get("id"), None) if "method" not in said else None
            if waiting is None:
                self.told.put_nowait(said)
            elif not waiting.done():
                waiting.set_result(said)
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(RuntimeError("it ended"))

    def say(self, what: dict[str, object]) -> None:
        """One line to it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what).encode() + b"\n")

    async def ask(self, number: object, what: dict[str, object]) -> dict[str, object]:
        """Say it and wait for what answers this number."""
        self._answers[number] = asyncio.get_running_loop().create_future()
        self.say({"id": number, **what})
        async with asyncio.timeout(PATIENCE_S):
            return await self._answers[number]

    def close(self) -> None:
        """Stop listening."""
        self._task.cancel()
