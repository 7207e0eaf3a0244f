"""Is a daemon running for this project, and where: `.agi/daemon.json`, if it cannot have come with the project.

A copied or stale file must neither hang us nor lead us, with our prompt and its token, to somebody else's server: it
counts only if it is ours alone, its process is ours and alive, and a living process holds `.agi/daemon.lock`.
May import: errors, config.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agi.config.daemon import LOCK, DaemonRecord, is_there, open_lock, read_record
from agi.config.files import PROJECT_DIR
from agi.errors import Conflict, StorageError


def running_daemon(project: Path) -> DaemonRecord | None:
    """Give the daemon that serves this project, or None if none is known to be alive."""
    daemon = read_record(project / PROJECT_DIR)
    if daemon is None:
        return None
    plausible = daemon.url.startswith(("http://", "https://")) and _is_ours(daemon.pid)
    return daemon if plausible and is_locked(project) else None


def is_locked(project: Path) -> bool:
    """Tell whether a living process holds the project's daemon lock."""
    try:
        with _opened(project) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


@contextmanager
def locked(project: Path) -> Iterator[None]:
    """Keep daemons from starting meanwhile; raises Conflict while one runs, StorageError where no lock can be had."""
    folder = project / PROJECT_DIR
    descriptor = _taken(project)
    while not is_there(descriptor, folder):  # a daemon that was refused has taken it away
        os.close(descriptor)
        descriptor = _taken(project)
    try:
        yield
    finally:
        os.close(descriptor)


def _taken(project: Path) -> int:
    """The lock, held as long as it is open."""
    descriptor = open_lock(project / PROJECT_DIR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if not isinstance(error, BlockingIOError):
            text = f"{project / PROJECT_DIR / LOCK} cannot be locked: {error.strerror}."
            raise StorageError(text, hint="Check which disk it is on.") from error
        daemon = running_daemon(project)
        who = f"process {daemon.pid} at {daemon.url}" if daemon else "another process"
        text = f"A daemon is running for {project}: {who}."
        raise Conflict(text, code="daemon_running", hint="Stop it first.") from error
    return descriptor


@contextmanager
def _opened(project: Path) -> Iterator[int]:
    folder = os.open(project / PROJECT_DIR, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        descriptor = os.open(LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_ours(pid: int) -> bool:
    """A process that we may signal is ours; asking does nothing to it."""
    if pid < 1:
        return False
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError):
        return False
    return True
