"""Which folders of a repository git takes for repositories of their own, as its index says.

In these git starts itself when it is asked for the state of the whole, so they are found whatever else is in the
workspace. Reads bytes, starts nothing. May import: sandbox.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache

from agi.sandbox.stepping import beginning

_LARGEST = 64 << 20
_MOST = 1_000
_LINK = b"\0\0\xe0\0"
"""The mode of such an entry."""
_BEFORE_ID, _FLAGS = 40, 2
_EXTENDED = 0x4000


def gitlinks(folder: str) -> tuple[tuple[str, ...], bool]:
    """Their paths, by the index in a git folder; and whether that is all of them."""
    found: dict[str, None] = {}
    is_all = True
    for path in _indexes(folder):
        try:
            info = os.stat(path)
            names, complete = _links(path, (info.st_ino, info.st_ctime_ns, info.st_size))
        except FileNotFoundError:
            continue
        except OSError:
            names, complete = (), False
        found.update(dict.fromkeys(names))
        is_all = is_all and complete
    return tuple(found)[:_MOST], is_all and len(found) <= _MOST


def _indexes(folder: str) -> Iterator[str]:
    yield f"{folder}/index"
    try:
        yield from (f"{folder}/{name}" for name in os.listdir(folder) if name.startswith("sharedindex."))
    except OSError:
        return


@lru_cache(maxsize=16)
def _links(path: str, stamp: tuple[int, int, int]) -> tuple[tuple[str, ...], bool]:
    """The same while the file is the same; `stamp` tells one from another."""
    if stamp[2] > _LARGEST:
        return (), False
    data = beginning(path, _LARGEST)
    if _LINK not in data:
        return (), True
    found: set[str] = set()
    complete = False
    for size in (20, 32):  # which kind of names for contents it is does not stand in the file
        try:
            found.update(_entries(data, size))
            complete = True
        except (IndexError, ValueError):
            continue
    return tuple(sorted(found)), complete


def _entries(data: bytes, id_size: int) -> Iterator[str]:
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise ValueError(version)
    at, name = 12, b""
    for _ in range(count):
        begin, at = at, at + _BEFORE_ID + id_size
        flags = int.from_bytes(data[at : at + _FLAGS], "big")
        at += _FLAGS + (2 if flags & _EXTENDED else 0)
        if version == 4:
            strip, at = _number(data, at)
            name = name[: len(name) - strip]
        end = data.index(b"\0", at)
        name = name + data[at:end] if version == 4 else data[at:end]
        # Entries are padded to eights, with at least one byte, but for those of the last version.
        at = end + 1 if version == 4 else begin + (end - begin + 8) // 8 * 8
        if data[begin + 24 : begin + 28] == _LINK and _is_below(name):
            yield os.fsdecode(name)


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1


def _is_below(name: bytes) -> bool:
    return bool(name) and not name.startswith(b"/") and b".." not in name.split(b"/")
