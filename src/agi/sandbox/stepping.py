"""Steps from folder to folder that follow no link, and ways to read a file, to set one aside and to put one back.

What a command planted must not lead us out. May import: nothing of ours.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

FOLDER = getattr(os, "O_PATH", 0) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""A folder to go on from, which its user need not be able to read."""
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def opened(fd: int) -> Iterator[int]:
    """A descriptor for as long as it is needed."""
    try:
        yield fd
    finally:
        os.close(fd)


def beneath(root: int, folder: str) -> int:
    """Open a folder step by step, following no link."""
    fd = os.dup(root)
    for name in folder.split("/") if folder else ():
        with opened(fd):
            fd = os.open(name, FOLDER, dir_fd=fd)
    return fd


def names_in(folder: int) -> list[str]:
    """What is in a folder."""
    with opened(os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)) as fd:
        return sorted(os.listdir(fd))


def is_closed(folder: int, to: int) -> bool:
    """Whether a folder of our own is closed to us, as to a command, which could open it again."""
    return not os.access(f"/proc/self/fd/{folder}", to) and os.fstat(folder).st_uid == os.getuid()


def reopen(folder: int) -> None:
    """Let ourselves into a folder of our own."""
    os.chmod(f"/proc/self/fd/{folder}", stat.S_IMODE(os.fstat(folder).st_mode) | stat.S_IRWXU)


def beginning(path: str, most: int) -> bytes:
    """The first bytes of a file; raises `OSError` for anything else, such as a pipe, for which one would wait."""
    with open(os.open(path, _FILE), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path!r} is no file")
        return file.read(most)


def set_aside(parent: int, name: str) -> str:
    """Give what stands there another name, which it says; nothing is thrown away."""
    for number in count(1):
        aside = f"{name}.refused-{number}"
        try:
            os.stat(aside, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            with suppress(FileNotFoundError):
                os.rename(name, aside, src_dir_fd=parent, dst_dir_fd=parent)
            return aside
    raise AssertionError("numbers do not end")


def shown(names: str) -> str:
    """Names of files as they can be told: those a command chose may hold anything."""
    text = os.fsencode(names).decode(errors="replace")
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def write_new(parent: int, name: str, content: bytes, mode: int) -> None:
    """A file where there is none, with this mode whatever is usual."""
    fd = os.open(name, _NEW, mode, dir_fd=parent)
    with open(fd, "wb") as file:
        os.fchmod(fd, mode)
        file.write(content)
