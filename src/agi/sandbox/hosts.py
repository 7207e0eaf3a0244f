"""Which hosts a command may reach: names on a list, never addresses, and never a machine of the user's own network.

A list names hosts (`docs.example`), whole domains below a name (`.example`), and a port where it is not a usual one
(`docs.example:8443`). What is denied wins over what is allowed. There is no name for everything. May import: errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from msgspec import Struct

from agi.errors import Invalid

USUAL_PORTS = frozenset({80, 443})

_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*\Z")
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)\Z")
_NAT64 = ip_network("64:ff9b::/96")
_SPECIAL = tuple(
    map(
        ip_network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24"),
            *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
            *("224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32"),
            *("::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "100::/63", "2001::/23", "2001:db8::/32"),
            *("2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"),
        ),
    )
)
"""Addresses with a special meaning, spelled out: what a library holds for global differs from version to version. The
single one answers inside machines of a cloud."""


class Rule(Struct, frozen=True):
    """One entry: a name, whether it stands for all names below it, and a port if it names one."""

    name: str
    below: bool
    port: int | None

    def names(self, host: str) -> bool:
        """Whether it means this host."""
        return host.endswith(f".{self.name}") if self.below else host == self.name

    def allows(self, host: str, port: int) -> bool:
        """Whether it opens this port of this host: its own, or the usual ones."""
        return self.names(host) and (port == self.port if self.port else port in USUAL_PORTS)

    def denies(self, host: str, port: int) -> bool:
        """Whether it closes this port of this host: its own, or all."""
        return self.names(host) and self.port in (None, port)


class Hosts:
    """A list of allowed and a list of denied hosts; raises `Invalid` for an entry that means nothing."""

    def __init__(self, allowed: Iterable[str], denied: Iterable[str] = ()) -> None:
        self._allowed = tuple(map(_rule, allowed))
        self._denied = tuple(map(_rule, denied))

    def refusal(self, host: str, port: int) -> str:
        """Why a host may not be reached at a port; empty if it may. Its address is another question."""
        if not _NAME.match(host):
            return "not a plain host name"
        if _NUMBER.match(host.rpartition(".")[2]):
            return "an address, not a name"
        if any(rule.denies(host, port) for rule in self._denied):
            return "on the list of denied hosts"
        if not any(rule.allows(host, port) for rule in self._allowed):
            return "not on the list of allowed hosts"
        return ""


def _rule(text: str) -> Rule:
    name, colon, port = text.strip().lower().partition(":")
    below = name.startswith(".")
    name = name.removeprefix(".")
    known = _NAME.match(name) and not _NUMBER.match(name.rpartition(".")[2])
    if not known or (colon and not (port.isdigit() and 0 < int(port) < 65536)):
        hint = "Write `host`, `.domain` for all hosts below it, or `host:port`; there is no `*`, and no address."
        raise Invalid(f"{text!r} is not a host commands could be allowed.", hint=hint, code="host_invalid")
    return Rule(name, below, int(port) if colon else None)


def is_public(address: str) -> bool:
    """Whether an address is out in the internet: not this machine, not its networks, nothing with a special meaning."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, IPv6Address):
        inner = _inside(found)
        if inner is not None:
            return is_public(str(inner))
    return found.is_global and not any(found in network for network in _SPECIAL if network.version == found.version)


def _inside(address: IPv6Address) -> IPv4Address | None:
    """The address of the older kind that this one stands for."""
    if address.ipv4_mapped or address.sixtofour:
        return address.ipv4_mapped or address.sixtofour
    return IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None
