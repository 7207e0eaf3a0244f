"""`.agi/daemon.json`, where the running daemon says how it is reached, and `.agi/daemon.lock`, which it holds.

One shape and one reader for both ends. Whether that daemon still lives is asked by whoever wants to talk to it.
May import: errors.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from agi.errors import StorageError

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


def open_lock(folder: Path) -> int:
    """Open the lock of a data folder's daemon, to hold it; made if it is missing. Raises StorageError."""
    try:
        return os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as error:
        what = f"that {folder} is yours, that you may read and write it, and that {LOCK} in it is no link or folder"
        hint = f"See to it {what}."
        raise StorageError(f"{folder / LOCK} cannot be opened: {error.strerror}.", hint=hint) from error


def is_there(fd: int, folder: Path) -> bool:
    """Whether a lock that was opened is the one that others would find: whoever held it may have taken it away."""
    with suppress(OSError):
        return os.path.samestat(os.fstat(fd), (folder / LOCK).lstat())
    return False
