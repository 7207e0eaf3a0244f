"""Find lines by number in a file of any size, reading it in pieces and keeping no more than is shown.

A line ends with a newline and nothing else. Knows nothing of encodings beyond not cutting a UTF-8 character.
May import: nothing of ours.
"""

from __future__ import annotations

import os
from typing import BinaryIO

from msgspec import Struct

MOST_LINES = 2_000
MOST_BYTES = 64 * 1024
MOST_SCANNED = 64 * 1024 * 1024
"""How far into a file we look for a line; reading on would take too long."""

_CHUNK = 1 << 18


class Window(Struct, frozen=True, kw_only=True):
    """Lines `first` to `last` as they stand in the file from byte `offset` on, and how large the file is."""

    data: bytes
    offset: int
    first: int
    last: int
    size: int
    total: int | None
    """How many lines the file has; None if it is too large to count them."""
    cut: bool = False
    """Whether the last line is shown in part only."""


class _Scan(Struct, frozen=True):
    offset: int | None
    lines: int
    whole: bool


def find_lines(file: BinaryIO, first: int, last: int) -> Window | None:
    """Find lines in an open file, as many as may be shown; None if the first one is not there or too far in."""
    size = os.fstat(file.fileno()).st_size
    scan = _scan(file, first - 1, count_all=size <= MOST_SCANNED)
    total = scan.lines if scan.whole else None
    if scan.offset is None or (total is not None and first > max(total, 1)):
        return None
    file.seek(scan.offset)
    data = file.read(MOST_BYTES + 1)
    shown = _first_lines(data, min(last - first + 1, MOST_LINES))
    cut = False
    if len(shown) > MOST_BYTES:
        shown, cut = _fitting(shown)
    count = shown.count(b"\n") + (shown[-1:] not in (b"\n", b""))
    return Window(data=shown, offset=scan.offset, first=first, last=first + count - 1, size=size, total=total, cut=cut)


def _scan(file: BinaryIO, skip: int, *, count_all: bool) -> _Scan:
    """Find where the line after `skip` newlines begins, and count lines as far as we read."""
    offset = 0 if skip == 0 else None
    seen = position = 0
    final = b"\n"
    while position < MOST_SCANNED:
        if offset is not None and not count_all:
            return _Scan(offset, seen, False)
        chunk = file.read(_CHUNK)
        if not chunk:
            return _Scan(offset, seen + (final != b"\n"), True)
        here = chunk.count(b"\n")
        if offset is None and seen + here >= skip:
            offset = position + _after_newline(chunk, skip - seen)
        seen, position, final = seen + here, position + len(chunk), chunk[-1:]
    return _Scan(offset, seen, False)


def _after_newline(data: bytes, count: int) -> int:
    at = 0
    for _ in range(count):
        at = data.index(b"\n", at) + 1
    return at


def _first_lines(data: bytes, count: int) -> bytes:
    if data.count(b"\n") < count:
        return data
    return data[: _after_newline(data, count)]


def _fitting(data: bytes) -> tuple[bytes, bool]:
    """Cut to what may be shown: after a whole line, or within the first one if it alone is too long."""
    data = data[:MOST_BYTES]
    end = data.rfind(b"\n") + 1
    if end:
        return data[:end], False
    end = len(data)
    while end > len(data) - 4 and data[end - 1] & 0xC0 == 0x80:
        end -= 1
    # `end` now stands behind the first byte of the last character, which may not be whole.
    return data[: end - 1], True
