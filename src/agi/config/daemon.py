"""`.agi/daemon.json`: where the running daemon says how it is reached; one shape and one reader for both ends.

Whether that daemon still lives is asked by whoever wants to talk to it. May import: nothing of ours.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
from msgspec import Struct

LOCK = "daemon.lock"
RECORD = "daemon.json"
_LIMIT = 1 << 16


class DaemonRecord(Struct, frozen=True, kw_only=True):
    """What `daemon.json` holds."""

    url: str
    pid: int
    started_at: str
    token: str


def read_record(folder: Path) -> DaemonRecord | None:
    """The daemon of this data folder as it was last recorded; None if none is, or the file is not private and ours."""
    try:
        fd = os.open(folder / RECORD, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            found = os.fstat(fd)
            private = stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
            return msgspec.json.decode(file.read(_LIMIT), type=DaemonRecord) if private else None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
