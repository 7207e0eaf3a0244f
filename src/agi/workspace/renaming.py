"""Renames that lose nothing: two names swapped in one step, and a name taken only if it is free.

The kernel's ways where it has them, else the nearest that every POSIX system has. May import: nothing of ours.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache

_NOREPLACE = 1
_EXCHANGE = 2
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM)
"""What a kernel or a file system says that does not know the flag."""

_Call = Callable[[int, bytes, int, bytes, int], int]


def exchange(folder: int, one: str, other: str) -> bool:
    """Swap two names of a folder, so that nobody ever finds one missing; False where that cannot be done."""
    return _rename(folder, one, other, _EXCHANGE)


def claim(folder: int, staged: str, name: str) -> None:
    """Rename `staged` to `name`; FileExistsError if there is something of that name, whoever was quicker."""
    if _rename(folder, staged, name, _NOREPLACE):
        return
    try:
        os.link(staged, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except PermissionError:  # a file system without hard links
        with suppress(FileNotFoundError):
            os.stat(name, dir_fd=folder, follow_symlinks=False)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name) from None
        os.rename(staged, name, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        os.unlink(staged, dir_fd=folder)


def _rename(folder: int, source: str, target: str, flag: int) -> bool:
    call = _system_call()
    if call is None:
        return False
    number = call(folder, os.fsencode(source), folder, os.fsencode(target), flag)
    if number in _CANNOT:
        return False
    if number:
        raise OSError(number, os.strerror(number), source, None, target)
    return True


@cache
def _system_call() -> _Call | None:
    import ctypes  # slow to import, and a program that changes no file never needs it

    try:
        system_call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return None
    system_call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)

    def call(source_folder: int, source: bytes, target_folder: int, target: bytes, flag: int) -> int:
        failed = system_call(source_folder, source, target_folder, target, flag)
        return ctypes.get_errno() if failed else 0

    return call
