"""Digests of what files hold, by which an edit tells whether a file still is as it was.

May import: nothing of ours.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat

_CHUNK = 1 << 17
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def digest(data: bytes) -> str:
    """Name content by what it is: SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def link_digest(text: str) -> str:
    """Name a symbolic link by where it points; never the same as a file's."""
    return f"link:{text}"


def digest_at(folder: int, name: str) -> str | None:
    """What a name in an open folder holds now: a file, a link, something else (`other`) or nothing at all (None)."""
    try:
        fd = os.open(name, _READ, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return link_digest(os.readlink(name, dir_fd=folder))
        if error.errno in (errno.ENXIO, errno.ENODEV):
            return "other"
        raise
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return "other"
        whole = hashlib.sha256()
        while piece := os.read(fd, _CHUNK):
            whole.update(piece)
        return whole.hexdigest()
    finally:
        os.close(fd)
