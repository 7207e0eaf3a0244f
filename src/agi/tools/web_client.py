"""Get a page from the public web: each name is looked up once, and the address that was judged is the one connected to.

A redirect is judged like the first address. Nothing is sent but the request: no cookie, no credential. What the page
is made of is not known here. May import: errors, net, tools.addresses.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from msgspec import Struct

from agi.errors import Invalid
from agi.net.connection import Connection
from agi.net.dial import tls_context
from agi.net.errors import NetError
from agi.net.http import HttpClient, Proxies, Response, Timeouts
from agi.net.request import encode_request
from agi.net.route import Route
from agi.net.url import Url, split_url
from agi.tools.addresses import is_address, is_public, refuse_host, refused

if TYPE_CHECKING:
    import ssl

MOST_REDIRECTS = 5
LIMIT = 10 << 20
"""Bytes of a page that are taken."""
SECONDS = 30.0
"""How long a page may take, redirects included."""
_MOST_TRIED = 4
_HEADERS = {"accept": "text/html,application/xhtml+xml,application/json,text/*;q=0.9,*/*;q=0.5", "user-agent": "agi"}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""Says to which addresses a name leads."""


class Fetched(Struct, frozen=True, kw_only=True):
    """What came back, from where in the end."""

    url: str
    status: int
    content_type: str
    body: bytes
    truncated: bool = False
    redirects: tuple[str, ...] = ()


async def look_up(host: str, port: int) -> list[str]:
    """Ask the system for a name's addresses."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in found))


class WebClient:
    """Gets pages. `is_allowed` judges addresses, `resolve` finds them; both are as they should be unless given."""

    def __init__(
        self,
        *,
        resolve: Resolver = look_up,
        is_allowed: Callable[[str], bool] = is_public,
        proxies: Proxies | None = None,
        ca_file: str | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self._resolve = resolve
        self._is_allowed = is_allowed
        self._proxies = proxies or Proxies()
        self._ca_file = ca_file
        self._seconds = seconds

    async def get(self, url: str, limit: int = LIMIT) -> Fetched:
        """Get a page, at most `limit` bytes of it; raises Invalid or NetError."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._follow(wire_form(url), limit)
        except TimeoutError:
            hint = "Try again later, or do without."
            raise NetError(f"The page took more than {self._seconds:g} s.", code="idle_timeout", hint=hint) from None

    async def _follow(self, url: str, limit: int) -> Fetched:
        passed: list[str] = []
        while True:
            target = split_url(url)
            async with await self._ask(target) as response:
                where = response.headers.get("location", "")
                if response.status not in _REDIRECTS or not where:
                    return await _read(response, url, tuple(passed), limit)
            if len(passed) == MOST_REDIRECTS:
                hint = "The address leads round in a circle, or too far."
                raise NetError(f"More than {MOST_REDIRECTS} redirects.", code="bad_response", hint=hint)
            passed.append(url)
            url = _joined(url, where)

    async def _ask(self, target: Url) -> Response:
        """Send the request, over a connection to an address that was judged."""
        refuse_host(target.host)
        route = self._proxies.route(target)
        if route.proxy is not None:
            return await self._ask_through_proxy(target)
        addresses = await self._judged(target)
        tls = tls_context(self._ca_file) if target.scheme == "https" else None
        connection = await _connected(target, addresses, tls)
        try:
            request = encode_request("GET", target, _HEADERS, b"", Route(target.scheme, target.host, target.port))
            parser = await connection.send(request, bodiless=False, first_byte=self._seconds)
        except BaseException:
            connection.abort()
            raise
        return Response(connection, parser, self._seconds, connection.abort)

    async def _ask_through_proxy(self, target: Url) -> Response:
        """The proxy looks names up itself; an address that is written out is judged here all the same."""
        if is_address(target.host) and not self._is_allowed(target.host):
            raise refused(target.host, "is not a public address")
        each = Timeouts(self._seconds, self._seconds, self._seconds)
        client = HttpClient(proxies=self._proxies, ca_file=self._ca_file, timeouts=each, max_idle_per_host=0)
        url = f"{target.scheme}://{target.authority}{target.target}"
        return await client.request("GET", url, headers=_HEADERS)

    async def _judged(self, target: Url) -> list[str]:
        """The addresses of a host, if all of them may be reached: one that is not could be chosen next time."""
        host = target.host.removesuffix(".")
        try:
            addresses = [host] if is_address(host) else await self._resolve(host, target.port)
        except (OSError, UnicodeError) as error:
            hint = "Check the name."
            raise NetError(f"{target.host} is not known.", code="connect_failed", hint=hint, sent=False) from error
        for address in addresses:
            if not self._is_allowed(address):
                raise refused(target.host, f"leads to {address}, which is not a public address")
        if not addresses:
            raise NetError(f"{target.host} has no address.", code="connect_failed", sent=False)
        return addresses[:_MOST_TRIED]


async def _connected(target: Url, addresses: list[str], tls: ssl.SSLContext | None) -> Connection:
    """Connect to the first address that answers; the certificate must be the name's."""
    loop = asyncio.get_running_loop()
    problem: OSError | None = None
    for address in addresses:
        try:
            _, connection = await loop.create_connection(
                lambda: Connection(target.where),
                address,
                target.port,
                ssl=tls,
                server_hostname=target.host.removesuffix(".") if tls else None,
            )
        except OSError as error:
            problem = error
        else:
            return connection
    reason = getattr(problem, "verify_message", "") or (problem and problem.strerror) or "it does not answer"
    raise NetError(f"Cannot connect to {target.where}: {reason}.", code="connect_failed", sent=False) from problem


async def _read(response: Response, url: str, passed: tuple[str, ...], limit: int) -> Fetched:
    parts: list[bytes] = []
    left = limit
    async with aclosing(response.chunks()) as chunks:
        async for chunk in chunks:
            parts.append(chunk[:left])
            left -= len(chunk)
            if left < 0:
                break
    return Fetched(
        url=url,
        status=response.status,
        content_type=response.headers.get("content-type", ""),
        body=b"".join(parts),
        truncated=left < 0,
        redirects=passed,
    )


def wire_form(url: str) -> str:
    """An address as it goes over the wire: international names and letters are written in ASCII."""
    url = url.strip()
    if url.isascii():
        return url.replace(" ", "%20")
    from urllib.parse import quote, urlsplit, urlunsplit  # late: hardly any address needs it

    parts = urlsplit(url)
    try:
        host = (parts.hostname or "").encode("idna").decode()
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise Invalid("The host of this URL is not a name.", hint="Check its spelling.") from None
    if "@" in parts.netloc:
        raise Invalid("This URL carries a user name or password.", hint="Leave them out.")
    kept = "/%:@!$&'()*+,;=~?"
    return urlunsplit((parts.scheme, host + port, quote(parts.path, safe=kept), quote(parts.query, safe=kept), ""))


def _joined(url: str, where: str) -> str:
    from urllib.parse import urljoin  # late: few pages redirect

    return wire_form(urljoin(url, where))
