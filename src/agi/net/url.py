"""URLs, read strictly: http or https, a plain host, a port, and the rest as it will be sent.

Small on purpose: no joining, no quoting, no user names. A URL that is not already fit for the wire is refused, and
never repeated in the message, because queries carry secrets. May import: errors.
"""

from __future__ import annotations

import socket

import msgspec

from agi.errors import Invalid

DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST_CHARS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-._")
_LOOPBACK6 = b"\0" * 15 + b"\x01"
_MAPPED_LOOPBACK4 = b"\0" * 10 + b"\xff\xff\x7f"


class Url(msgspec.Struct, frozen=True):
    """Where a request goes: `target` is the path and query as sent on the request line."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def where(self) -> str:
        """The host and port, for people."""
        return host_port(self.host, self.port)

    @property
    def authority(self) -> str:
        """The value of the `host` header: the port only where it is not the scheme's own."""
        if self.port == DEFAULT_PORTS[self.scheme]:
            return f"[{self.host}]" if ":" in self.host else self.host
        return self.where


def host_port(host: str, port: int) -> str:
    """`host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split_url(url: str) -> Url:
    """Read an absolute URL; raises `Invalid`."""
    if not (url.isascii() and url.isprintable()) or " " in url:
        raise _refused("it has a space, a control character or a letter outside ASCII")
    scheme, found, rest = url.partition("://")
    scheme = scheme.lower()
    if not found or scheme not in DEFAULT_PORTS:
        raise _refused("it must begin with http:// or https://")
    rest = rest.partition("#")[0]
    end = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    target = rest[end:]
    host, port = split_authority(rest[:end], DEFAULT_PORTS[scheme])
    return Url(scheme, host, port, target if target.startswith("/") else "/" + target)


def split_authority(authority: str, default_port: int) -> tuple[str, int]:
    """Read `host`, `host:port` or `[ipv6]:port`; raises `Invalid`."""
    if "@" in authority:
        raise _refused("it carries a user name or password; send credentials in a header")
    if authority.startswith("["):
        host, bracket, rest = authority[1:].partition("]")
        colon, port = rest[:1], rest[1:]
        known = bracket != "" and colon in ("", ":") and is_ipv6(host)
    else:
        host, colon, port = authority.lower().partition(":")
        known = len(host) <= 253 and _HOST_CHARS.issuperset(host) and _labels_fit(host)
    if not known:
        raise _refused("its host is neither a name nor an address (write international names in their xn-- form)")
    if not colon:
        return host.lower(), default_port
    if not (port.isdigit() and len(port) <= 5 and 0 < int(port) < 65536):
        raise _refused("its port is not a number from 1 to 65535")
    return host.lower(), int(port)


def _labels_fit(host: str) -> bool:
    return all(0 < len(label) < 64 for label in host.removesuffix(".").split("."))


def is_ipv6(host: str) -> bool:
    """Whether the host is an IPv6 address, written without brackets."""
    try:
        socket.inet_pton(socket.AF_INET6, host)
    except OSError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether the host can only mean this machine, judged by its name alone."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    if is_ipv6(host):
        packed = socket.inet_pton(socket.AF_INET6, host)
        return packed == _LOOPBACK6 or packed.startswith(_MAPPED_LOOPBACK4)
    return host.startswith("127.") and host.replace(".", "").isdigit()


def _refused(reason: str) -> Invalid:
    return Invalid(f"This URL cannot be used: {reason}.", hint="Give an absolute URL such as https://host/path.")
