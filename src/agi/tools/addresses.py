"""Which addresses on the network a tool may reach: public ones, and only those. Pure. May import: errors.

A name or a number may be another way to write an address of this machine or its network; each way is taken apart.
"""

from __future__ import annotations

import ipaddress
import re

from agi.errors import Invalid

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NOT_PUBLIC = tuple(
    map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "3fff::/20", "fec0::/10"))
)
"""Ranges that machines of a network or a cloud use among themselves, and that not every list has as private."""
_NUMBER = re.compile(r"\d+|0[xX][0-9a-fA-F]*")
_LOCAL = ("localhost", "local", "internal", "intranet", "lan", "home.arpa", "localdomain")
_HINT = "Only public addresses can be fetched. What runs on this machine or network is reached by a command."


def is_public(text: str) -> bool:
    """Whether an address is one of the public network's, in whatever it may be wrapped."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(address.packed[-4:])
        if inner is not None:
            return is_public(str(inner))
        if address.teredo or address.is_site_local or address.scope_id:
            return False
    if any(address.version == network.version and address in network for network in _NOT_PUBLIC):
        return False
    elsewhere = address.is_multicast or address.is_reserved or address.is_unspecified or address.is_link_local
    return address.is_global and not address.is_private and not address.is_loopback and not elsewhere


def refuse_host(host: str) -> None:
    """Refuse a host that can only mean this machine or its network, and odd ways to write an address."""
    name = host.removesuffix(".")
    if is_address(name):
        return  # in its usual form: judged as such
    last = name.rpartition(".")[2]
    if _NUMBER.fullmatch(last):
        raise refused(host, "is an unusual way to write an address")
    if any(name == local or name.endswith(f".{local}") for local in _LOCAL):
        raise refused(host, "is a name for this machine or its network")


def is_address(host: str) -> bool:
    """Whether a host is an address in its usual form, and no name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.version == 6 or str(address) == host


def refused(host: str, why: str) -> Invalid:
    """Make the error for a place that must not be reached."""
    return Invalid(f"{host[:200]!r} {why}.", hint=_HINT, code="address_refused")
