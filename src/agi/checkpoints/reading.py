"""What a file or a link holds, read where it was found: through an open folder, never through a link.

May import: checkpoints.
"""

from __future__ import annotations

import os
import stat
import time

from agi.checkpoints.nodes import Known, Node, Stamp, key_of, opaque, permissions

SLACK_NS = 30_000_000
"""A file written this short before it was read may be written again without a new stamp; it is read once more."""
COARSE_NS = 3_000_000_000
"""The same on disks that only count seconds."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_SECOND = 1_000_000_000


def read_node(folder: int, name: str, limit: int, reason: str = "large") -> tuple[Known, bytes] | None:
    """What stands at a name, and its content if that is kept; None if it went, or is nothing that is kept.

    A file of more than `limit` bytes is opaque, for that `reason`.
    """
    started = time.time_ns()
    try:
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    try:
        if stat.S_ISLNK(info.st_mode):
            target = os.fsencode(os.readlink(name, dir_fd=folder))
            return Known(Node("link", 0, len(target), key_of(target)), _settled(_stamp(info), started)), target
        if not stat.S_ISREG(info.st_mode):
            return None
        if info.st_size > limit:
            return Known(opaque(_stamp(info), reason), _stamp(info)), b""
        return _read_file(folder, name, limit, started)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return Known(opaque(_stamp(info), "unreadable")), b""


def _read_file(folder: int, name: str, limit: int, started: int) -> tuple[Known, bytes] | None:
    with os.fdopen(os.open(name, _READ, dir_fd=folder), "rb") as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            return None
        data = file.read(limit + 1)
        after = os.fstat(file.fileno())
    stamp = _stamp(after)
    if len(data) > limit:
        return Known(opaque(stamp, "large"), stamp), b""
    node = Node("file", permissions(after.st_mode), len(data), key_of(data))
    return Known(node, _settled(stamp, started) if stamp == _stamp(before) else None), data


def _settled(stamp: Stamp, read_at: int) -> Stamp | None:
    """The stamp, if it will tell when the file is written again."""
    written, changed = stamp[2], stamp[3]
    slack = COARSE_NS if written % _SECOND == 0 and changed % _SECOND == 0 else SLACK_NS
    return stamp if changed < read_at - slack else None


def _stamp(info: os.stat_result) -> Stamp:
    return (info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
