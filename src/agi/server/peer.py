"""Who is at the other end of a loopback connection: this user, and no command of an agent's.

The kernel is asked, never the client. Whatever cannot be proved is no: a row that is missing, half closed or without
an inode, a socket that nobody is seen to hold, a search that takes too long, a kernel other than Linux. What follows
from the answer is the guard's business. May import: server.rows, server.holders.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

import msgspec

from agi.server.holders import Look, OutOfTime, Standing
from agi.server.rows import ESTABLISHED, Address, Row, ask_kernel, read_tables

PATIENCE_S = 0.25
"""How long one look may work: all connections stand still meanwhile. Fifteen times what 670 processes took, and little
enough to pass for a slow answer."""
_WAITING = 1 / 8
"""What a second counts in which others had the processor: on a busy machine a look takes longer and costs no more."""
_LOOKS_IN_VAIN = 4
"""How many such looks may find nobody to let in. Who causes one can cause a thousand at once: each connection does."""
_REGAINED = 0.1
"""Which part of the time that goes by counts as not spent in vain again."""
_LEAST = 0.01
"""Which part of its time a look has in any case: enough for one who has just been started, as most clients are."""

_OVERFLOW_UID = 65534


def worked() -> float:
    """A clock of what this thread does, on which waiting counts little."""
    return time.thread_time() + time.monotonic() * _WAITING


class Peer(msgspec.Struct, frozen=True):
    """The other end of an accepted connection, proved to belong to this user."""

    server: Address
    client: Address
    inode: int


class PeerCheck:
    """Tells whether the kernel proves the other end to be the same user, and who holds it to be no command."""

    def __init__(self, *, patience_s: float = PATIENCE_S, clock: Callable[[], float] | None = None) -> None:
        self._diag_answers = False
        self._patience_s, self._clock, self._worked = patience_s, clock or time.monotonic, clock or worked
        self._in_vain, self._in_vain_at = 0.0, self._clock()

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
        if row is None or row.state != ESTABLISHED or not row.inode:
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
        patience, began = self._time_for_one(self._clock()), self._worked()
        found = self._standing_by(peer, far=far, until=began + patience)
        if found != "outside":
            self._in_vain += self._worked() - began
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
            found = Look(peer.inode, self._worked, until=until).standing(far=far)
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
