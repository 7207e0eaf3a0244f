"""Who is at the other end of a loopback connection: this user, and no command of an agent's.

The kernel is asked, never the client. A socket-diagnostics request finds the one row in about 20 µs; where a kernel
lacks it, the same row is read from `/proc/net/tcp` and `/proc/net/tcp6`, which takes milliseconds. Whatever cannot be
proved is no: a row that is missing, half closed or without an inode, a socket that nobody is seen to hold, a search
that takes too long, a kernel other than Linux. What follows from the answer is the guard's business. May import:
sandbox.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import Literal

import msgspec

Address = tuple[str, int]
Standing = Literal["outside", "apart", "unknown"]
"""No command; what cannot be told from a command of some daemon, as a program in a container; anything else."""

PATIENCE_S = 0.25
"""How long one look may take: all connections stand still meanwhile. Fifteen times what 670 processes took, and little
enough to pass for a slow answer."""
_LOOKS_IN_VAIN = 4
"""How many such looks may find nobody to let in. Who causes one can cause a thousand at once: each connection does."""
_REGAINED = 0.1
"""Which part of the time that goes by counts as not spent in vain again."""
_LEAST = 0.01
"""Which part of its time a look has in any case: enough for one who has just been started, as most clients are."""

_ESTABLISHED = 1
_OVERFLOW_UID = 65534
_V4_MAPPED = bytes(10) + b"\xff\xff"
_ATTEMPTS = 5
_FIRST = 1
_FILTERED = 2
"""How `/proc/PID/status` says that system calls are filtered."""
_STATUS_BYTES = 1 << 16
_FEW = 8
"""So many descriptors cost as much to read as what everybody may know of a process."""

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST = 1
_NLMSG_ERROR = 2
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI")
_PORTS = struct.Struct("!HH")
_ANY_COOKIE = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
_FAMILY_AND_STATE = struct.Struct("=BB")
_UID_AND_INODE = struct.Struct("=II")
_ID_OFFSET = _HEADER.size + 4
_UID_OFFSET = _ID_OFFSET + 48 + 12


class Row(msgspec.Struct, frozen=True):
    """What the kernel knows of one TCP socket."""

    state: int
    uid: int
    inode: int


class Peer(msgspec.Struct, frozen=True):
    """The other end of an accepted connection, proved to belong to this user."""

    server: Address
    client: Address
    inode: int


class PeerCheck:
    """Tells whether the kernel proves the other end to be the same user, and who holds it to be no command."""

    def __init__(self, *, patience_s: float = PATIENCE_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._diag_answers = False
        self._patience_s, self._clock = patience_s, clock
        self._in_vain, self._in_vain_at = 0.0, clock()

    def same_user(self, server: Address, client: Address) -> bool:
        """The whole question at once: `accept`, then `is_outside`."""
        peer = self.accept(server, client)
        return peer is not None and self.is_outside(peer)

    def accept(self, server: Address, client: Address) -> Peer | None:
        """The other end if it belongs to this user; to be asked when the connection is accepted."""
        if sys.platform != "linux":
            return None
        try:
            row = self._find(client, server)
        except (OSError, ValueError):
            return None
        if row is None or row.state != _ESTABLISHED or not row.inode:
            return None
        # In a user namespace every unmapped user shows as the overflow uid, so that number proves nothing.
        if row.uid != os.getuid() or row.uid == _OVERFLOW_UID:
            return None
        return Peer(server, client, row.inode)

    def is_outside(self, peer: Peer) -> bool:
        """Whether the one who holds that end is seen to be no command; takes up to some milliseconds."""
        return self._look_for(peer, far=False) == "outside"

    def standing(self, peer: Peer) -> Standing:
        """Where the one who holds that end stands: also those are looked for who cannot be told from commands."""
        return self._look_for(peer, far=True)

    def _look_for(self, peer: Peer, *, far: bool) -> Standing:
        began = self._clock()
        found = self._standing_by(peer, far=far, until=began + self._time_for_one(began))
        if found != "outside":
            self._in_vain += self._clock() - began
        return found

    def _time_for_one(self, now: float) -> float:
        """How long the next look may take: less, when too much time went by in vain of late."""
        self._in_vain = max(self._in_vain - _REGAINED * (now - self._in_vain_at), 0.0)
        self._in_vain_at = now
        left = _LOOKS_IN_VAIN * self._patience_s - self._in_vain
        return max(min(left, self._patience_s), _LEAST * self._patience_s)

    def _standing_by(self, peer: Peer, *, far: bool, until: float) -> Standing:
        """The row is looked up again afterwards.

        Were the holder a command that sent its request and left while we searched, the socket would no longer be
        established.
        """
        try:
            found = Look(peer.inode, self._clock, until=until).standing(far=far)
        except (OutOfTime, OSError):
            return "unknown"
        return found if self.accept(peer.server, peer.client) == peer else "unknown"

    def _find(self, local: Address, remote: Address) -> Row | None:
        row = ask_kernel(local, remote)
        if row is not None:
            self._diag_answers = True
        elif not self._diag_answers:
            # "No such socket" and "no such service" are the same answer until the service has answered once.
            row = read_tables(local, remote)
        return row


class OtherEnd:
    """The other end of one connection: who holds it is looked for when that is first asked, and then kept."""

    __slots__ = ("_check", "_found", "_is_whole", "_peer")

    def __init__(self, check: PeerCheck | None, peer: Peer | None) -> None:
        self._check, self._peer = check, peer
        self._found: Standing | None = None
        self._is_whole = False

    def is_outside(self) -> bool:
        """Whether it is this user's, and seen to be no command."""
        if self._check is None or self._peer is None:
            return False
        if self._found is None:
            self._found = "outside" if self._check.is_outside(self._peer) else "unknown"
        return self._found == "outside"

    def is_known(self) -> bool:
        """Whether it is this user's, and neither a known command nor hidden; what cannot be told from one passes."""
        if self._check is None or self._peer is None:
            return False
        if self._found != "outside" and not self._is_whole:
            self._found, self._is_whole = self._check.standing(self._peer), True
        return self._found != "unknown"


def ask_kernel(local: Address, remote: Address) -> Row | None:
    """The row of the socket with these two ends, by socket diagnostics; None when it gives no answer."""
    source, target = _packed(local[0]), _packed(remote[0])
    if len(source) != len(target):
        return None
    family = socket.AF_INET if len(source) == 4 else socket.AF_INET6
    ends = _PORTS.pack(local[1], remote[1]) + source.ljust(16, b"\0") + target.ljust(16, b"\0")
    body = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, 0xFFFFFFFF) + ends + _ANY_COOKIE
    request = _HEADER.pack(_HEADER.size + len(body), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 0, 0) + body
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG) as netlink:
            netlink.sendto(request, (0, 0))
            # The kernel answers within the send, so a reply that is not there yet will never come.
            reply = netlink.recv(8192, socket.MSG_DONTWAIT)
    except OSError:
        return None
    return _row_of_reply(reply, ends[: _PORTS.size])


def _row_of_reply(reply: bytes, ports: bytes) -> Row | None:
    if len(reply) < _UID_OFFSET + _UID_AND_INODE.size or _HEADER.unpack_from(reply)[1] == _NLMSG_ERROR:
        return None
    if reply[_ID_OFFSET : _ID_OFFSET + _PORTS.size] != ports:
        return None  # the lookup falls back to a listener on the same port
    _family, state = _FAMILY_AND_STATE.unpack_from(reply, _HEADER.size)
    uid, inode = _UID_AND_INODE.unpack_from(reply, _UID_OFFSET)
    return Row(state, uid, inode)


def read_tables(local: Address, remote: Address) -> Row | None:
    """The row of the socket with these two ends, from `/proc/net/tcp` and `/proc/net/tcp6`."""
    source, target = _packed(local[0]), _packed(remote[0])
    tables = [("/proc/net/tcp6", source, target)]
    if len(source) == len(target) == 4:
        tables = [
            ("/proc/net/tcp", source, target),
            ("/proc/net/tcp6", _V4_MAPPED + source, _V4_MAPPED + target),
        ]
    for path, own, other in tables:
        row = _row_of_table(path, f" {_in_hex(own, local[1])} {_in_hex(other, remote[1])} ".encode())
        if row is not None:
            return row
    return None


def _row_of_table(path: str, ends: bytes) -> Row | None:
    try:
        with open(path, "rb", buffering=0) as table:
            text = table.read()
    except FileNotFoundError:
        return None
    at = text.find(ends)
    if at < 0:
        return None
    fields = text[at : text.index(b"\n", at)].split()
    return Row(state=int(fields[2], 16), uid=int(fields[6]), inode=int(fields[8]))


def _packed(host: str) -> bytes:
    """The address as 4 or 16 bytes; an IPv4 address written as IPv6 counts as IPv4."""
    if ":" not in host:
        return socket.inet_pton(socket.AF_INET, host)
    raw = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
    return raw[12:] if raw.startswith(_V4_MAPPED) else raw


def _in_hex(address: bytes, port: int) -> str:
    """The kernel's spelling: each 32-bit word as a number of this machine's byte order."""
    words = (int.from_bytes(address[at : at + 4], sys.byteorder) for at in range(0, len(address), 4))
    return "".join(f"{word:08X}" for word in words) + f":{port:04X}"


class OutOfTime(Exception):
    """A look took too long."""


class Look:
    """One search for the one who holds a socket; not being found among commands would prove nothing."""

    def __init__(self, inode: int, clock: Callable[[], float], *, until: float) -> None:
        self._target = f"socket:[{inode}]"
        self._clock, self._until = clock, until
        self._own = os.getpid()
        self._depth = _numbers(_status(self._own))
        self._counts_are_told = os.stat("/proc/self/fd").st_size > 0
        self._shared_filters: int | None = None

    def standing(self, *, far: bool) -> Standing:
        """Where the holder stands; with `far` those are looked into as well who cannot be outside.

        The newest processes are looked at first, since most clients are new, and this one last: it may share a socket
        with a command it has just started. What nobody is let in for is not read before all else has been: commands may
        have as many descriptors as they like. So somebody outside is enough, whoever else shares the socket with him.
        """
        if not self._depth:
            return "unknown"
        numbers = (int(name) for name in os.listdir("/proc") if name.isdigit())
        others = sorted((pid for pid in numbers if pid != self._own), reverse=True)
        passed_over: list[int] = []
        for pid in (*others, self._own):
            if self._holds(pid, unless=passed_over):
                return self._standing_of(pid)
        found = (pid for pid in passed_over if far and self._holds(pid))
        return next(map(self._standing_of, found), "unknown")

    def _standing_of(self, pid: int) -> Standing:
        if pid == self._own:
            return "outside"
        if not self._is_nobodys(pid):
            return "unknown"
        return "outside" if self._could_be_outside(pid) else "apart"

    def _is_nobodys(self, pid: int) -> bool:
        """Whether a process carries no daemon's mark and does not descend from this one."""
        return not _may_be_marked(pid) and self._descends_elsewhere(pid)

    def _could_be_outside(self, pid: int) -> bool:
        """Whether a process has nothing that all commands in a sandbox have, and that nobody gets rid of.

        That is a process namespace of one's own, or, on the rung that has none, a filter of system calls and the
        promise that makes filters last. A filter that the first process here has, as in a container, says nothing.
        """
        status = _status(pid)
        if _numbers(status) != self._depth:
            return False
        if _number(status, b"NoNewPrivs") == 0:
            return True
        filters = _filters(status)
        return not filters or filters <= self._filters_of_first()

    def _filters_of_first(self) -> int:
        if self._shared_filters is None:
            self._shared_filters = _filters(_status(_FIRST))
        return self._shared_filters

    def _descends_elsewhere(self, pid: int) -> bool:
        """Whether neither the daemon nor what it has commands forked from is above a process."""
        from agi.sandbox.survivors import APART  # late: most clients bring the token

        ours = {self._own, *APART}
        for _ in range(_ATTEMPTS):
            above = pid
            while above and above not in ours:
                self._take_time()
                parent = _number(_status(above), b"PPid")
                if parent is None:
                    break  # it has just ended, and what it left has another parent now
                above = parent
            else:
                return not above
        return False

    def _holds(self, pid: int, *, unless: list[int] | None = None) -> bool:
        """Whether a process is seen to hold the socket; with `unless`, one that cannot be outside is only noted there.

        That is asked of those with many descriptors: a few are read as quickly as the answer is.
        """
        self._take_time()
        try:
            folder = os.open(f"/proc/{pid}/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            if unless is not None and not self._has_few(folder) and not self._could_be_outside(pid):
                unless.append(pid)
                return False
            with os.scandir(folder) as entries:
                return any(self._is_it(entry.name, folder) for entry in entries)
        except OSError:
            return False  # it has just ended
        finally:
            os.close(folder)

    def _has_few(self, folder: int) -> bool:
        """Whether there are few descriptors; before Linux 6.2 nobody tells, and it is always 0."""
        return self._counts_are_told and os.fstat(folder).st_size <= _FEW

    def _is_it(self, name: str, folder: int) -> bool:
        self._take_time()
        return _link(name, folder) == self._target

    def _take_time(self) -> None:
        if self._clock() >= self._until:
            raise OutOfTime


def _status(pid: int) -> bytes:
    """What everybody may know of a process, in one go, since many are asked; empty if it is gone."""
    try:
        fd = os.open(f"/proc/{pid}/status", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, _STATUS_BYTES)
    except OSError:
        return b""
    finally:
        os.close(fd)


def _field(status: bytes, name: bytes) -> bytes:
    """The words of a line. A process may choose its name, but not begin a line with it: line ends in it are spelled."""
    _, found, rest = status.partition(b"\n" + name + b":\t")
    return rest.partition(b"\n")[0] if found else b""


def _number(status: bytes, name: bytes) -> int | None:
    words = _field(status, name)
    return int(words) if words.isdigit() else None


def _numbers(status: bytes) -> int:
    """How many numbers a process has: one for each process namespace from ours to its own; 0 if that is not told."""
    return len(_field(status, b"NSpid").split())


def _filters(status: bytes) -> int:
    """How many filters of system calls a process has; older kernels, which have no Landlock, tell only whether any."""
    if _number(status, b"Seccomp") != _FILTERED:
        return 0
    return _number(status, b"Seccomp_filters") or 1


def _may_be_marked(pid: int) -> bool:
    """Whether the process carries a daemon's mark, or could: in the middle of an exec every environment is empty."""
    from agi.sandbox.survivors import CHILD_MARKER  # late, as above

    environment = _read(f"/proc/{pid}/environ")
    return not environment or f"\0{CHILD_MARKER}=".encode() in b"\0" + environment


def _read(path: str) -> bytes:
    """A file of `/proc`, empty if its process is gone or is none of our business."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def _link(name: str, folder: int) -> str:
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError:
        return ""
