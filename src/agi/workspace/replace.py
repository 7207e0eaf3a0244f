"""Change files whole: a new version is written beside the old one, made durable and renamed over it.

A reader sees the old file or the new one, never half; a file with several names is replaced under this one only, so
nothing is written through a hard link; several changes are made together or not at all. Where a path leads is targets'
business. May import: workspace.targets.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from agi.workspace.targets import Target

_CHUNK = 1 << 20


class Change(Struct, frozen=True):
    """What a path shall hold: these bytes, or nothing at all; with `mode`, also these permissions."""

    path: str
    data: bytes | None
    mode: int | None = None


class Replacement:
    """One change in the making: staged, then committed, and undone if a later one fails."""

    def __init__(self, target: Target, change: Change) -> None:
        self._target = target
        self._change = change
        self._staged = ""
        self._old: bytes | None = None

    def stage(self, *, keep_old: bool) -> None:
        """Do everything that may well fail: write the new version beside the old, and remember the old if asked to."""
        if keep_old:
            self._old = _current(self._target)
        if self._change.data is not None:
            self._staged = _write_beside(self._target, self._change.data, self._change.mode)

    def commit(self) -> None:
        """Put the new version in place, or take the file away."""
        folder, name = self._target.folder, self._target.name
        if self._staged:
            os.rename(self._staged, name, src_dir_fd=folder, dst_dir_fd=folder)
            self._staged = ""
        else:
            os.unlink(name, dir_fd=folder)

    def undo(self) -> None:
        """Put back what was there before the commit."""
        folder, name, before = self._target.folder, self._target.name, self._target.before
        if before is None:
            os.unlink(name, dir_fd=folder)
        elif stat.S_ISLNK(before.st_mode):
            os.symlink(self._old or b"", os.fsencode(name), dir_fd=folder)
        else:
            temporary = _write_beside(self._target, self._old or b"", None)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)

    def discard(self) -> None:
        """Take away what was staged and not committed."""
        if self._staged:
            with suppress(OSError):
                os.unlink(self._staged, dir_fd=self._target.folder)
            self._staged = ""


def commit_all(replacements: Sequence[Replacement]) -> None:
    """Stage all, then commit all; if one fails, those before it are undone and the failure rises."""
    done: list[Replacement] = []
    try:
        for replacement in replacements:
            replacement.stage(keep_old=len(replacements) > 1)
        for replacement in replacements:
            replacement.commit()
            done.append(replacement)
    except BaseException:
        for replacement in reversed(done):
            with suppress(OSError):
                replacement.undo()
        raise
    finally:
        for replacement in replacements:
            replacement.discard()


def _current(target: Target) -> bytes | None:
    if target.before is None:
        return None
    if stat.S_ISLNK(target.before.st_mode):
        return os.readlink(os.fsencode(target.name), dir_fd=target.folder)
    fd = os.open(target.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=target.folder)
    with os.fdopen(fd, "rb") as file:
        return file.read()


def _write_beside(target: Target, data: bytes, mode: int | None) -> str:
    name = f".{os.urandom(8).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, 0o666, dir_fd=target.folder)
    try:
        _take_over(fd, target.before, mode)
        for start in range(0, len(data), _CHUNK):
            _write_whole(fd, data[start : start + _CHUNK])
        os.fsync(fd)
    except BaseException:
        os.unlink(name, dir_fd=target.folder)
        raise
    finally:
        os.close(fd)
    return name


def _write_whole(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _take_over(fd: int, before: os.stat_result | None, mode: int | None) -> None:
    """Give the new version the old one's owner and permissions; the owner first, since changing it clears bits."""
    if before is not None and stat.S_ISREG(before.st_mode):
        if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
            with suppress(PermissionError):
                os.fchown(fd, before.st_uid, before.st_gid)
        mode = stat.S_IMODE(before.st_mode) if mode is None else mode
    if mode is not None:
        os.fchmod(fd, mode)
