"""A connection is opened: directly or through a proxy, plain or under TLS.

Peers are always verified against the system's trust store, to which one CA file may be added. Every failure names
the hop that failed. May import: errors.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

from agi.errors import ConfigError
from agi.net.connection import Connection
from agi.net.errors import NetError
from agi.net.request import encode_head
from agi.net.url import is_loopback

if TYPE_CHECKING:
    import ssl

    from agi.net.route import Proxy, Route

_HINTS = {
    "connect_failed": "Check that the server is running and that host and port are right.",
    "connect_timeout": "Check the network and the address, or allow a longer time to connect.",
    "tls_failed": "Check the address; if a private authority signed the certificate, set a CA file with its root.",
    "proxy_failed": "Check HTTP_PROXY or HTTPS_PROXY, or list the host in NO_PROXY.",
}
_WATCH = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 120_000}


def tls_context(ca_file: str | None) -> ssl.SSLContext:
    """The system's trust store and `ca_file`; raises `ConfigError`. There is no way to verify less."""
    import ssl  # late: plain http to the daemon never pays for it

    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=ca_file)
        except OSError as error:
            hint = "Give the path of a PEM file with the certificates to trust."
            raise ConfigError(f"The CA file {ca_file} cannot be used.", hint=hint) from error
    return context


async def dial(route: Route, tls: ssl.SSLContext | None, seconds: float) -> Connection:
    """Connect within `seconds`; raises `NetError`. `tls` is given for https."""
    proxy = route.proxy
    try:
        async with asyncio.timeout(seconds):
            if proxy is None:
                return await _connect(route.host, route.port, route.where, tls)
            connection = await _connect(proxy.host, proxy.port, route.where, None)
            if tls is not None:
                await _open_tunnel(connection, route, proxy, tls, seconds)
            return connection
    except TimeoutError as error:
        raise _failure(error, "connect_timeout", _way(route)) from error
    except OSError as error:
        if proxy is None:
            raise _failure(error, "connect_failed", route.where) from error
        raise _failure(error, "proxy_failed", f"the proxy {proxy.where}") from error


async def _connect(host: str, port: int, where: str, tls: ssl.SSLContext | None) -> Connection:
    name = host if tls is not None else None
    loop = asyncio.get_running_loop()
    transport, connection = await loop.create_connection(
        lambda: Connection(where), host, port, ssl=tls, server_hostname=name
    )
    if not is_loopback(host):
        watch_for_dead_peers(transport.get_extra_info("socket"))
    return connection


def watch_for_dead_peers(sock: socket.socket) -> None:
    """Let the kernel find out that the other end vanished (sleep, network change): silence looks like thinking."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _WATCH.items():
        if hasattr(socket, name):  # Linux has them all, other systems some
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


async def _open_tunnel(connection: Connection, route: Route, proxy: Proxy, tls: ssl.SSLContext, seconds: float) -> None:
    try:
        await _ask_for_tunnel(connection, route, proxy, seconds)
        await connection.start_tls(tls, route.host)
    except OSError as error:
        connection.abort()
        raise _failure(error, "connect_failed", _way(route)) from error
    except BaseException:
        connection.abort()
        raise


async def _ask_for_tunnel(connection: Connection, route: Route, proxy: Proxy, seconds: float) -> None:
    head = encode_head("CONNECT", route.where, {"host": route.where, "user-agent": "agi"} | proxy.fields)
    try:
        response = await connection.send(head, bodiless=True, first_byte=seconds)
    except NetError as error:
        raise proxy_failure(f"The proxy {proxy.where} did not open a way to {route.where}.") from error
    if not 200 <= response.status < 300:
        raise proxy_failure(f"The proxy {proxy.where} answered {response.status} when asked for {route.where}.")


def _way(route: Route) -> str:
    return route.where if route.proxy is None else f"{route.where} through the proxy {route.proxy.where}"


def proxy_failure(message: str) -> NetError:
    """The error for a proxy that answered, but not as hoped."""
    return NetError(message, code="proxy_failed", hint=_HINTS["proxy_failed"], sent=False)


def _failure(error: OSError, code: str, hop: str) -> NetError:
    import ssl  # late, as above

    reason = error.strerror or str(error) or type(error).__name__
    if isinstance(error, TimeoutError):
        code, reason = "connect_timeout", "it took too long"
    elif isinstance(error, ssl.SSLCertVerificationError):
        code, reason = "tls_failed", error.verify_message
    elif isinstance(error, ssl.SSLError):
        code, reason = "tls_failed", (error.reason or "no handshake").replace("_", " ").lower()
    return NetError(f"Cannot connect to {hop}: {reason}.", code=code, hint=_HINTS[code], sent=False)
