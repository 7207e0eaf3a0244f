"""One daemon a folder, and how others find it: `.agi/daemon.lock`, held while it runs, and `.agi/daemon.json`.

The file tells a token, so only its owner may read it. The lock is the truth about whether a daemon runs; the file only
says where. May import: errors, config, protocol, eventlog.leases.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from agi.config.daemon import LOCK, RECORD, DaemonRecord, is_there, open_lock, read_record
from agi.errors import Conflict, StorageError
from agi.eventlog.leases import started_at
from agi.protocol.times import to_rfc3339

PAUSES = 100
"""How often the lock of a daemon that is dead is looked at again, a hundredth of a second apart."""


class Berth:
    """The right to be the daemon of a data folder, from construction until `leave`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_announced = False
        self._is_new_folder = not os.path.lexists(folder)
        self._is_new_lock = not os.path.lexists(folder / LOCK)
        self._enter()
        while not is_there(self._fd, folder):  # somebody else held it, and took it away
            os.close(self._fd)
            self._enter()

    def _enter(self) -> None:
        folder = self._folder
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            text = f"The data folder {folder} cannot be made: {error.strerror}."
            raise StorageError(
                text, hint="Check that the folder is writable and holds nothing of that name."
            ) from error
        self._fd = open_lock(folder)
        try:
            self._lock()
        except OSError as error:
            os.close(self._fd)
            raise _taken(folder) from error

    def _lock(self) -> None:
        """Take the lock. A daemon that was killed as it began a command leaves it to that child until it has begun."""
        for _ in range(PAUSES):
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                if not _is_dead(self._folder):
                    raise
            _pause()
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def announce(self, url: str, token: str) -> None:
        """Tell clients where the daemon is and how to be let in; all of it or nothing."""
        record = DaemonRecord(url=url, pid=os.getpid(), started_at=to_rfc3339(time.time()), token=token)
        beside = self._folder / f".{RECORD}.{os.getpid()}"
        beside.unlink(missing_ok=True)
        fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")
        os.replace(beside, self._folder / RECORD)
        self._is_announced = True

    def leave(self) -> None:
        """Stop being the daemon; one that never was leaves nothing that it made."""
        record = read_record(self._folder)
        if record is not None and record.pid == os.getpid():
            (self._folder / RECORD).unlink(missing_ok=True)
        if not self._is_announced and self._is_new_lock:
            with suppress(OSError):
                (self._folder / LOCK).unlink()  # while it is held: whoever has it open sees that it is gone
                if self._is_new_folder:
                    self._folder.rmdir()  # unless something else is in it by now
        os.close(self._fd)


def _is_dead(folder: Path) -> bool:
    """Whether the daemon that last said where it is runs no more; one that said nothing may be about to."""
    record = read_record(folder)
    if record is None:
        return False
    try:
        os.kill(record.pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return not started_at(record.pid)  # killed, and not yet collected by its parent


def _pause() -> None:
    time.sleep(0.01)


def _taken(folder: Path) -> Conflict:
    record = read_record(folder)
    where = f"process {record.pid} at {record.url}" if record else "a process that has not said where it is"
    hint = "Use that one, or stop it first."
    return Conflict(f"A daemon runs for this folder already: {where}.", code="daemon_running", hint=hint)
