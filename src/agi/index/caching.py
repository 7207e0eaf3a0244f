"""The folder in which indexes are kept: the owner's alone, out of version control, and never a way to somewhere else.

What is in the files is not its business; whether this user's harness made them, sessions has to know.
May import: nothing of ours.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

LARGEST = 512 << 20
"""Bytes of a cache that is still opened."""


def place(folder: Path, name: str) -> Path:
    """The file to open, made if need be; raises OSError if a link or a file of somebody else is in its place."""
    if not folder.parent.is_dir() or folder.parent.is_symlink():
        raise OSError("there is no data folder")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink():
        raise OSError("a link is no place for a cache")
    with suppress(FileExistsError), _create(folder / ".gitignore") as rules:
        rules.write(b"*\n")
    path = folder / name
    with suppress(FileExistsError):
        _create(path).close()
    info = os.lstat(path)
    if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_size > LARGEST:
        raise OSError("this is no cache of ours")
    return path


def _create(path: Path) -> BinaryIO:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o600), "wb")
