"""A server that is a program: started by the one launcher, talked to over its input and output, ended with its group.

The SDK's own way to do this has no bound on what is read and no end for what a server leaves behind. Here the process
ends with the daemon, however that ends, and nothing it prints can break the conversation. May import: sandbox,
workspace, mcp.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agi.mcp.base import LARGEST_MESSAGE, Server, ServerFailed
from agi.mcp.lines import Lines, Said, answered
from agi.workspace.children import Channel
from agi.workspace.launching import Launched, launch

if TYPE_CHECKING:
    from agi.sandbox.cell import Cell

LEAVE_S = 0.3
"""How long a server may take to end by itself once its input has ended."""
GRACE_S = 0.5
MOST_WAITING = 20_000
"""How many messages may lie unread; a server that sends more is ended."""
_FOREVER = 10.0**9


class StdioLine:
    """The two streams a session reads and writes, and the process behind them."""

    def __init__(self, server: Server, said: Said) -> None:
        import anyio  # late: comes with the SDK

        self._server = server
        self._said = said
        self.reason = ""
        """Why it is over, for people."""
        self.pid: int | None = None
        self.ended = asyncio.Event()
        self._in, self.read = anyio.create_memory_object_stream[Any](math.inf)
        self.write, self._out = anyio.create_memory_object_stream[Any](math.inf)
        self._lines = Lines(self._hear, self._too_long)
        self._launched: Launched | None = None

    @asynccontextmanager
    async def opened(self, cell: Cell, env: Mapping[str, str], cwd: Path) -> AsyncIterator[None]:
        """Start the process; when this ends, so has everything it started."""
        theirs, ours = os.pipe()
        try:
            os.set_blocking(ours, False)
            try:
                self._launched = await launch(
                    self._server.argv, cwd=cwd, env=env, on_bytes=self._take, stdin=theirs, cell=cell
                )
            finally:
                os.close(theirs)
            self.pid = self._launched.pid
            tasks = [asyncio.create_task(self._watch()), asyncio.create_task(self._feed(ours))]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            os.close(ours)
            if self._launched is not None:
                await self._end(self._launched)
            for stream in (self._in, self.read, self.write, self._out):
                stream.close()

    async def _end(self, launched: Launched) -> None:
        """Its input has ended: most servers go by themselves then; whoever stays is made to."""
        try:
            with suppress(Exception):
                await launched.child.exited_within(LEAVE_S)
            await launched.end(GRACE_S)
        finally:
            launched.close()

    async def _watch(self) -> None:
        launched = self._launched
        assert launched is not None  # noqa: S101 - started before
        try:
            await launched.child.exited_within(_FOREVER)
            await launched.child.over_within(GRACE_S)
        except Exception as error:
            self.reason = self.reason or f"what it wrote could not be read: {error}"
        code, signal = launched.ending()
        self.reason = self.reason or (f"it was ended by {signal}" if signal else f"it ended with exit code {code}")
        self._in.close()
        self.ended.set()

    async def _feed(self, pipe: int) -> None:
        """Write what the session sends; a server that does not read makes only this wait."""
        loop = asyncio.get_running_loop()
        async for item in self._out:
            text: str = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            left = memoryview(text.encode(errors="replace") + b"\n")
            while left:
                try:
                    left = left[os.write(pipe, left) :]
                except BlockingIOError:
                    await _writable(loop, pipe)
                except OSError:
                    return  # it is gone, or listens no more; whoever waits hears of its end

    def _take(self, channel: Channel, data: bytes) -> None:
        if channel == "stderr":
            self._said.add(data)
        else:
            self._lines.add(data)

    def _hear(self, line: bytes) -> None:
        from mcp.shared.message import SessionMessage  # late: see sdk.py
        from mcp_types import jsonrpc_message_adapter

        try:
            message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError:
            self._no_message(line)
            return
        self._give(message)

    def _no_message(self, line: bytes) -> None:
        if line.lstrip().startswith(b"{") and (call := answered(line)) is not None:
            self._answer(call, "its answer cannot be read")
        else:
            self._said.note(line)

    def _too_long(self, call: int | None) -> None:
        if call is not None:
            self._answer(call, f"its answer is larger than {LARGEST_MESSAGE:,} bytes")
        else:
            self._stop(f"it wrote a line of more than {LARGEST_MESSAGE:,} bytes")

    def _answer(self, call: int, why: str) -> None:
        """Answer in the server's place, so that the call fails at once and the server can go on."""
        from mcp.shared.message import SessionMessage  # late: see sdk.py
        from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError

        error = ErrorData(code=INTERNAL_ERROR, message=why)
        self._give(SessionMessage(JSONRPCError(jsonrpc="2.0", id=call, error=error)))

    def _give(self, message: object) -> None:
        import anyio  # late: comes with the SDK

        if self._in.statistics().current_buffer_used >= MOST_WAITING:
            self._stop(f"it sent more than {MOST_WAITING:,} messages at once")
            return
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._in.send_nowait(message)

    def _stop(self, why: str) -> None:
        self.reason = self.reason or why
        if self._launched is not None:
            self._launched.stop()


async def _writable(loop: asyncio.AbstractEventLoop, pipe: int) -> None:
    ready = asyncio.Event()
    loop.add_writer(pipe, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(pipe)


def refuse_missing(server: Server, env: Mapping[str, str]) -> None:
    """Say it plainly where there is no such program; otherwise only an exit code would tell."""
    from agi.workspace.processes import find_program  # late: with the rest of the launcher

    program = server.argv[0]
    there = os.path.exists(program) if "/" in program else find_program(program, env.get("PATH", ""))
    if not there:
        hint = f"Install it, or correct the command in {server.file}."
        raise ServerFailed(f"There is no program {program!r}.", hint=hint, code="mcp_program_missing")
