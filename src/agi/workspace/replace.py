"""Change files whole: a new version is written beside the old one, made durable and put in its place in one step.

A reader sees the old file or the new one, never half; a file with several names is replaced under this one only, so
nothing is written through a hard link. Our own processes take turns (see locking); as for others, what a new version
displaces is looked at after the swap, and goes back if it is not what was expected. Several changes are made together
or not at all, and a kill in between can be put back (see unfinished). Where a path leads is targets' business.
May import: errors, workspace.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import UNSET, Struct, UnsetType

from agi.errors import Conflict
from agi.workspace.digests import digest, digest_at
from agi.workspace.locking import locked
from agi.workspace.renaming import claim, exchange
from agi.workspace.targets import Target
from agi.workspace.unfinished import Note, Step

STALE = "file_changed"
"""The code of the error for a file that is not as expected."""

_CHUNK = 1 << 20


class Change(Struct, frozen=True):
    """What a path shall hold: these bytes, or nothing at all; with `mode`, also these permissions."""

    path: str
    data: bytes | None
    mode: int | None = None
    expected: str | UnsetType | None = UNSET
    """The digest of what must be there now, None for nothing; unset if it does not matter."""


class Replacement:
    """One change in the making: staged, then committed, and undone if a later one fails."""

    def __init__(self, target: Target, change: Change) -> None:
        self._target = target
        self._change = change
        self._staged = ""
        self._kept = _temporary()
        self._displaced = ""
        self._committed = False

    def stage(self) -> None:
        """Do what takes long and may well fail: write the new version beside the old one."""
        if self._change.data is not None:
            self._staged = _write_beside(self._target, self._change.data, self._change.mode)

    def sync(self) -> None:
        """Make the new version durable before it gets its name."""
        if self._staged:
            fd = os.open(self._staged, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._target.folder)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def folder(self) -> int:
        """The folder it happens in."""
        return self._target.folder

    def check(self) -> None:
        """Refuse what is not as expected, before anything is renamed."""
        if self._change.expected is not UNSET:
            self._compare(self._target.name)

    def step(self) -> Step:
        """Describe it, so that it can be undone by someone else."""
        target, expected = self._target, self._change.expected
        old = digest_at(target.folder, target.name) if expected is UNSET else expected
        return Step(target.location, self._staged, self._kept, old, self._new())

    def commit(self) -> None:
        """Put the new version in place, or take the file away; then look at what it was that went."""
        folder, name = self._target.folder, self._target.name
        if self._target.before is None:
            try:
                claim(folder, self._staged, name)
            except FileExistsError:
                raise self._stale() from None
            self._staged = ""
        elif self._change.data is None:
            os.rename(name, self._kept, src_dir_fd=folder, dst_dir_fd=folder)
            self._displaced = self._kept
        elif exchange(folder, self._staged, name):
            self._displaced = self._staged
        else:
            self._displaced = self._kept
            _keep(self._target, self._kept)
            os.rename(self._staged, name, src_dir_fd=folder, dst_dir_fd=folder)
        self._committed = True
        if self._displaced:
            self._compare(self._displaced)

    def undo(self) -> bool:
        """Put back the very file that was there before the commit; False if that failed."""
        if not self._committed:
            return True
        try:
            # What is no longer the version we put there is someone's newer work.
            if digest_at(self._target.folder, self._target.name) == self._new():
                self._put_back()
        except OSError:
            self._staged = self._displaced = ""  # what lies beside the file may be the only copy: it stays
            return False
        return True

    def _put_back(self) -> None:
        folder, name = self._target.folder, self._target.name
        if not self._displaced:
            os.unlink(name, dir_fd=folder)
        elif self._change.data is None:
            claim(folder, self._displaced, name)
        elif not exchange(folder, self._displaced, name):
            os.rename(self._displaced, name, src_dir_fd=folder, dst_dir_fd=folder)

    def finish(self) -> None:
        """Take away what is left beside the file."""
        for name in {self._staged, self._displaced} - {""}:
            with suppress(OSError):
                os.unlink(name, dir_fd=self._target.folder)
        self._staged = self._displaced = ""

    def _new(self) -> str | None:
        return None if self._change.data is None else digest(self._change.data)

    def _compare(self, name: str) -> None:
        expected = self._change.expected
        if expected is UNSET:
            before = self._target.before
            found = os.stat(name, dir_fd=self._target.folder, follow_symlinks=False)
            as_expected = before is not None and stat.S_IFMT(found.st_mode) == stat.S_IFMT(before.st_mode)
        else:
            as_expected = digest_at(self._target.folder, name) == expected
        if not as_expected:
            raise self._stale()

    def _stale(self) -> Conflict:
        message = f"{self._change.path!r} was changed by someone else meanwhile."
        return Conflict(message, hint="Nothing was changed. Read the file again.", code=STALE)


def commit_all(replacements: Sequence[Replacement], notes: Path | None = None) -> None:
    """Stage all, then commit all; if one fails, those before it are undone and the failure rises.

    Several changes are noted in the folder `notes` while they are made.
    """
    try:
        for replacement in replacements:
            replacement.stage()
        for replacement in replacements:
            replacement.sync()
        with locked(replacement.folder() for replacement in replacements):
            for replacement in replacements:
                replacement.check()
            _commit_all(replacements, notes if len(replacements) > 1 else None)
    finally:
        for replacement in replacements:
            replacement.finish()


def _commit_all(replacements: Sequence[Replacement], notes: Path | None) -> None:
    note = None if notes is None else Note(notes, [replacement.step() for replacement in replacements])
    settled = True
    try:
        for replacement in replacements:
            replacement.commit()
    except BaseException:
        undone = [replacement.undo() for replacement in reversed(replacements)]
        settled = all(undone)
        raise
    finally:
        if note is not None:
            note.close(settled=settled)


def _temporary() -> str:
    return f".{os.urandom(8).hex()}.tmp"


def _keep(target: Target, aside: str) -> None:
    """Give the old version a second name; where there are no hard links, copy it."""
    try:
        os.link(target.name, aside, src_dir_fd=target.folder, dst_dir_fd=target.folder, follow_symlinks=False)
    except PermissionError:
        fd = os.open(target.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=target.folder)
        with os.fdopen(fd, "rb") as file:
            copy = _write_beside(target, file.read(), None)
        os.rename(copy, aside, src_dir_fd=target.folder, dst_dir_fd=target.folder)


def _write_beside(target: Target, data: bytes, mode: int | None) -> str:
    name = _temporary()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, 0o666, dir_fd=target.folder)
    try:
        _take_over(fd, target, mode)
        for start in range(0, len(data), _CHUNK):
            _write_whole(fd, data[start : start + _CHUNK])
    except BaseException:
        os.unlink(name, dir_fd=target.folder)
        raise
    finally:
        os.close(fd)
    return name


def _write_whole(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _take_over(fd: int, target: Target, mode: int | None) -> None:
    """Give the new version the old one's owner, attributes and permissions; the owner first, as that clears bits."""
    before = target.before
    if before is not None and stat.S_ISREG(before.st_mode):
        if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
            with suppress(PermissionError):
                os.fchown(fd, before.st_uid, before.st_gid)
        _copy_attributes(fd, target)
        mode = stat.S_IMODE(before.st_mode) if mode is None else mode
    if mode is not None:
        os.fchmod(fd, mode)


def _copy_attributes(fd: int, target: Target) -> None:
    """Extended attributes and access lists, as far as the system lets us."""
    if not hasattr(os, "listxattr"):
        return
    with suppress(OSError):
        old = os.open(target.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=target.folder)
        try:
            for name in os.listxattr(old):
                with suppress(OSError):
                    os.setxattr(fd, name, os.getxattr(old, name))
        finally:
            os.close(old)
