"""Limits on what a command may use, as its first process sets them on itself: they hold for all it starts.

Memory is best limited for all processes of a command together, which needs a control group. Where there is none, each
process is limited in what it may write to; not in address space, which runtimes reserve by the terabyte and never use.
May import: sandbox.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress

from agi.sandbox.base import GIB, Limits

_MOST_MEMORY = 8 * GIB
MORE_LIKELY_TO_GO = 500
"""Added to the score by which a machine that is out of memory chooses whom to end: commands go before the daemon."""

_MOST_FILES = 1 << 20
"""As many open files as we ask for: programs that we start may look at each number up to that."""

_UNITS = {"-f": 512, "-d": 1024, "-c": 512}
_KINDS = {
    "-c": resource.RLIMIT_CORE,
    "-f": resource.RLIMIT_FSIZE,
    "-d": resource.RLIMIT_DATA,
    "-t": resource.RLIMIT_CPU,
    "-n": resource.RLIMIT_NOFILE,
    "-u": resource.RLIMIT_NPROC,
}
"""The shell's letters for limits, and the system's numbers."""


def memory_of(limits: Limits) -> int | None:
    """How many bytes of memory a command may use; None is no limit, which is said as 0."""
    if limits.memory is not None:
        return limits.memory or None
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(_MOST_MEMORY, machine * 3 // 4)


def wanted(limits: Limits, *, grouped: bool, others: int = 0) -> dict[int, int]:
    """The limits of each process, by the system's numbers; `grouped` if memory and processes are limited together.

    `others` is how many processes are counted that are not the command's: a user's all count as one where there is
    no namespace. None is higher than the limit we are under ourselves, which could not be set; of open files
    it is half of ours at most, see `_within_ours`.
    """
    found = {"-c": 0, "-f": limits.file_size, "-t": limits.cpu_seconds, "-n": limits.open_files}
    if not grouped:
        found["-d"] = memory_of(limits)
        found["-u"] = limits.processes + others if limits.processes is not None else None
    return {_KINDS[letter]: _within_ours(_KINDS[letter], value) for letter, value in found.items() if value is not None}


def as_shell(numbers: dict[int, int]) -> str:
    """The same as commands for any `sh`; what it cannot set it leaves."""
    lines = []
    for letter, kind in _KINDS.items():
        if kind in numbers:
            value = numbers[kind] // _UNITS.get(letter, 1)
            # dash calls the number of processes -p, which other shells use for something else.
            other = f" || ulimit -p {value}" if letter == "-u" else ""
            lines.append(f"{{ ulimit {letter} {value}{other}; }} 2>/dev/null")
    return "\n".join(lines)


def raise_our_own() -> None:
    """Have this process open as many files as it may: commands get half of that at most."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):  # a system may give less than it says; then commands get half of less
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _within_ours(kind: int, value: int) -> int:
    """What can be set, and leaves us room.

    Descriptors that were sent and not yet taken are counted for a user as a whole, and nobody may send more while they
    are more than he may have open himself. So commands that send without end stop at their own limit, some messages
    later where several send at once; what we send then must still be within ours.
    """
    soft, hard = resource.getrlimit(kind)
    most = soft // 2 if kind == resource.RLIMIT_NOFILE and soft != resource.RLIM_INFINITY else hard
    return value if most == resource.RLIM_INFINITY else min(value, most)


def threads_now() -> int:
    """How many threads the whole machine has, which is more than any one user has."""
    try:
        with open("/proc/loadavg", "rb") as file:
            return int(file.read().split()[3].partition(b"/")[2])
    except (OSError, ValueError, IndexError):
        return 4096
