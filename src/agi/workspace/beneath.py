"""Open a path so that it cannot lead out of a folder, whatever links are on the way and whoever swaps them meanwhile.

Two ways with the same answers: one `openat2` call where the kernel has it, else a walk that opens name after name
without following links and reads each link itself. Links that stay inside are followed; absolute ones are not. Which
places are off limits is paths' business. May import: nothing of ours.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

LOOK: int = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK)
"""Flags to open something only to hold it and ask about it: never blocks, reads nothing."""
LOOK_FOLDER = LOOK | os.O_DIRECTORY
"""The same for a folder."""

_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_BENEATH = 0x08
_MOST_LINKS = 40
_MOST_TRIES = 128


class Place(NamedTuple):
    """An open file or folder, and where beneath the root it really is; the root itself is the empty string."""

    fd: int
    location: str


Opener = Callable[[int, str, int], Place]
"""Takes the root's descriptor, a relative path and open flags; a path that leads out is an OSError (EXDEV, ELOOP)."""


def join(location: str, name: str) -> str:
    """Name something in a folder, given where the folder is."""
    return f"{location}/{name}" if location else name


@cache
def best_opener() -> Opener:
    """Choose the kernel's way if it works here; found out once, at first use."""
    if sys.platform != "linux" or not os.path.isdir("/proc/self/fd"):
        return open_by_walking
    probe = os.open("/", LOOK_FOLDER)
    try:
        os.close(open_by_kernel(probe, ".", LOOK_FOLDER).fd)
    except OSError:
        return open_by_walking
    finally:
        os.close(probe)
    return open_by_kernel


def open_by_kernel(root: int, path: str, flags: int) -> Place:
    """Open with `openat2`, which resolves the whole path in one step."""
    how = struct.pack("=QQQ", flags | os.O_CLOEXEC, 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    for _ in range(_MOST_TRIES):
        fd, number = _system_call()(root, os.fsencode(path), how)
        # EAGAIN: something was renamed while a `..` was resolved, so the kernel could not be sure.
        if fd >= 0 or number not in (errno.EAGAIN, errno.EINTR):
            break
    if fd < 0:
        raise OSError(number, os.strerror(number), path)
    try:
        return Place(fd, _location(root, fd))
    except OSError:
        os.close(fd)
        raise


@cache
def _system_call() -> Callable[[int, bytes, bytes], tuple[int, int]]:
    import ctypes  # slow to import, and a program that opens no file never needs it

    system_call = ctypes.CDLL(None, use_errno=True).syscall
    system_call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t)
    system_call.restype = ctypes.c_long

    def call(root: int, path: bytes, how: bytes) -> tuple[int, int]:
        fd = int(system_call(_OPENAT2, root, path, how, len(how)))
        return fd, ctypes.get_errno() if fd < 0 else 0

    return call


def _location(root: int, fd: int) -> str:
    above = os.readlink(f"/proc/self/fd/{root}").rstrip("/")
    real = os.readlink(f"/proc/self/fd/{fd}").rstrip("/")
    if real == above:
        return ""
    if not real.startswith(above + "/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    return real[len(above) + 1 :]


def open_by_walking(root: int, path: str, flags: int) -> Place:
    """Open name after name; every folder on the way is held open, so `..` goes back to where we came from."""
    held = [Place(os.dup(root), "")]
    ahead = path.split("/")[::-1]
    links = 0
    try:
        while ahead:
            name = ahead.pop()
            if name == "..":
                _step_back(held)
            elif name not in ("", "."):
                opened = _step(held[-1], name, LOOK_FOLDER if ahead else flags)
                if isinstance(opened, str):
                    links += 1
                    ahead.extend(opened.split("/")[::-1])
                elif ahead:
                    held.append(opened)
                else:
                    return opened
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        # The path ended in `.` or `..`: the folder was opened for passing through only.
        return Place(os.open(".", flags | os.O_CLOEXEC, dir_fd=held[-1].fd), held[-1].location)
    finally:
        for place in held:
            os.close(place.fd)


def _step(folder: Place, name: str, flags: int) -> Place | str:
    """Open a name in a folder, or say what link stands there."""
    try:
        target = os.readlink(name, dir_fd=folder.fd)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    else:
        if flags & os.O_NOFOLLOW:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        if target.startswith("/"):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
        return target
    # Should a link take the name's place just now, a reading open fails on it, and a folder is no link.
    fd = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder.fd)
    return Place(fd, join(folder.location, name))


def _step_back(held: list[Place]) -> None:
    if len(held) == 1:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    os.close(held.pop().fd)
