"""The file as far as it has come: a part that only grows, whoever sends the bytes, until it is whole and proved.

All sources hold the same file, so what one of them began another can go on with. It becomes the file by its digest and
one rename; a crash or a cancel leaves the part where it was. May import: errors, models.weights, models.weights_pin.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

from agi.errors import Conflict, DiskFull
from agi.models.weights import digest_of, write_stamp
from agi.models.weights_pin import Pin

ROOM_TO_SPARE = 256 * 1024 * 1024
"""Bytes that must stay free on the disk, a data package of the mirror included."""

_T = TypeVar("_T")


class Part:
    """The part of one pinned file in one folder."""

    def __init__(self, folder: Path, pin: Pin) -> None:
        self.folder = folder
        self.pin = pin
        self.path = folder / pin.file
        self._part = folder / f"{pin.file}.part"

    @property
    def size(self) -> int:
        """How many bytes are there; a part that is too long is none."""
        try:
            found = self._part.stat().st_size
        except OSError:
            return 0
        return found if found <= self.pin.size else 0

    @contextmanager
    def growing(self, at: int) -> Iterator[BinaryIO]:
        """Open it to write from byte `at` on; what stood behind that is dropped."""
        fd = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.truncate(at)
            file.seek(at)
            yield file

    def drop(self) -> None:
        """Begin anew."""
        with suppress(OSError):
            self._part.unlink()

    async def is_proved(self, heard: Callable[[int], None]) -> bool:
        """Whether it is whole and the pinned file; if so it takes its place. What is whole and wrong is dropped."""
        if self.size != self.pin.size:
            return False
        if await in_thread(lambda stop: digest_of(self._part, _stoppable(heard, stop))) != self.pin.sha256:
            self.drop()
            return False
        with self._part.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(self._part, self.path)
        write_stamp(self.path, self.pin.sha256)
        return True

    def make_room(self) -> None:
        """Make the folder, for the user alone, and see that the rest fits on the disk; raises DiskFull."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        needed = self.pin.size - self.size + ROOM_TO_SPARE
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            message = f"The weights need {needed >> 20} MB in {self.folder}, and {free >> 20} MB are free."
            raise DiskFull(message, hint="Make room, or set XDG_CACHE_HOME to a folder on another disk.")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from fetching the same file; raises Conflict if somebody does."""
        fd = os.open(
            self.folder / f"{self.pin.file}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            hint = "Wait for it to finish; it is the same file."
            raise Conflict("Another process is fetching the weights.", hint=hint, code="already_fetching") from None
        finally:
            os.close(fd)


class Stopped(Exception):
    """Work in a thread was called off."""


async def in_thread(work: Callable[[threading.Event], _T]) -> _T:
    """Do blocking work in a thread; canceled, it is told to stop, and has stopped when this returns."""
    stop = threading.Event()
    running = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait({running})
        with suppress(Exception):
            running.result()
        raise


def _stoppable(heard: Callable[[int], None], stop: threading.Event) -> Callable[[int], None]:
    def told(done: int) -> None:
        if stop.is_set():
            raise Stopped
        heard(done)

    return told
