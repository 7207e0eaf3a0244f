"""The kernel's words for mounts: trees of them as descriptors, which can be changed before anybody sees them.

For the helper alone; kernels from 5.12 on. The numbers are those of every processor. May import: sandbox (`kernel`
only).
"""

from __future__ import annotations

import ctypes
import os

from agi.sandbox.kernel import call, problem

READ_ONLY, NO_SET_UID, NO_DEVICES, NO_PROGRAMS = 1, 2, 4, 8
"""What a mount does not let, alike in both interfaces."""

_OPEN_TREE, _MOVE_MOUNT, _OPENAT2, _MOUNT_SETATTR = 428, 429, 437, 442
_HERE = -100
_CLONE, _EMPTY_PATH, _RECURSIVE = 1, 0x1000, 0x8000
_NOT_A_LINK = 0x100
_FROM_DESCRIPTOR, _TO_LINK, _TO_DESCRIPTOR = 0x4, 0x10, 0x40
_NO_LINKS = 0x04
_HOW_SIZE, _ATTRIBUTES_SIZE = 24, 32
_PRIVATE = 1 << 18
_ALL_BELOW = 1 << 14
_DETACH = 2
_LOOK = os.O_PATH | os.O_CLOEXEC

HARMLESS = NO_SET_UID | NO_DEVICES
SHOWN = HARMLESS | READ_ONLY
"""What is taken from every mount of the machine, and from those that may only be looked at."""

USABLE_DEVICE = NO_SET_UID | READ_ONLY
"""From a device as well: it is written to all the same, but nobody says whose it is and who may use it."""

_KNOWN = (READ_ONLY, HARMLESS, SHOWN, USABLE_DEVICE)
_ATTRIBUTES = {flags: (ctypes.c_uint64 * 4)(flags, 0, 0, 0) for flags in _KNOWN}
_HOW = (ctypes.c_uint64 * 3)(_LOOK, 0, _NO_LINKS)

_libc = ctypes.CDLL(None, use_errno=True)


def take_tree(path: bytes) -> int:
    """A copy of what stands at a path and is mounted below; nothing sees it yet. A link at its end is not followed."""
    flags = _CLONE | os.O_CLOEXEC | _RECURSIVE | _NOT_A_LINK
    return call(_OPEN_TREE, _HERE, path, flags, about=path)


def restrict(tree: int, flags: int) -> None:
    """Let a tree and all below it no longer do these."""
    call(_MOUNT_SETATTR, tree, b"", _EMPTY_PATH | _RECURSIVE, _ATTRIBUTES[flags], _ATTRIBUTES_SIZE, about=b"mounts")


def freeze(place: int) -> None:
    """Let nothing be changed any more in the mount that was found; what is mounted below it stays as it is."""
    call(_MOUNT_SETATTR, place, b"", _EMPTY_PATH, _ATTRIBUTES[READ_ONLY], _ATTRIBUTES_SIZE, about=b"a mount")


def find(path: bytes) -> int:
    """What stands at a path no part of which is a link, to be mounted on."""
    return call(_OPENAT2, _HERE, path, _HOW, _HOW_SIZE, about=path)


def put_on(tree: int, place: int) -> None:
    """Mount a tree on what was found."""
    call(_MOVE_MOUNT, tree, b"", place, b"", _FROM_DESCRIPTOR | _TO_DESCRIPTOR, about=b"a mount")


def put_at(tree: int, path: bytes) -> None:
    """Mount a tree at a path; links are followed."""
    call(_MOVE_MOUNT, tree, b"", _HERE, path, _FROM_DESCRIPTOR | _TO_LINK, about=path)


def mount(kind: bytes, path: bytes, flags: int, options: bytes = b"") -> None:
    """Mount a new file system of a kind at a path; links are followed."""
    if _libc.mount(kind, path, kind, ctypes.c_ulong(flags), options):
        raise problem(path)


def be_alone() -> None:
    """No mount that is made elsewhere from now on comes about here, nor the other way round."""
    if _libc.mount(None, b"/", None, ctypes.c_ulong(_PRIVATE | _ALL_BELOW), None):
        raise problem(b"/")


def make_root(tree: int, number: int) -> None:
    """Make a tree that is mounted somewhere the root, and forget all that was there before."""
    os.fchdir(tree)
    call(number, b".", b".", about=b"the root")
    if _libc.umount2(b".", _DETACH):
        raise problem(b"the former root")
    os.chdir("/")
