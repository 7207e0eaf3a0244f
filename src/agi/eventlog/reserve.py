"""Room set aside beside the database, so that a full disk does not keep a turn from saying that it waits for room.

A file that holds nothing. It is given up when a last word meets a full disk; from then on nothing else is written
until there is room to set aside again and as much besides, so that what was freed is not used up by those who go on.
Used on the writer's thread. May import: nothing of ours.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

SIZE = 256 * 1024
"""The pages that a notice touches come to some 40 KB in the database's journal, once for all sessions that say one."""
AGAIN_S = 10.0
"""How long a disk that had no room for it is left alone."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class Reserve:
    """The room set aside for one database."""

    def __init__(self, database: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = database.with_name(database.name + ".reserve")
        self.is_spent = False
        """It was given up, and there has not been room for it since."""
        self._clock = clock
        self._is_wanted = False
        self._try_at = 0.0

    def want(self) -> None:
        """Have it made when the writer next has nothing more urgent to do, and kept from then on."""
        self._is_wanted = True

    def tend(self) -> None:
        """Make it, if it is wanted and was not made yet."""
        if self._is_wanted and self._clock() >= self._try_at:
            self._try_at = self._clock() + AGAIN_S
            self._is_wanted = not self.keep()

    def keep(self) -> bool:
        """See that the room is set aside; False if there is none for it, or its name is taken by something else."""
        try:
            self.is_spent = not (self._is_there() or self._make())
        except OSError:
            self.is_spent = False  # no such files here: whoever writes will find out whether there is room
            return False
        return not self.is_spent

    def give_up(self) -> bool:
        """Free the room for a last word; False if none was set aside."""
        try:
            if not self._is_there():
                return False
            self.path.unlink()
        except OSError:
            return False
        self.is_spent = True
        return True

    def _is_there(self) -> bool:
        try:
            state = os.lstat(self.path)
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(state.st_mode):
            raise FileExistsError(self.path)
        return state.st_blocks * 512 >= SIZE

    def _make(self) -> bool:
        """Take twice the room and give half of it back: with nothing besides, the next write would meet a full disk."""
        self.path.unlink(missing_ok=True)  # one that is too small, of a process that was killed while it made it
        try:
            fd = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            return _is_no_room(error)  # not even for a name
        try:
            _allocate(fd, 2 * SIZE)
            os.ftruncate(fd, SIZE)
        except OSError as error:
            self.path.unlink(missing_ok=True)
            return _is_no_room(error)
        finally:
            os.close(fd)
        return True


def _is_no_room(error: OSError) -> bool:
    """False, for there is no room; any other error is raised."""
    if error.errno not in _NO_ROOM:
        raise error
    return False


def _allocate(fd: int, size: int) -> None:
    """Take room on the disk; where the system has no word for that, by writing to it."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, size)
        return
    while size > 0:
        size -= os.write(fd, bytes(size))
