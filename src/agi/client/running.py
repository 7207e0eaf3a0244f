"""Is a daemon running for this project, and where: `.agi/daemon.json`, if it cannot have come with the project.

A copied or stale file must neither hang us nor lead us, with our prompt and its token, to somebody else's server: it
counts only if it is ours alone, its process is ours and alive, and a living process holds `.agi/daemon.lock`.
May import: errors, config.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from agi.config.files import PROJECT_DIR, read_inside
from agi.errors import AgiError, Conflict

FILE = "daemon.json"
LOCK = "daemon.lock"
_LIMIT = 1 << 16


class Daemon(Struct, frozen=True, kw_only=True):
    """A running daemon, as it describes itself."""

    url: str
    pid: int
    token: str = ""
    started_at: str = ""


def running_daemon(project: Path) -> Daemon | None:
    """Give the daemon that serves this project, or None if none is known to be alive."""
    try:
        content = read_inside(project, f"{PROJECT_DIR}/{FILE}", limit=_LIMIT)
        if content is None or not _is_private(project / PROJECT_DIR / FILE):
            return None
        daemon = msgspec.json.decode(content, type=Daemon)
    except (AgiError, OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    plausible = daemon.url.startswith(("http://", "https://")) and _is_ours(daemon.pid)
    return daemon if plausible and is_locked(project) else None


def is_locked(project: Path) -> bool:
    """Tell whether a living process holds the project's daemon lock."""
    try:
        with _opened(project, os.O_RDONLY) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


@contextmanager
def locked(project: Path) -> Iterator[None]:
    """Keep daemons from starting meanwhile; raises Conflict while one runs."""
    with _opened(project, os.O_RDWR | os.O_CREAT) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            daemon = running_daemon(project)
            who = f"process {daemon.pid} at {daemon.url}" if daemon else "another process"
            raise Conflict(
                f"A daemon is running for {project}: {who}.", code="daemon_running", hint="Stop it first."
            ) from error
        yield


@contextmanager
def _opened(project: Path, flags: int) -> Iterator[int]:
    folder = os.open(project / PROJECT_DIR, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        descriptor = os.open(LOCK, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_private(path: Path) -> bool:
    found = os.lstat(path)
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _is_ours(pid: int) -> bool:
    """A process that we may signal is ours; asking does nothing to it."""
    if pid < 1:
        return False
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError):
        return False
    return True
