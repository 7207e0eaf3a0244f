"""What a process and everything it starts costs: CPU, wall time, peak of memory.

CPU is what the kernel accounted to the whole tree. Memory is resident memory summed over the tree, looked at every
5 ms, or the largest single process's peak where that is more: pages that are shared count twice.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import threading
import time
from pathlib import Path
from typing import NamedTuple

TICK = os.sysconf("SC_CLK_TCK")
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1024 / 1024
PATIENCE_S = 120.0
DETACHED_S = 1.0
_SUBREAPER = 36
OWN: set[int] = set()
"""Processes that somebody here waits for."""


class Cost(NamedTuple):
    """Of one run."""

    cpu_ms: float
    wall_ms: float
    peak_mb: float


class Failed(Exception):
    """A peer did not do what it was asked; says how it ended."""


def adopt_orphans() -> None:
    """Have what a peer leaves behind become our child, so that its CPU is counted and it can be ended."""
    ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)


def run(command: tuple[str, ...], env: dict[str, str], cwd: Path, expect: str = "") -> Cost:
    """Run to the end; raises Failed if it fails, takes too long or does not print what is expected."""
    out = os.memfd_create("out")
    began = time.perf_counter()
    pid = _spawn(command, env, cwd, out)
    OWN.add(pid)
    watch = _Watch(pid)
    watch.start()
    _, status, usage = os.wait4(pid, 0)
    OWN.discard(pid)
    wall = (time.perf_counter() - began) * 1000
    watch.over.set()
    watch.join()
    _wait_for_detached()
    left = _end_the_rest(pid)
    said = os.pread(out, 1_000_000, 0).decode(errors="replace")
    os.close(out)
    if watch.late:
        raise Failed(f"did not end within {PATIENCE_S:g} s")
    if status or expect not in said:
        raise Failed(f"ended with {os.waitstatus_to_exitcode(status)} and said: {said.strip()[-200:]!r}")
    cpu = (usage.ru_utime + usage.ru_stime) * 1000 + left
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    exact = usage.ru_maxrss if usage.ru_maxrss > own else 0  # what was spawned begins with our own peak as its own
    return Cost(cpu, wall, max(watch.peak, exact / 1024))


def _spawn(command: tuple[str, ...], env: dict[str, str], cwd: Path, out: int) -> int:
    null = os.open(os.devnull, os.O_RDONLY)
    actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, out, 2)]
    before = os.getcwd()
    os.chdir(cwd)
    try:
        return os.posix_spawnp(command[0], command, env, file_actions=actions, setsid=True)
    finally:
        os.chdir(before)
        os.close(null)


class _Watch(threading.Thread):
    """Looks at a tree's memory, and ends it when it takes too long."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.peak, self.late = pid, 0.0, False
        self.over = threading.Event()

    def run(self) -> None:
        due = time.monotonic() + PATIENCE_S
        while not self.over.wait(0.005):
            self.peak = max(self.peak, rss_mb(self.pid))
            if time.monotonic() > due:
                self.late = True
                _kill(self.pid)
                return


def _kill(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _end_the_rest(session: int) -> float:
    """End what a run left behind in its session, and collect whatever of it ended elsewhere; gives the CPU ms of it.

    What lost its parent comes to us (`adopt_orphans`), and who nobody waited for is in nobody's account yet.
    """
    used = 0.0
    for pid in [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]:
        state, parent, its_session = standing(pid)
        try:
            if its_session == session:
                os.kill(pid, signal.SIGKILL)
            elif state != "Z" or parent != os.getpid() or pid in OWN:
                continue
            usage = os.wait4(pid, 0)[2]
            used += (usage.ru_utime + usage.ru_stime) * 1000
        except (ProcessLookupError, ChildProcessError):
            pass
    return used


def detached() -> list[int]:
    """Who left its starter and session for good and so came to us, and still runs: a helper, say, that commands are
    forked from. Who we started ourselves is the first of its session, or in ours."""
    found, ours, our_session = [], os.getpid(), os.getsid(0)
    for pid in children(ours):
        state, parent, session = standing(pid)
        if parent == ours and state not in ("", "Z") and session not in (our_session, pid) and pid not in OWN:
            found.append(pid)
    return found


def _wait_for_detached() -> None:
    """Such a one ends a moment after the program it belongs to, and is counted when it has."""
    until = time.monotonic() + DETACHED_S
    while detached() and time.monotonic() < until:
        time.sleep(0.002)


def collect() -> float:
    """Collect whoever came to us and has ended; gives the CPU ms they used."""
    return _end_the_rest(-1)


def standing(pid: int) -> tuple[str, int, int]:
    """A process's state, parent and session; nothing if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], int(fields[1]), int(fields[3])
    except (OSError, IndexError):
        return "", 0, 0


def tree(pid: int) -> list[int]:
    """A process and all below it."""
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        todo += children(one)
    return found


def children(pid: int) -> list[int]:
    """Those right below a process."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    except OSError:
        pass
    return found


def everyone(pid: int) -> list[int]:
    """A tree and whoever has left it."""
    return tree(pid) + [one for left in detached() for one in tree(left)]


def rss_mb(pid: int) -> float:
    """Resident memory of a tree and of who left it."""
    found = 0.0
    for one in everyone(pid):
        try:
            found += int(Path(f"/proc/{one}/statm").read_text().split()[1]) * PAGE_MB
        except (OSError, IndexError):
            pass
    return found


def cpu_ms(pid: int) -> float:
    """CPU of a tree and of who left it, of what ended in it too (ticks of 10 ms)."""
    found = 0.0
    for one in everyone(pid):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found += sum(int(fields[n]) for n in (11, 12, 13, 14)) * 1000 / TICK
    return found
