"""Processes that outlive their command: found by descent, or by a mark in their environment, and ended.

For where there is no process namespace, and a process can leave its group and lose its parents. May import: nothing of
ours.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection
from contextlib import suppress

CHILD_MARKER = "AGI_PARENT"
"""The variable that marks every process we start, and those it starts, with the daemon's process id."""
COMMAND_MARKER = "AGI_COMMAND"
"""The variable by which all processes of one command are known, unless they clear their environment."""

APART: set[int] = set()
"""Processes of ours that have left our tree, and from which commands descend."""
_PATIENCE_S = 2.0


def descendants(pid: int) -> set[int]:
    """Every process that descends from one, as far as the kernel lists children."""
    found: set[int] = set()
    edge = [pid]
    while edge:
        fresh = children(edge.pop()) - found
        found |= fresh
        edge.extend(fresh)
    return found


def children(pid: int) -> set[int]:
    """Every process that one has started and not yet collected, as far as the kernel lists them."""
    found: set[int] = set()
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        found.update(map(int, _read(f"/proc/{pid}/task/{thread}/children").split()))
    return found


def end_at_once(pid: int) -> None:
    """Kill a process that all below it end with, and these too: they could keep it from coming to its own end."""
    for one in (pid, *descendants(pid)):
        with suppress(OSError):
            os.kill(one, signal.SIGKILL)


def marked(marker: str, marks: Collection[str]) -> set[int]:
    """Every process with one of these marks in a variable; slow, since each must be asked."""
    wanted = {f"{marker}={mark}".encode() for mark in marks}
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return set()
    return {
        pid for pid in pids if pid != os.getpid() and not wanted.isdisjoint(_read(f"/proc/{pid}/environ").split(b"\0"))
    }


def end_marked(marker: str, marks: Collection[str]) -> int:
    """Kill every process with one of these marks, until none is left; says how many there were."""
    until = time.monotonic() + _PATIENCE_S
    seen: set[int] = set()
    while marks and (left := marked(marker, marks)) and time.monotonic() < until:
        seen |= left
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    return len(seen)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""
