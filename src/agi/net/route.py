"""The way a request takes: straight to its server, or through the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name.

The environment is passed in, never read. Loopback never uses a proxy. Talking to the proxy is dial's business.
May import: errors.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

import msgspec

from agi.errors import ConfigError, Invalid
from agi.net.url import Url, host_port, is_loopback, split_authority

if TYPE_CHECKING:
    from collections.abc import Mapping


class Proxy(msgspec.Struct, frozen=True):
    """One HTTP proxy; `authorization` is the value it is sent in `proxy-authorization`, or empty."""

    host: str
    port: int
    authorization: str = ""

    @property
    def where(self) -> str:
        """The host and port, for people."""
        return host_port(self.host, self.port)

    @property
    def fields(self) -> dict[str, str]:
        """The headers the proxy is to see."""
        return {"proxy-authorization": self.authorization} if self.authorization else {}

    def __repr__(self) -> str:
        return f"Proxy({self.where})"


class Route(msgspec.Struct, frozen=True):
    """A server and the proxy before it: what two requests must share to share a connection."""

    scheme: str
    host: str
    port: int
    proxy: Proxy | None = None

    @property
    def where(self) -> str:
        """The server's host and port, for people."""
        return host_port(self.host, self.port)


class Proxies(msgspec.Struct, frozen=True):
    """The proxies for http and https, and the hosts that go without."""

    http: Proxy | None = None
    https: Proxy | None = None
    bypass: tuple[str, ...] = ()

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Proxies:
        """Read the usual variables; the lower-case spelling wins. Raises `ConfigError`."""
        bypass = _variable(env, "NO_PROXY").lower().replace(",", " ").split()
        return cls(_proxy(env, "HTTP_PROXY"), _proxy(env, "HTTPS_PROXY"), tuple(bypass))

    def route(self, url: Url) -> Route:
        """The way to this URL."""
        proxy = self.https if url.scheme == "https" else self.http
        if proxy is not None and (is_loopback(url.host) or any(_covers(entry, url) for entry in self.bypass)):
            proxy = None
        return Route(url.scheme, url.host, url.port, proxy)


def _variable(env: Mapping[str, str], name: str) -> str:
    return env.get(name.lower(), env.get(name, "")).strip()


def _proxy(env: Mapping[str, str], name: str) -> Proxy | None:
    value = _variable(env, name)
    if not value:
        return None
    scheme, found, rest = value.partition("://")
    if found and scheme.lower() != "http":
        raise ConfigError(f"{name} does not name an http:// proxy.", hint="Only http:// proxies are supported.")
    userinfo, _, authority = (rest if found else value).rpartition("@")
    try:
        host, port = split_authority(authority.partition("/")[0], 80)
    except Invalid as error:
        raise ConfigError(f"{name} is not a proxy address.", hint="Write it as http://host:port.") from error
    return Proxy(host, port, _basic(userinfo) if userinfo else "")


def _basic(userinfo: str) -> str:
    user, _, password = userinfo.partition(":")
    if "%" in userinfo:
        from urllib.parse import unquote  # late: it costs milliseconds, and few passwords are quoted

        user, password = unquote(user), unquote(password)
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def _covers(entry: str, url: Url) -> bool:
    """Whether one NO_PROXY entry means this URL: `*`, a host or its parent domain, `host:port`, or a network."""
    if "/" in entry:
        return _in_network(url.host, entry)
    name, port = _split_entry(entry)
    if port and port != str(url.port):
        return False
    name = name.removeprefix("*")
    if not name:
        return entry.startswith("*")
    name = name.lstrip(".")
    return bool(name) and (url.host == name or url.host.endswith("." + name))


def _split_entry(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        host, _, rest = entry[1:].partition("]")
        return host, rest.removeprefix(":")
    if entry.count(":") == 1:
        host, _, port = entry.partition(":")
        return host, port
    return entry, ""


def _in_network(host: str, network: str) -> bool:
    import ipaddress  # late: few NO_PROXY lists hold networks

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
