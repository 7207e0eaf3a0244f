"""A server at an address: streamable HTTP by the SDK, over a client that bounds what comes and remembers refusals.

Redirects stay within the address's origin (the SDK sees to it), proxies are those of the environment, loopback never
uses one. Any address is fine, also of a private network: it is the user, or a project he trusts, who named it. May
import: errors, net, mcp.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from agi.errors import Invalid
from agi.mcp.base import LARGEST_MESSAGE, Server, ServerFailed
from agi.net.route import Proxies
from agi.net.url import split_url

if TYPE_CHECKING:
    import httpx2

CONNECT_S = 10.0
SILENCE_S = 300.0
"""How long an open stream may say nothing."""


class Refusals:
    """What the server's HTTP side last refused, for saying it in words; the SDK only says that it did."""

    def __init__(self) -> None:
        self.status = 0

    def why(self, server: Server) -> str:
        """In words; empty if it refused nothing."""
        if self.status in (401, 403):
            given = "the credential it was shown is not accepted, or has expired" if server.headers else "it wants one"
            return f"it answers with status {self.status}: {given}"
        return f"it answers with status {self.status}" if self.status >= 400 else ""

    def hint(self, server: Server) -> str:
        """What to do about it."""
        if self.status not in (401, 403):
            return ""
        return f'Set `headers` in {server.file}, such as "Authorization": "Bearer ${{MY_TOKEN}}", with a fresh token.'


@asynccontextmanager
async def http_streams(server: Server, env: Mapping[str, str], refusals: Refusals) -> AsyncIterator[tuple[Any, Any]]:
    """The two streams a session reads and writes."""
    from mcp.client.streamable_http import streamable_http_client  # late: see sdk.py

    async with (
        _client(server, env, refusals) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=LARGEST_MESSAGE) as streams,
    ):
        yield streams


def _client(server: Server, env: Mapping[str, str], refusals: Refusals) -> httpx2.AsyncClient:
    import httpx2  # late: comes with the SDK

    class Bounded(httpx2.AsyncByteStream):
        """A body that is not endless."""

        def __init__(self, body: Any, most: int | None) -> None:
            self._body = body
            self._most = most

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in self._body:
                size += len(piece)
                if self._most is not None and size > self._most:
                    raise httpx2.StreamError(f"its answer is larger than {self._most:,} bytes")
                yield piece

        async def aclose(self) -> None:
            await self._body.aclose()

    class Watched(httpx2.AsyncHTTPTransport):
        """Notes what is refused, and bounds every body that is no stream of events, whose events the SDK bounds."""

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            response = await super().handle_async_request(request)
            if request.method == "POST":
                refusals.status = response.status_code
            events = response.headers.get("content-type", "").startswith("text/event-stream")
            response.stream = Bounded(response.stream, None if events else LARGEST_MESSAGE)
            return response

    transport = Watched(verify=ssl.create_default_context(), proxy=_proxy(server, env), trust_env=False)
    timeout = httpx2.Timeout(CONNECT_S, read=SILENCE_S)
    return httpx2.AsyncClient(headers=dict(server.headers), transport=transport, timeout=timeout, trust_env=False)


def _proxy(server: Server, env: Mapping[str, str]) -> httpx2.Proxy | None:
    import httpx2  # late: comes with the SDK

    try:
        route = Proxies.from_env(env).route(split_url(server.url))
    except Invalid as error:
        raise ServerFailed(f"Its address cannot be used: {error.message}", hint=error.hint) from error
    if route.proxy is None:
        return None
    return httpx2.Proxy(f"http://{route.proxy.where}", headers=route.proxy.fields)
