"""What a file is by its bytes, whatever its name or its sender says.

Pure, and its work is bounded by the file's size. Whether a picture is whole is `pictures`' business.
May import: its siblings.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from agi.media.headers import picture
from agi.media.texts import text_of

Family = Literal["image", "audio", "video", "pdf", "text", "other"]

_HEAD = 4096
_STARTS: tuple[tuple[int, bytes, Family, str, str], ...] = (
    (0, b"II*\0", "other", "image/tiff", "TIFF picture"),
    (0, b"MM\0*", "other", "image/tiff", "TIFF picture"),
    (0, b"\0\0\1\0", "other", "image/x-icon", "icon"),
    (0, b"8BPS", "other", "image/vnd.adobe.photoshop", "Photoshop picture"),
    (0, b"%PDF-", "pdf", "application/pdf", "PDF document"),
    (0, b"fLaC", "audio", "audio/flac", "FLAC audio"),
    (0, b"OggS", "audio", "audio/ogg", "Ogg audio"),
    (0, b"ID3", "audio", "audio/mpeg", "MP3 audio"),
    (0, b"\x1aE\xdf\xa3", "video", "video/webm", "Matroska or WebM video"),
    (0, b"PK\x03\x04", "other", "application/zip", "ZIP archive, or a document packed as one"),
    (0, b"\x1f\x8b", "other", "application/gzip", "gzip compressed data"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "other", "application/x-ole-storage", "older Office document"),
    (0, b"\x7fELF", "other", "application/x-elf", "program"),
    (0, b"SQLite format 3\0", "other", "application/vnd.sqlite3", "SQLite database"),
)
_RIFF: dict[bytes, tuple[Family, str, str]] = {
    b"WAVE": ("audio", "audio/wav", "WAVE audio"),
    b"AVI ": ("video", "video/x-msvideo", "AVI video"),
}
_HEIF = frozenset((b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"))
_M4A = frozenset((b"M4A ", b"M4B ", b"F4A "))
_HTML = re.compile(rb"\s*(<!--.*?-->\s*)*<(!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_SVG = re.compile(rb"<svg[\s>]", re.IGNORECASE)
_ENCRYPTED = re.compile(rb"/Encrypt\s*(?:\d{1,10}\s+\d{1,10}\s+R\b|<<)", re.ASCII)


class Kind(Struct, frozen=True):
    """What a file is; of the family `other` is all that no model is shown."""

    family: Family
    mime: str
    name: str
    """For people, such as `PNG picture`."""


UNKNOWN = Kind("other", "application/octet-stream", "binary data")


def sniff(data: bytes) -> Kind:
    """Tell what the bytes are; pictures of the kinds that cannot be decoded here are of the family `other`."""
    if found := picture(data):
        return Kind("image", found.mime, f"{found.name} picture")
    for at, magic, family, mime, name in _STARTS:
        if data.startswith(magic, at):
            return Kind(family, mime, name)
    if data[:4] == b"RIFF" and (known := _RIFF.get(data[8:12])):
        return Kind(*known)
    if data[4:8] == b"ftyp":
        return _boxed(data[8:12])
    if data[:4] == b"FORM" and data[8:12] in (b"AIFF", b"AIFC"):
        return Kind("audio", "audio/aiff", "AIFF audio")
    return _framed(data) or _written(data) or UNKNOWN


def is_encrypted(data: bytes) -> bool:
    """Whether a PDF wants a password, or is at least held under one."""
    return _ENCRYPTED.search(data) is not None


def _boxed(brand: bytes) -> Kind:
    """What the file format of MP4 holds goes by the brand it begins with."""
    if brand in _HEIF:
        return Kind("other", "image/heic", "HEIC picture")
    if brand in (b"avif", b"avis"):
        return Kind("other", "image/avif", "AVIF picture")
    if brand in _M4A:
        return Kind("audio", "audio/mp4", "M4A audio")
    return Kind("video", "video/quicktime" if brand == b"qt  " else "video/mp4", "MP4 or QuickTime video")


def _framed(data: bytes) -> Kind | None:
    """Sound that begins with its first frame: MP3 (layer III) or AAC."""
    if len(data) < 4 or data[0] != 0xFF:
        return None
    if data[1] & 0xE6 == 0xE2 and data[2] & 0xF0 not in (0x00, 0xF0) and data[2] & 0x0C != 0x0C:
        return Kind("audio", "audio/mpeg", "MP3 audio")
    if data[1] & 0xF6 == 0xF0:
        return Kind("audio", "audio/aac", "AAC audio")
    return None


def _written(data: bytes) -> Kind | None:
    if text_of(data) is None:
        return None
    head = data[:_HEAD]
    if _HTML.match(head):
        return Kind("text", "text/html", "HTML page")
    if _SVG.search(head):
        return Kind("text", "image/svg+xml", "SVG drawing, which is text")
    return Kind("text", "text/plain", "text")
