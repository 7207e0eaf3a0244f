"""Whose server listens at a port of loopback: one's own or the system's, or that of another person on this machine.

What is asked of a model is private; a stranger's server must not get it only because it took a usual port first. The
kernel is asked. Where it does not tell (not Linux, or the server is outside this network namespace), nobody is taken
for a stranger. May import: nothing of ours.
"""

from __future__ import annotations

import os

_LISTENS = "0A"
_HERE4 = frozenset({"0100007F", "00000000"})
_HERE6 = frozenset({"00000000000000000000000001000000", "00000000000000000000000000000000"})
_MAPPED4 = frozenset({"0000000000000000FFFF00000100007F", "00000000000000000000000000000000"})
_FIRST_PERSON = 1000
"""Numbers below belong to the system's own services, as Ollama's does where it was installed as one."""


def is_strangers(host: str, port: int) -> bool:
    """Whether another person's process listens at this address of loopback."""
    return any(uid >= _FIRST_PERSON and uid != os.getuid() for uid in _owners(host, port))


def _owners(host: str, port: int) -> set[int]:
    """The users of every socket a connection to this address could reach."""
    if host == "::1":
        return _listening("/proc/net/tcp6", _HERE6, port)
    return _listening("/proc/net/tcp", _HERE4, port) or _listening("/proc/net/tcp6", _MAPPED4, port)


def _listening(table: str, addresses: frozenset[str], port: int) -> set[int]:
    found: set[int] = set()
    try:
        with open(table, encoding="ascii") as rows:
            next(rows, None)
            for row in rows:
                columns = row.split(maxsplit=8)
                if columns[3] != _LISTENS:
                    break  # the kernel tells listeners first, and there may be many connections
                address, _, number = columns[1].partition(":")
                if int(number, 16) == port and address in addresses:
                    found.add(int(columns[7]))
    except (OSError, ValueError, IndexError):
        return set()
    return found
