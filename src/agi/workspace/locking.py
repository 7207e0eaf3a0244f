"""One process at a time changes the files of a folder: a lock on the folder itself, which no kill leaves behind.

Only programs that ask for it are kept out; for the others replace looks at what it displaced. May import: errors.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from agi.errors import Conflict

_PATIENCE_S = 10.0
_PAUSE_S = 0.002
_CANNOT = (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF)


@contextmanager
def locked(folders: Iterable[int]) -> Iterator[None]:
    """Hold the locks of open folders; taken in one order, so that two processes never wait for each other."""
    held: dict[tuple[int, int], int] = {}
    try:
        for folder in folders:
            with suppress(PermissionError):  # a folder one may write but not read has no lock
                info = os.stat(folder)
                if (info.st_dev, info.st_ino) not in held:
                    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
                    held[info.st_dev, info.st_ino] = fd
        for identity in sorted(held):
            _lock(held[identity])
        yield
    finally:
        for fd in held.values():
            os.close(fd)


def _lock(fd: int) -> None:
    """Wait for a lock, but not for ever; where there are no locks, there is nobody to wait for either."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                hint = "Nothing was changed. Try again."
                raise Conflict("Another program holds the folder locked.", hint=hint, code="folder_locked") from None
            time.sleep(_PAUSE_S)
        except OSError as error:
            if error.errno in _CANNOT:
                return
            raise
