"""Who is at the other end of a loopback connection: this user, and no command of an agent's.

The kernel is asked, never the client. A socket-diagnostics request finds the one row in about 20 µs; where a kernel
lacks it, the same row is read from `/proc/net/tcp` and `/proc/net/tcp6`, which takes milliseconds. Whatever cannot be
proved is no: a row that is missing, half closed or without an inode, a socket that nobody is seen to hold, a kernel
other than Linux. What follows from the answer is the guard's business. May import: sandbox.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from typing import Literal

import msgspec

Address = tuple[str, int]
Standing = Literal["outside", "apart", "unknown"]
"""No command; in process namespaces of its own, as in a container, or a command of another daemon; may be a command."""

_ESTABLISHED = 1
_OVERFLOW_UID = 65534
_V4_MAPPED = bytes(10) + b"\xff\xff"
_ATTEMPTS = 5
_PARENT, _NUMBERS = "PPid", "NSpid"
"""Words of `/proc/PID/status`, which everybody may read."""

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

    def __init__(self) -> None:
        self._diag_answers = False

    def same_user(self, server: Address, client: Address) -> bool:
        """The whole question at once: `accept`, then `standing`."""
        peer = self.accept(server, client)
        return peer is not None and self.standing(peer) == "outside"

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

    def standing(self, peer: Peer) -> Standing:
        """Where the one who holds that end stands; takes a millisecond or more, so ask once a connection.

        The row is looked up again afterwards: were the holder a command that sent its request and left while we
        searched, the socket would no longer be established.
        """
        try:
            found = _standing_of_holder(peer.inode)
        except OSError:
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


def _standing_of_holder(inode: int) -> Standing:
    """Where the one who holds a socket stands; not being found among commands would prove nothing.

    The newest processes are looked at first, since most clients are new, and this one last: it may share a socket with
    a command it has just started.
    """
    own = os.getpid()
    others = sorted((int(name) for name in os.listdir("/proc") if name.isdigit() and name != str(own)), reverse=True)
    for pid in (*others, own):
        if _holds(pid, inode):
            return "outside" if pid == own else _standing_of(pid, own)
    return "unknown"


def _standing_of(pid: int, daemon: int) -> Standing:
    depth = _status(daemon).get(_NUMBERS)
    if depth is None or _may_be_marked(pid) or not _descends_elsewhere(pid, daemon):
        return "unknown"
    return "outside" if _status(pid).get(_NUMBERS) == depth else "apart"


def _descends_elsewhere(pid: int, daemon: int) -> bool:
    """Whether neither the daemon nor what it has commands forked from is above a process."""
    from agi.sandbox.survivors import APART  # late: most clients bring the token

    ours = {daemon, *APART}
    for _ in range(_ATTEMPTS):
        above = pid
        while above and above not in ours:
            parent = _status(above).get(_PARENT)
            if parent is None:
                break  # it has just ended, and what it left has another parent now
            above = parent
        else:
            return not above
    return False


def _status(pid: int) -> dict[str, int]:
    """The parent of a process, and how many numbers it has: one for each process namespace from ours to its own."""
    found: dict[str, int] = {}
    for line in _read(f"/proc/{pid}/status").splitlines():
        name, _, words = line.decode(errors="replace").partition(":")
        if name == _PARENT:
            found[name] = int(words)
        elif name == _NUMBERS:
            found[name] = len(words.split())
    return found


def _may_be_marked(pid: int) -> bool:
    """Whether the process carries a daemon's mark, or could: in the middle of an exec every environment is empty."""
    from agi.sandbox.survivors import CHILD_MARKER  # late, as above

    environment = _read(f"/proc/{pid}/environ")
    return not environment or f"\0{CHILD_MARKER}=".encode() in b"\0" + environment


def _holds(pid: int, inode: int) -> bool:
    """Whether a process is seen to hold a socket."""
    target = f"socket:[{inode}]"
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return False
    return any(_link(f"/proc/{pid}/fd/{name}") == target for name in names)


def _read(path: str) -> bytes:
    """A file of `/proc`, empty if its process is gone or is none of our business."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
