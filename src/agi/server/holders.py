"""Which process of this machine holds a socket, and whether it could be a command of an agent's.

A command is known by what it cannot shed (docs/adr/0068). Somebody must be seen to hold the socket: not being found
among commands would prove nothing. A look has a time. May import: sandbox.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal

Standing = Literal["outside", "apart", "unknown"]
"""No command; what cannot be told from a command of some daemon, as a program in a container; anything else."""

_ATTEMPTS = 5
_FIRST = 1
_FILTERED = 2
"""How `/proc/PID/status` says that system calls are filtered."""
_STATUS_BYTES = 1 << 16
_FEW = 8
"""So many descriptors cost as much to read as what everybody may know of a process."""


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
