"""`agi mcp serve`: the same MCP server over standard input and output, for a client that starts its servers.

Where a daemon runs, its tools are offered and each call goes to its `/mcp`: what is begun there goes on when the client
leaves. Else the harness runs in this process, as for a one-shot, until the client leaves. Standard output carries the
protocol and nothing else. May import: errors, config, workspace, sessions,
server.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from agi.config.daemon import DaemonRecord
from agi.errors import Unavailable
from agi.models.base import Model
from agi.sandbox.survivors import CHILD_MARKER
from agi.server.mcp import load_sdk
from agi.server.mcp_desk import Desk, Progress
from agi.server.mcp_tools import TOOLS
from agi.server.routes import MCP_PATH
from agi.sessions.harness import Harness, HarnessSettings

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.client.session import ClientSession
    from pydantic import TypeAdapter

    from agi.server.mcp_server import Request, Result

VERSION = "2026-07-28"
"""The revision spoken to the daemon: each call stands by itself, so that a daemon may come and go between two."""
CONNECT_S = 5.0
_END = (-1.0, "")


class StdioSettings(Struct, frozen=True, kw_only=True):
    """Whose agents are offered."""

    project: Path
    home_config: Path
    env: Mapping[str, str]


async def serve(
    settings: StdioSettings,
    find: Callable[[], DaemonRecord | None],
    say: Callable[[str], None],
    *,
    stand_in: Model | None = None,
) -> None:
    """Serve until the client closes our input; `say` tells a person where. Raises what keeps it from starting."""
    load_sdk()
    from mcp.server.stdio import stdio_server  # late: see load_sdk

    from agi.server.mcp_server import OwnTools, make_server

    # A command of an agent has no user to ask: it would answer its own question.
    asks = CHILD_MARKER not in settings.env
    daemon = find()
    where = daemon.url if daemon else "this process (with `agi serve`, agents work on when the client leaves)"
    async with stdio_server() as (read, write):
        say(f"Serving the agents of {settings.project}, by {where}.")
        if daemon is not None:
            server = make_server(DaemonTools(find), asks=asks)
            await server.run(read, write, server.create_initialization_options())
            return
        harness = _harness(settings, stand_in)
        if harness.rebuilt is not None:
            say(f"note: {harness.rebuilt.told()}")
        try:
            await harness.own_log()
            server = make_server(OwnTools(Desk(harness, TOOLS)), asks=asks)
            await server.run(read, write, server.create_initialization_options())
        finally:
            await harness.close()


def _harness(settings: StdioSettings, stand_in: Model | None) -> Harness:
    told = HarnessSettings(project=settings.project, home_config=settings.home_config, env=settings.env)
    return Harness(told, stand_in=stand_in)


class DaemonTools:
    """The tools of a running daemon, found anew for each call."""

    def __init__(self, find: Callable[[], DaemonRecord | None]) -> None:
        self._find = find

    async def listed(self) -> Sequence[types.Tool]:
        """What the daemon offers."""
        async with self._session(can_ask=False) as session:
            return (await session.list_tools()).tools

    async def call(self, request: Request) -> Result:
        """Have the daemon do it; a question comes back as its result."""
        import httpx2  # late, like all of them: see load_sdk
        import mcp_types as types
        from mcp.shared.exceptions import MCPError

        from agi.server.mcp_server import refused

        heard: asyncio.Queue[tuple[float, str]] = asyncio.Queue()

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            heard.put_nowait((progress, message or ""))  # without waiting: the answer may be right behind it

        params = types.CallToolRequestParams(
            name=request.name,
            arguments=request.arguments,
            input_responses=request.responses,
            request_state=request.state,
        )
        problem: MCPError | None = None
        telling = asyncio.create_task(_tell(heard, request.progress), name="progress")
        try:
            async with self._session(can_ask=request.can_ask) as session:
                try:
                    answer: Result = await session.send_request(
                        types.CallToolRequest(params=params), _shape(), progress_callback=hear
                    )
                    return answer
                except MCPError as error:  # caught here: outside it comes in a group
                    problem = error
        except Unavailable as error:
            return refused(error)
        except (httpx2.HTTPError, ExceptionGroup):
            return refused(_gone())
        finally:
            heard.put_nowait(_END)
            await telling
        if problem is None or problem.code == types.CONNECTION_CLOSED:
            return refused(_gone())
        raise problem

    @asynccontextmanager
    async def _session(self, *, can_ask: bool) -> AsyncIterator[ClientSession]:
        import httpx2  # late: comes with the SDK
        from mcp.client.client import Client
        from mcp.client.streamable_http import streamable_http_client

        daemon = self._find()
        if daemon is None:
            raise _gone()
        headers = {"Authorization": f"Bearer {daemon.token}"}
        timeout = httpx2.Timeout(CONNECT_S, read=None)
        async with httpx2.AsyncClient(
            headers=headers, timeout=timeout, verify=_certificates(), trust_env=False
        ) as http:
            transport = streamable_http_client(daemon.url + MCP_PATH, http_client=http)
            async with Client(transport, mode=VERSION, elicitation_callback=_passed_on if can_ask else None) as client:
                yield client.session


@cache
def _certificates() -> ssl.SSLContext:
    """Made once: it takes longer than a whole call."""
    return ssl.create_default_context()


@cache
def _shape() -> TypeAdapter[Any]:
    """What an answer may be; made once, too."""
    import mcp_types as types  # late: see load_sdk
    from pydantic import TypeAdapter

    return TypeAdapter(types.CallToolResult | types.InputRequiredResult)


async def _tell(heard: asyncio.Queue[tuple[float, str]], progress: Progress) -> None:
    """Hand on how a call goes, to its end."""
    while (one := await heard.get()) is not _END:
        await progress(*one)


def _gone() -> Unavailable:
    return Unavailable("The daemon is gone.", code="no_daemon", hint="Start it with `agi serve`; what ran goes on.")


async def _passed_on(context: Any, params: Any) -> Any:
    """Never called: questions come as results, and are handed on to whoever can ask."""
    raise Unavailable("A question came in the middle of a call.", hint="Is it a daemon of this version?")
