"""Where the kernel's own file systems are mounted in places that commands may change, as for a `chroot` into one.

What is written there is a setting of the whole machine's, and goes by the user alone: root needs no power for it. Looks
at the table of mounts as it is now. May import: nothing of ours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection

_KINDS = frozenset(
    (
        b"binfmt_misc",
        b"bpf",
        b"cgroup",
        b"cgroup2",
        b"configfs",
        b"debugfs",
        b"devtmpfs",
        b"efivarfs",
        b"fusectl",
        b"proc",
        b"pstore",
        b"resctrl",
        b"securityfs",
        b"selinuxfs",
        b"sysfs",
        b"tracefs",
    )
)
_TABLE = "/proc/self/mountinfo"
_PIECE = 1 << 16
_ESCAPED = re.compile(rb"[ \t\n\\]")
_ESCAPE = re.compile(rb"\\([0-7]{3})")


def kernel_mounts(places: Collection[str]) -> list[str]:
    """The paths below these places, or at them, where something of the kernel's is mounted."""
    table = _read(_TABLE)
    written = [b" " + _ESCAPED.sub(_escape, os.fsencode(place)) for place in places]
    # Almost always nothing is mounted there: then no line need be taken apart.
    near = [place for place in written if place + b"/" in table or place + b" " in table]
    return _found(table, near) if near else []


def _found(table: bytes, written: list[bytes]) -> list[str]:
    found: dict[str, None] = {}
    for line in table.splitlines():
        before, _, after = line.partition(b" - ")
        path, kind = before.split(b" ")[4], after.partition(b" ")[0]
        if kind in _KINDS and any((b" " + path + b"/").startswith(place + b"/") for place in written):
            found[os.fsdecode(_ESCAPE.sub(lambda one: bytes((int(one[1], 8),)), path))] = None
    return list(found)


def _escape(letter: re.Match[bytes]) -> bytes:
    return b"\\%03o" % letter[0][0]


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = b""
        while piece := os.read(fd, _PIECE):
            text += piece
        return text
    finally:
        os.close(fd)
