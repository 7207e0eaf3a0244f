"""One connection to one server: opened within a time, asked, and closed with everything behind it.

A task of its own holds the SDK's session, since that must be left where it was entered; requests come from anywhere.
What a server asks of us (to sample a model, to question the user) is refused by the session. Starting again is
`running`'s business. May import: errors, sandbox, mcp.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import Struct

from agi import __version__
from agi.errors import AgiError
from agi.mcp.base import Offer, Server, ServerFailed
from agi.mcp.defining import RawTool, clean, define
from agi.mcp.http import Refusals, http_streams
from agi.mcp.lines import Said
from agi.mcp.listing import list_tools
from agi.mcp.stdio import StdioLine, refuse_missing

if TYPE_CHECKING:
    from mcp.client.session import ClientSession
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

    from agi.sandbox.cell import Cell

T = TypeVar("T")
LEAVE_S = 3.0
_LAST_WORDS_S = 1.0


class Progress(Protocol):
    """Who is told how far a call has come."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take one notification."""


class Place(Struct, frozen=True, kw_only=True):
    """Where a server runs."""

    cwd: Path
    cell: Callable[[Server], Cell]
    env: Mapping[str, str]
    """What every program gets that is started here; a server's own variables come on top."""
    proxies: Mapping[str, str]
    """The user's environment, by which the way to an address is chosen."""


class Connection:
    """A server that is there; made by `open`, and to be closed."""

    def __init__(self, server: Server, place: Place, said: Said) -> None:
        self.server = server
        self.stale = False
        """Whether the server said that its list of tools is another now."""
        self.over = asyncio.Event()
        self.pid: int | None = None
        self._place = place
        self._said = said
        self._refusals = Refusals()
        self._reason = ""
        self._line: StdioLine | None = None
        self._session: ClientSession | None = None
        self._dispatcher: JSONRPCDispatcher[Any] | None = None
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._keeper: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Start or reach the server; raises ServerFailed, and leaves nothing behind then."""
        self._keeper = asyncio.create_task(self._keep(), name=f"MCP server {self.server.name}")
        try:
            async with asyncio.timeout(self.server.start_s):
                await asyncio.shield(self._ready)
        except TimeoutError:
            await self.close()
            raise ServerFailed(
                f"{self.server.name} did not answer within {self.server.start_s:g} s of its start.",
                hint=f"`agi mcp test {self.server.name}` tries again; `startTimeoutMs` gives it more time.",
                code="mcp_start_timeout",
            ) from None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End it, and wait until nothing of it is left; again it does nothing."""
        self._stop.set()
        keeper = self._keeper
        if keeper is None:
            return
        if not self._ready.done() or self._ready.cancelled():
            keeper.cancel()
        done, _ = await asyncio.wait({keeper}, timeout=LEAVE_S)
        if not done:
            keeper.cancel()
            await asyncio.wait({keeper}, timeout=LEAVE_S)
        if self._ready.done() and not self._ready.cancelled():
            self._ready.exception()

    async def offer(self) -> Offer:
        """Everything the server offers, checked."""
        self.stale = False
        session = self._open_session()
        can = session.server_capabilities
        tools: list[RawTool] = []
        if can is None or can.tools is not None:
            async with asyncio.timeout(self.server.start_s):
                tools = await list_tools(session, self._dispatcher)
        return define(
            tools,
            resources=bool(can and can.resources is not None),
            prompts=bool(can and can.prompts is not None),
        )

    async def call(self, tool: str, arguments: dict[str, Any], progress: Progress) -> Any:
        """Call a tool; what its answer means is `results`' business. The answer is not checked against a schema of the
        server's own: its patterns could take for ever."""
        import mcp_types as types  # late: see sdk.py
        from pydantic import TypeAdapter

        request = types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=arguments))
        shape: TypeAdapter[Any] = TypeAdapter(types.CallToolResult | types.InputRequiredResult)
        return await self._ask(
            lambda session: session.send_request(
                request,
                shape,
                request_read_timeout_seconds=self.server.call_s,
                progress_callback=progress,
            )
        )

    async def ask(self, request: Callable[[ClientSession], Awaitable[T]]) -> T:
        """Any other request, within the time of a call."""
        try:
            async with asyncio.timeout(self.server.call_s):
                return await self._ask(request)
        except TimeoutError:
            raise self._too_late() from None

    async def _ask(self, request: Callable[[ClientSession], Awaitable[T]]) -> T:
        from mcp.shared.exceptions import MCPError  # late: see sdk.py
        from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
        from pydantic import ValidationError

        session = self._open_session()
        try:
            return await request(session)
        except MCPError as error:
            if error.code == REQUEST_TIMEOUT:
                raise self._too_late() from error
            if error.code == CONNECTION_CLOSED:
                raise await self._gone() from error
            raise self._refused(error.message) from error
        except ValidationError as error:
            raise ServerFailed(f"{self.server.name} gave an answer that does not fit the protocol.") from error

    def _refused(self, message: str) -> ServerFailed:
        why, hint = self._refusals.why(self.server), self._refusals.hint(self.server)
        if message == "Session terminated":
            self._stop.set()
            return ServerFailed(f"{self.server.name} has forgotten the session.", code="mcp_session_lost")
        return ServerFailed(
            f"{self.server.name} refuses it: {why}." if why else f"{self.server.name} says: {clean(message, 2_000)}",
            hint=hint,
            code="mcp_unauthorized" if hint else "mcp_error",
        )

    def _too_late(self) -> ServerFailed:
        return ServerFailed(
            f"{self.server.name} did not answer within {self.server.call_s:g} s; it was told to stop.",
            hint=f"`timeoutMs` in {self.server.file} gives it more time.",
            code="mcp_call_timeout",
        )

    async def _gone(self) -> ServerFailed:
        with suppress(TimeoutError):  # how it ended is known a moment later
            async with asyncio.timeout(_LAST_WORDS_S):
                await self.over.wait()
        said = f" It said: {clean(self._said.text()[-500:], 500)}" if self._said.text() else ""
        return ServerFailed(f"{self.server.name} is gone: {self.why}.{said}", code="mcp_gone")

    @property
    def why(self) -> str:
        """Why it is over, for people."""
        return self._why() or "the connection was closed"

    def _why(self) -> str:
        return self._refusals.why(self.server) or (self._line.reason if self._line else "") or self._reason

    def _open_session(self) -> ClientSession:
        if self._session is None or self.over.is_set():
            raise ServerFailed(f"{self.server.name} is gone: {self.why}.", code="mcp_gone")
        return self._session

    async def _keep(self) -> None:
        """Hold everything open until it is over, whoever ends it."""
        try:
            async with AsyncExitStack() as stack:
                await self._enter(stack)
                self._ready.set_result(None)
                await self._until_over()
        except (Exception, asyncio.CancelledError) as problem:
            self._reason = self._reason or _in_words(problem)
            self._fail(problem)
        finally:
            self.over.set()

    async def _enter(self, stack: AsyncExitStack) -> None:
        import mcp_types as types  # late: see sdk.py
        from mcp.client.session import ClientSession
        from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

        read, write = await self._streams(stack)
        self._dispatcher = JSONRPCDispatcher(read, write)
        self._session = await stack.enter_async_context(
            ClientSession(
                dispatcher=self._dispatcher,
                message_handler=self._hear,
                client_info=types.Implementation(name="agi", version=__version__),
            )
        )
        await self._greet(self._session)

    async def _streams(self, stack: AsyncExitStack) -> tuple[Any, Any]:
        if self.server.transport == "http":
            return await stack.enter_async_context(http_streams(self.server, self._place.proxies, self._refusals))
        env = {**self._place.env, **self.server.env}
        refuse_missing(self.server, env)
        self._line = StdioLine(self.server, self._said)
        await stack.enter_async_context(self._line.opened(self._place.cell(self.server), env, self._place.cwd))
        self.pid = self._line.pid
        return self._line.read, self._line.write

    async def _greet(self, session: ClientSession) -> None:
        """Agree on a version: by the handshake most servers know, else by the way the newest ones want it."""
        from mcp.shared.exceptions import MCPError  # late: see sdk.py
        from mcp_types import METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION

        try:
            await session.initialize()
        except MCPError as error:
            if error.code not in (METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION) or self._refusals.hint(self.server):
                raise
            await session.discover()

    async def _until_over(self) -> None:
        waiting = [asyncio.create_task(self._stop.wait())]
        if self._line is not None:
            waiting.append(asyncio.create_task(self._line.ended.wait()))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()

    def _fail(self, problem: BaseException) -> None:
        if self._ready.done():
            return
        failure = _agi_error(problem)
        if failure is None:
            why, hint = self._why(), self._refusals.hint(self.server)
            said = f" It said: {clean(self._said.text()[-500:], 500)}" if self._said.text() else ""
            code = "mcp_unauthorized" if hint else "mcp_failed"
            failure = ServerFailed(f"{self.server.name} could not be started: {why}.{said}", hint=hint, code=code)
        self._ready.set_exception(failure)

    async def _hear(self, message: object) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            self.stale = True


def _agi_error(problem: BaseException) -> AgiError | None:
    if isinstance(problem, BaseExceptionGroup):
        return next((found for one in problem.exceptions if (found := _agi_error(one)) is not None), None)
    return problem if isinstance(problem, AgiError) else None


def _in_words(problem: BaseException) -> str:
    """The innermost cause, in one line."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    if isinstance(problem, asyncio.CancelledError):
        return "it was stopped"
    return clean(str(problem), 500).strip().rstrip(".") or type(problem).__name__
