"""Errors that pass: no room, no memory, no more files or processes just now. They say nothing of what would hold.

Some come in words only: from another process, or from a program. May import: nothing of ours.
"""

from __future__ import annotations

import errno
import os

_PASSING = frozenset(
    (
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ENOBUFS,
        errno.EAGAIN,
        errno.EIO,
        errno.ETOOMANYREFS,
    )
)
_WORDS = (*map(os.strerror, _PASSING), "does not answer", "does not start", "Cannot fork")
"""How they read, with those of our helper, and of shells that give no reason."""
_FULL = os.strerror(errno.ENOSPC)
_NO_MORE_NAMESPACES = (f"no process could be made: {_FULL}", f"{_FULL}: 'a user namespace'")
"""No disk is full then: so the kernel says that the system's settings let nobody make any."""

_HINTS = {
    (errno.ENOSPC, errno.EDQUOT): "Make room on the disk, then try again.",
    (errno.EMFILE,): "agi has as many files open as it may: end some of what it runs, or raise `ulimit -n` for it.",
    (errno.ENFILE,): "The system has as many files open as it may: end what uses them up.",
    (errno.ENOMEM, errno.ENOBUFS): "Memory is used up: end what uses it.",
    (errno.EAGAIN,): "Processes are used up: end some, or raise `ulimit -u` for agi.",
    (errno.EIO,): "A disk fails: look at what the system says of it.",
    (errno.ETOOMANYREFS,): (
        "More open files of this user are on their way between processes than one may have open (`ulimit -n`): "
        "something sends them and does not take them. End it, or raise that limit for the daemon."
    ),
}
_ANY_HINT = "Make room by ending what uses up files or memory."


def is_passing(problem: OSError) -> bool:
    """Whether the same may go well a moment later, with nothing else changed."""
    return reads_as_passing(str(problem)) if problem.errno is None else problem.errno in _PASSING


def reads_as_passing(said: str) -> bool:
    """Whether what somebody said of his failure reads like one of these."""
    return any(words in said for words in _WORDS) and not any(words in said for words in _NO_MORE_NAMESPACES)


def passing_hint(problem: OSError) -> str:
    """What to do about one of these."""
    hint = next((hint for numbers, hint in _HINTS.items() if problem.errno in numbers), _ANY_HINT)
    return f"Nothing was run. {hint} It is tried again with the next command."


def closed_hint(folder: str) -> str:
    """What to do about a folder that is closed to its own user."""
    import shlex  # late: rarely needed

    return f"Nothing was run. Let its user into the folder: `chmod u+rwx {shlex.quote(folder)}`."
