"""Changes of several files that a kill cut short, put back.

Before the first rename the steps are written down; when the last one is done, the note is deleted, and with that the
change counts. A note whose writer is gone (its lock is free) tells what to undo. A file that holds neither what it held
before nor what it was given is someone else's work by now and stays. May import: workspace.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from agi.workspace.beneath import LOOK_FOLDER
from agi.workspace.digests import digest_at
from agi.workspace.locking import locked
from agi.workspace.renaming import claim
from agi.workspace.targets import OpenPlace

_LARGEST = 16 * 1024 * 1024


class Step(Struct, frozen=True):
    """One file of a change: where it is, the names beside it that hold the version it does not, and their content."""

    location: str
    staged: str
    kept: str
    old: str | None
    new: str | None


class Note:
    """What is about to be done, written down and locked for as long as it is being done."""

    def __init__(self, folder: Path, steps: Sequence[Step]) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / f"{os.urandom(8).hex()}.json"
        self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            with open(self._fd, "wb", closefd=False) as file:
                file.write(msgspec.json.encode(steps))
        except BaseException:
            self.close(settled=True)
            raise

    def close(self, *, settled: bool) -> None:
        """It is over. A note of something neither done nor undone stays, to be put back later."""
        if settled:
            _remove(self._path)
        os.close(self._fd)


def put_back(open_place: OpenPlace, folder: Path) -> list[str]:
    """Undo what killed processes left half done; says where. Leaves alone what a living one is doing."""
    if not folder.is_dir():
        return []
    restored: list[str] = []
    for note in sorted(folder.glob("*.json")):
        restored += _put_back(open_place, note)
    with suppress(OSError):
        folder.rmdir()
    return restored


def _put_back(open_place: OpenPlace, note: Path) -> list[str]:
    try:
        fd = os.open(note, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    with os.fdopen(fd, "rb") as file:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return []
        try:
            steps = msgspec.json.decode(file.read(_LARGEST), type=list[Step])
        except msgspec.DecodeError:
            steps = []  # killed while writing it: nothing was renamed yet
        restored = [step.location for step in reversed(steps) if _undo(open_place, step)]
        _remove(note)
    return restored


def _undo(open_place: OpenPlace, step: Step) -> bool:
    above, _, name = step.location.rpartition("/")
    if "/" in step.staged + step.kept:
        return False  # not written by us
    try:
        place = open_place(above or ".", LOOK_FOLDER)
    except OSError:
        return False
    try:
        with locked([place.fd]):
            undone = _undo_in(place.fd, name, step)
            _clean(place.fd, step)
            return undone
    except OSError:
        return False
    finally:
        os.close(place.fd)


def _undo_in(folder: int, name: str, step: Step) -> bool:
    now = digest_at(folder, name)
    if step.old is None:
        done = now == step.new and digest_at(folder, step.staged) is None
        if done:
            os.unlink(name, dir_fd=folder)
        return done
    if now != step.new:
        return False
    beside = [one for one in (step.kept, step.staged) if one and digest_at(folder, one) == step.old]
    if not beside:
        return False
    if now is None:
        claim(folder, beside[0], name)
    else:
        os.rename(beside[0], name, src_dir_fd=folder, dst_dir_fd=folder)
    return True


def _clean(folder: int, step: Step) -> None:
    for name in filter(None, (step.staged, step.kept)):
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)


def _remove(note: Path) -> None:
    note.unlink(missing_ok=True)
    with suppress(OSError):
        note.parent.rmdir()
