"""How large a picture is, read from its first bytes without decoding it.

Pure. May import: nothing of ours.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from msgspec import Struct

_MOST_MARKERS = 1_000


class Picture(Struct, frozen=True):
    """A picture a model can be shown; a width of 0 if its size could not be read."""

    name: str
    mime: str
    width: int = 0
    height: int = 0


def picture(data: bytes) -> Picture | None:
    """The picture that begins with these bytes: PNG, JPEG, GIF, WebP or BMP; None if it is none of them."""
    for name, is_one, size in _PICTURES:
        if is_one(data):
            try:
                width, height = size(data)
            except (struct.error, IndexError, ValueError):
                width, height = 0, 0
            return Picture(name, f"image/{name.lower()}", width, height)
    return None


def _png(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _gif(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _bmp(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<ii", data, 18)
    return width, abs(height)


def _jpeg(data: bytes) -> tuple[int, int]:
    """Go from segment to segment up to the one that holds the size."""
    at = 2
    for _ in range(_MOST_MARKERS):
        marker, length = struct.unpack_from(">HH", data, at)
        if 0xFFC0 <= marker <= 0xFFCF and marker not in (0xFFC4, 0xFFC8, 0xFFCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        at += 2 + length
    raise ValueError("no size")


def _webp(data: bytes) -> tuple[int, int]:
    form = data[12:16]
    if form == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if form == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack_from("<HH", data, 26)
    return width & 0x3FFF, height & 0x3FFF


def _is_bmp(data: bytes) -> bool:
    """Two letters are not enough: many texts begin with them."""
    return data.startswith(b"BM") and data[6:10] == b"\0\0\0\0" and data[14:18] in (b"(\0\0\0", b"l\0\0\0", b"|\0\0\0")


_PICTURES: tuple[tuple[str, Callable[[bytes], bool], Callable[[bytes], tuple[int, int]]], ...] = (
    ("PNG", lambda data: data.startswith(b"\x89PNG\r\n\x1a\n"), _png),
    ("JPEG", lambda data: data.startswith(b"\xff\xd8\xff"), _jpeg),
    ("GIF", lambda data: data.startswith((b"GIF87a", b"GIF89a")), _gif),
    ("WEBP", lambda data: data.startswith(b"RIFF") and data[8:12] == b"WEBP", _webp),
    ("BMP", _is_bmp, _bmp),
)
