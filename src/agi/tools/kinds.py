"""What a file is by its first bytes, whatever its name says; and what can be shown of one that is no text.

Pure. May import: media.
"""

from __future__ import annotations

from agi.media.headers import Picture, picture

__all__ = ["HEAD", "Picture", "hexdump", "is_binary", "kind_name", "picture"]

HEAD = 4096
"""How many bytes are enough to tell what a file is."""
_DUMPED = 256

_KINDS = (
    (0, b"%PDF-", "PDF document"),
    (0, b"PK\x03\x04", "ZIP archive, or a document or program packed as one"),
    (0, b"\x1f\x8b", "gzip compressed data"),
    (0, b"BZh", "bzip2 compressed data"),
    (0, b"\xfd7zXZ\0", "xz compressed data"),
    (0, b"\x28\xb5\x2f\xfd", "zstd compressed data"),
    (0, b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (257, b"ustar", "tar archive"),
    (0, b"\x7fELF", "ELF program or library"),
    (0, b"MZ", "Windows program or library"),
    (0, b"\xcf\xfa\xed\xfe", "Mach-O program or library"),
    (0, b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (0, b"\0asm", "WebAssembly module"),
    (0, b"SQLite format 3\0", "SQLite database"),
    (0, b"PAR1", "Parquet table"),
    (0, b"OggS", "Ogg audio or video"),
    (0, b"fLaC", "FLAC audio"),
    (0, b"ID3", "MP3 audio"),
    (8, b"WAVE", "WAVE audio"),
    (4, b"ftyp", "MP4 or similar video, audio or picture"),
    (0, b"\x1aE\xdf\xa3", "Matroska or WebM video"),
    (0, b"BM", "BMP picture"),
    (0, b"II*\0", "TIFF picture"),
    (0, b"MM\0*", "TIFF picture"),
    (0, b"\0\0\1\0", "icon"),
    (0, b"wOFF", "font"),
    (0, b"wOF2", "font"),
    (0, b"\0\1\0\0", "font"),
    (0, b"OTTO", "font"),
    (0, b"PACK", "git pack"),
    (0, b"DIRC", "git index"),
)


def is_binary(head: bytes) -> bool:
    """Whether a file that begins so is no text; UTF-16 and UTF-32 with their mark are text."""
    return b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff"))


def kind_name(head: bytes) -> str:
    """What a file that is no text is, for people and models."""
    return next((name for at, magic, name in _KINDS if head.startswith(magic, at)), "binary data")


def hexdump(data: bytes) -> str:
    """The first bytes in hexadecimal and as letters, sixteen a line."""
    lines = []
    for at in range(0, min(len(data), _DUMPED), 16):
        row = data[at : at + 16]
        letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{at:08x}  {row.hex(' '):47}  {letters}")
    return "\n".join(lines)
