"""Where the daemon listens, and what it is called there. Who may come in is decided elsewhere. May import: errors."""

from __future__ import annotations

import errno
import socket

from agi.errors import ConfigError, Conflict

PORT = 8787
BACKLOG = 2048
LOOPBACK = "127.0.0.1"
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - recognised, not bound to


def listen_at(host: str, port: int | None) -> socket.socket:
    """A listening socket: at the port that was asked for, or else at the usual one, or else at any."""
    wanted = PORT if port is None else port
    if not 0 <= wanted < 65536:
        raise ConfigError(f"{wanted} is not a port.", code="cannot_listen", hint="Ports go up to 65535.")
    try:
        return _listening(host, wanted)
    except socket.gaierror as error:
        raise _unknown(host) from error
    except OSError as error:
        is_taken = error.errno == errno.EADDRINUSE
        if port is None and is_taken:
            return _listening(host, 0)
        if is_taken:
            hint = "Choose another, or leave --port out to get a free one."
            raise Conflict(f"Port {wanted} is taken.", code="port_taken", hint=hint) from error
        hint = "Check --host and --port."
        raise ConfigError(
            f"Cannot listen at {host} port {wanted}: {error}.", code="cannot_listen", hint=hint
        ) from error


def _listening(host: str, port: int) -> socket.socket:
    # The protocol is named because asyncio switches off Nagle's delay only for sockets that name it, and with the
    # delay the first words of a stream would arrive 40 ms late.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock


def refuse_unknown(host: str) -> None:
    """See to it that a name has an address; asking for one may take a moment."""
    try:
        socket.getaddrinfo(host, None)
    except (OSError, UnicodeError) as error:
        raise _unknown(host) from error


def _unknown(host: str) -> ConfigError:
    hint = "Check --host: 127.0.0.1 is for this machine alone, 0.0.0.0 for others too, with --expose."
    return ConfigError(f"No address is known for {host}.", code="cannot_listen", hint=hint)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    first, *rest = host.split(".")
    return host in ("localhost", "::1") or (first == "127" and len(rest) == 3 and all(one.isdigit() for one in rest))


def url_of(host: str, port: int) -> str:
    """Where the daemon is reached from this machine."""
    name = LOOPBACK if host in _EVERYWHERE else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"


def own_names(host: str, further: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The names under which other machines may reach a daemon that listens at `host`."""
    bound = () if host in _EVERYWHERE else (host,)
    machine = socket.gethostname()
    found: set[str] = set()
    if not bound:
        try:
            found = {str(one[4][0]) for one in socket.getaddrinfo(machine, None)}
        except OSError:
            found = set()
    names = (*bound, machine, *sorted(found), *further)
    return tuple(f"[{name}]" if ":" in name and not name.startswith("[") else name for name in names)
