"""Collects the helper and holders where they are left to us: as the first process of a container we get every orphan.

Elsewhere the system's first process collects them, and there is nothing to do. Each is known by a descriptor and not by
its number, which may be another child's by the time it is asked for. May import: nothing of ours.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

_FIRST = 1
_WATCHED: set[int] = set()


def watch(pid: int) -> None:
    """Remember a process that may be left to us one day."""
    if os.getpid() == _FIRST:
        with suppress(AttributeError, OSError):  # an older system, or it is gone already
            _WATCHED.add(os.pidfd_open(pid))


def collect() -> None:
    """Collect those that have ended, if they are ours by now, and forget those that somebody else has collected."""
    kept = []
    while _WATCHED:
        try:
            fd = _WATCHED.pop()
        except KeyError:
            break  # another thread collects as well
        if _is_gone(fd):
            os.close(fd)
        else:
            kept.append(fd)
    _WATCHED.update(kept)


def _is_gone(fd: int) -> bool:
    try:
        return os.waitid(os.P_PIDFD, fd, os.WEXITED | os.WNOHANG) is not None
    except OSError:
        return _is_collected(fd)  # it is none of ours, or not yet


def _is_collected(fd: int) -> bool:
    try:
        signal.pidfd_send_signal(fd, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
