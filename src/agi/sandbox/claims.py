"""Folders of ours that the next process may find left behind: whoever made one holds a lock on it while he lives.

The number of a process in a folder's name says little where containers or machines share the place. A lock is there for
everybody, and ends with its holder, however that ends. May import: nothing of ours.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager


def claim(folder: str) -> int | None:
    """Hold a new folder until what is given is closed; None where it cannot be held, and its name has to do.

    Raises `FileNotFoundError` if somebody swept it before it was held.
    """
    try:
        opened = _opened(folder)
    except FileNotFoundError:
        raise
    except OSError:
        return None
    if _is_swept(opened, folder):
        os.close(opened)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
    return opened


def _is_swept(opened: int, folder: str) -> bool:
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True  # somebody is just about it
    except OSError:
        pass  # there are no locks here
    try:
        return not os.path.samestat(os.fstat(opened), os.stat(folder, follow_symlinks=False))
    except OSError:
        return True


@contextmanager
def unclaimed(folder: str) -> Iterator[None]:
    """While this lasts nobody else holds the folder; an OSError where somebody does, or nobody can."""
    opened = _opened(folder)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(opened)


def _opened(folder: str) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
